"""States of recorded sessions, compared with what another program said while it watched them."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from katod.agents import AGENTS
from katod.lifecycle import Lifecycle, State, after
from katod.log import EventLog
from katod.record.follow import Follower
from tests.states.cases import FILE

FOLDER = Path(os.environ.get("KATOD_CORPUS") or Path(__file__).parents[2] / "../shared/corpus") / "irrlicht"
SAYS = {
    State.IDLE: "ready", State.DONE: "ready", State.ERROR: "ready", State.WORKING: "working", State.BLOCKED: "waiting"
}  # fmt: skip
# The other program waits for two seconds until a file has settled; it says `working` as soon as a file changes, though.
SETTLED = 2.5
Row = dict[str, Any]


def _watched(folder: Path, row: Row) -> list[Row]:
    """Return what the other program noted of the session, in order."""
    events = [json.loads(line) for line in folder.joinpath("events.jsonl").read_text().splitlines()]
    session = next(event["session_id"] for event in events if event["seq"] == row["said"][0]["seq"])
    return [event for event in events if event["session_id"] == session]


def _place(events: list[Row]) -> Path:
    """Return where the file was: its name and the folders around it say which session it is."""
    return Path(*Path(next(event["transcript_path"] for event in events if "transcript_path" in event)).parts[-4:])


def _states(path: Path, agent: str, sizes: list[int], copy: Path) -> Iterator[list[State]]:
    """Yield, for each size, the states that the session went through since the one before, the current one last."""
    identity = AGENTS[agent].identify(copy)
    assert identity is not None
    follower, lifecycle = Follower(identity.key, EventLog()), Lifecycle()
    data, written = path.read_bytes(), 0
    for size in sizes:
        passed = [lifecycle.state]
        if size > written:
            with copy.open("ab") as file:
                file.write(data[written:size])
            written = size
            lines = (line for event, _ in follower.look([(str(copy), identity)]) for line in lifecycle.take(event))
            passed += [after(passed[-1], line["type"]) for line in lines]
        yield passed


def _met(row: Row, tmp_path: Path) -> Iterator[tuple[int, str, float | None]]:
    """Yield each case, and how long after the other program said so the state was seen; None: never.

    It counts from the change before it on, as the other program says nothing of what it passes over while it reads.
    """
    path = FOLDER / row["path"]
    events = _watched(path.parent, row)
    copy = tmp_path / path.relative_to(FOLDER).parent / _place(events)
    copy.parent.mkdir(parents=True)
    passed = list(_states(path, row["agent"], [event.get("file_size", 0) for event in events], copy))
    times = [datetime.fromisoformat(event["ts"]).timestamp() for event in events]
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
