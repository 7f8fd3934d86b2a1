"""States of recorded sessions, compared with what another program said while it watched them."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from katod.lifecycle import after
from katod.states import State
from tests.states.cases import FILE, Row, read, time_of
from tests.states.replay import FOLDER, SAYS, replayed, watched

# The other program waits for two seconds until a file has settled; it says `working` as soon as a file changes, though.
SETTLED = 2.5


def _watched(folder: Path, row: Row) -> list[Row]:
    """Return what the other program noted of the session, in order."""
    first = next(event for event in read(folder / "events.jsonl") if event["seq"] == row["said"][0]["seq"])
    return watched(folder, first["session_id"])


def _states(row: Row, events: list[Row], folder: Path) -> Iterator[list[State]]:
    """Yield, for each size, the states that the session went through since the one before, the current one last."""
    state = State.IDLE
    for events_lines in replayed(row, events, folder):
        passed = [state]
        for line in (line for lines in events_lines for line in lines):
            passed.append(after(passed[-1], line["type"]))
        state = passed[-1]
        yield passed


def _met(row: Row, tmp_path: Path) -> Iterator[tuple[int, str, float | None]]:
    """Yield each case, and how long after the other program said so the state was seen; None: never.

    It counts from the change before it on, as the other program says nothing of what it passes over while it reads.
    """
    events = _watched((FOLDER / row["path"]).parent, row)
    passed = list(_states(row, events, tmp_path))
    times = [time_of(event) for event in events]
    numbers = {event["seq"]: n for n, event in enumerate(events)}
    first = 0
    for one in row["said"]:
        last = numbers[one["seq"]]
        seen = (n for n in range(first, len(events)) if one["state"] in {SAYS[state] for state in passed[n]})
        found = next(seen, None)
        yield one["seq"], one["state"], None if found is None else max(0.0, times[found] - times[last])
        first = last


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings under {FOLDER}")
def test_states_are_those_that_the_files_tell(tmp_path):
    """At least 95 % of the changes that an agent writes into its file are met, within the time that the other waits."""
    late: dict[Row, list[float | None]] = defaultdict(list)
    for row in json.loads(FILE.read_text()):
        for seq, state, delay in _met(row, tmp_path):
            late[row["recorded"], row["agent"], state].append(delay)
            if delay is None or delay > SETTLED:
                print(f"not met: {row['path']} {seq} {state} {delay}")
    for kind, delays in sorted(late.items(), reverse=True):
        print(*kind, f"{_count(delays)} of {len(delays)}, at once {_count(delays, 0)}")
    recorded = [delay for kind, delays in late.items() if kind[0] for delay in delays]
    assert _count(recorded) >= 0.95 * len(recorded)


def _count(delays: list[float | None], most: float = SETTLED) -> int:
    return sum(1 for delay in delays if delay is not None and delay <= most)
