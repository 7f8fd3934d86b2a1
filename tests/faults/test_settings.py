"""Settings that change between a crash and the next start: a recording goes on as it began."""

import pytest

from .power import Cut, Disk
from .world import World

BEGUN = {"zone": "Europe/Berlin", "thinking": True, "tools": "full"}
CHANGES = {
    "where outputs go": {"directory": "elsewhere"},
    "the zone": {"zone": "Asia/Tokyo"},
    "thinking": {"thinking": False},
    "less of tools": {"tools": "none"},
    "some of tools": {"tools": "summary"},
}


@pytest.mark.fault("settings changed before the restart")
@pytest.mark.parametrize("name", ["", pytest.param(" log.jsonl", marks=pytest.mark.slow)], ids=["markdown", "jsonl"])
@pytest.mark.parametrize("when", ["inside", "before"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_recording_keeps_its_settings(quick, change, when, name):
    """What a crash left is completed as it was begun, and what comes then looks as if nothing had been changed."""
    world, calm = World(quick / "changed"), World(quick / "calm")
    for each in (world, calm):
        each.configure(**BEGUN)
        each.once()
    session = world.session()
    session.append(session.user(f"one\n::start{name}"), session.said("two"))
    world.once()
    session.append(session.called("call"), session.result("output"), session.said("three"))
    assert world.once_until(Cut(1, when, 0.5).on(Disk(world.out)))
    world.configure(**BEGUN | CHANGES[change])
    world.once()
    session.append(session.called("again"), session.result("more"), session.said("four"))
    world.once()
    calm.session().append(session.path.read_bytes())
    calm.once()
    [output], [wanted] = ([row.path for row in each.outputs()] for each in (world, calm))
    assert output.parent.parent == world.out
    assert output.read_bytes() == wanted.read_bytes()
