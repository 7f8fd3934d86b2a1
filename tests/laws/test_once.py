"""Whatever order agents write in, and whatever they write again: what was said comes out once, and in order."""

import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event
from katod.log import EventLog
from katod.model import Cursor
from katod.record.export import Stretch
from katod.record.stream import LocalDedup, SessionStream
from tests.examples import mostly
from tests.faults.writer import Talk
from tests.support.records import line

MARK = re.compile(r"mark-[0-9a-f]{8}-\d{6}\.$")


def written(talk: Any) -> bytes:
    """Return all that a simulated agent writes: results before calls, and its history again, among other things."""
    records: list[Any] = []
    while talk.left > 0:
        records += talk.turn()
    return b"".join(map(line, records))


def mark_of(event: Event) -> str:
    """Return the mark that an event has, empty if it has none."""
    given = event.payload.get("input")
    command = given.get("cmd") or given.get("command") if isinstance(given, dict) else ""
    text = str(event.payload.get("text") or command or "").rstrip()
    found = MARK.search(text)
    return found[0] if found else text if text == "ok" else ""


def restarted(stream: SessionStream, source: Stretch) -> SessionStream:
    """Return a stream that goes on where another one was, as after a restart."""
    again = SessionStream(stream.metadata.key, stream.seen, EventLog(), stream.state())
    again.open(source, stream.open(source).state())
    return again


@pytest.mark.parametrize("seed", mostly(range(6), range(300)))
@pytest.mark.parametrize("number", [1, 3], ids=["claude", "codex"])
def test_what_was_said_comes_out_once_and_in_order(tmp_path: Path, seed: int, number: int) -> None:
    """Read in pieces of any size, with a restart after each."""
    rng = random.Random(seed)
    talk = Talk(SimpleNamespace(home=tmp_path), number, rng)
    path = tmp_path / "session.jsonl"
    path.write_bytes(written(talk))
    spec = AGENTS[talk.session.agent]
    source = Stretch(str(path), spec.named(path))
    stream, cursor, events = SessionStream(source.identity.key, LocalDedup(), EventLog()), Cursor(), []
    with spec.open(str(path)) as file:
        while True:
            batch = file.read(cursor, rng.choice([1_000, 20_000, 1_000_000]))
            events += stream.events(source, batch.lines)
            cursor, stream = batch.cursor, restarted(stream, source)
            if not batch.more:
                break
        events += [*stream.rest(source, file.rest(cursor.offset)), *stream.settle(source)]
    assert [mark for event in events if (mark := mark_of(event))] == [mark for _, mark in talk.history]
    commands = [event for event in events if event.kind == ev.USER_COMMAND]
    assert len(commands) == len({event.payload["line"] + event.time for event in commands})
