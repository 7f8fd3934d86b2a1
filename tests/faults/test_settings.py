"""Settings that change between a crash and the next start: a recording keeps the ones it started with."""

import pytest

from tests.examples import mostly
from tests.support.world import World

from .power import Cut, Disk

BEGUN = {"thinking": True, "tools": "full"}
CHANGES = {
    "where outputs go": {"directory": "~/elsewhere"},
    "the zone": {"time_zone": "Asia/Tokyo"},
    "thinking": {"thinking": False},
    "less of tools": {"tools": "none"},
    "some of tools": {"tools": "summary"},
}


@pytest.mark.slow
@pytest.mark.fault("settings changed before the restart")
@pytest.mark.parametrize("name", ["", pytest.param(" log.jsonl", marks=pytest.mark.slow)], ids=["markdown", "jsonl"])
@pytest.mark.parametrize("when", ["inside", "before"])
@pytest.mark.parametrize("change", mostly(("where outputs go", "less of tools"), CHANGES))
def test_a_recording_keeps_its_settings(quick, change, when, name):
    """The interrupted append and all later events are written with the settings from the recording's start."""
    world, calm = World(quick / "changed"), World(quick / "calm")
    for each in (world, calm):
        each.configure(**BEGUN)
    session = world.session()
    session.append(session.user(f"::start{name}\none"), session.says("two"))
    world.process()
    session.append(session.runs("call-1", "make"), session.result("call-1", "output"), session.says("three"))
    assert world.once_until(Cut(1, when, 0.5).on(Disk(world.out)))
    world.configure(**BEGUN | CHANGES[change])
    world.process()
    session.append(session.runs("call-2", "again"), session.result("call-2", "more"), session.says("four"))
    world.process()
    calm.session().append(session.path.read_bytes())
    calm.process()
    [output], [wanted] = ([row.path for row in each.outputs()] for each in (world, calm))
    assert output.parent.parent == world.out
    assert output.read_bytes() == wanted.read_bytes()
