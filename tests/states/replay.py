"""A recorded session file is written again, by the sizes that it had, and read by katod as it grows."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.lifecycle import Lifecycle, Line
from katod.log import EventLog
from katod.model import Identity, SessionKey
from katod.record.follow import Follower
from katod.states import State
from tests.states.cases import Row, read

FOLDER: Final = Path(os.environ.get("KATOD_CORPUS") or Path(__file__).parents[2] / "../shared/corpus") / "irrlicht"
# What the other program calls the states.
SAYS: Final = {
    State.IDLE: "ready", State.DONE: "ready", State.ERROR: "ready", State.WORKING: "working", State.BLOCKED: "waiting"
}  # fmt: skip


def watched(folder: Path, session: str) -> list[Row]:
    """Return what the other program noted of a session, in order."""
    return [event for event in read(folder / "events.jsonl") if event.get("session_id") == session]


def replayed(row: Row, events: list[Row], folder: Path) -> Iterator[list[list[Line]]]:
    """Yield, for each size that the other program saw, the lines of each event read since the one before."""
    key = _identity(row, events, folder).key
    lifecycle = AGENTS[key.agent].lifecycle(key.subagent)
    return read_again(row, events, folder, lifecycle)


def read_again(row: Row, events: list[Row], folder: Path, lifecycle: Lifecycle) -> Iterator[list[list[Line]]]:
    """Yield the same, and have a lifecycle follow."""
    path = FOLDER / row["path"]
    copy = folder / path.relative_to(FOLDER).parent / _place(events)
    copy.parent.mkdir(parents=True)
    identity = _identity(row, events, folder)
    follower = Follower(identity.key, EventLog())
    data, written = path.read_bytes(), 0
    for event in events:
        size = event.get("file_size", 0)
        if size <= written:
            yield []
            continue
        with copy.open("ab") as file:
            file.write(data[written:size])
        written = size
        yield [lifecycle.take(one) for one, _ in follower.look([(str(copy), identity)])]


def _identity(row: Row, events: list[Row], folder: Path) -> Identity:
    identity = AGENTS[row["agent"]].identify(folder / Path(row["path"]).parent / _place(events))
    assert identity is not None
    return identity


def key_of(row: Row, events: list[Row]) -> SessionKey:
    """Return the key of a recorded session."""
    return _identity(row, events, Path("/")).key


def _place(events: list[Row]) -> Path:
    """Return where the file was: its name and the folders around it say which session it is."""
    return Path(*Path(next(event["transcript_path"] for event in events if "transcript_path" in event)).parts[-4:])
