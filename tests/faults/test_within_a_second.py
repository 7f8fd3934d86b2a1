"""The time between an append and the commit that records it in the ledger, without any fault."""

import pytest

from .checks import marks_of

FILLER = "nobody records this\n" * 80_000


@pytest.mark.parametrize("name", ["", " log.jsonl"], ids=["markdown", "jsonl"])
def test_a_recording_that_stops_and_goes_on_in_one_run(world, name):
    """The second range is written to the same output, and nothing is parked."""
    session = world.session()
    session.append(session.user(f"one\n::start{name}\nmark-00000001-000001."))
    session.append(session.user("mark-00000001-000002.\n::stop\nthree"), session.says(FILLER))
    session.append(session.user("four\n::start\nmark-00000001-000003."))
    world.process()
    row = world.outputs()[0]
    assert world.parked() == {}
    assert marks_of(row.path)[0] == [f"mark-00000001-{number:06d}." for number in (1, 2, 3)]
    assert row.path.read_bytes() == world.export(row)
