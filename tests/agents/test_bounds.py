"""The state that adapters keep stays small, and event ids stay unique, whatever an agent writes."""

import sys
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
import pytest

import katod
from katod.agents.base import Origin
from katod.events import Event
from katod.formatspec import open_format
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, Line, Options, SessionKey
from katod.record.translation import Translation
from tests.examples import mostly
from tests.support.records import MAKERS, OF_EACH_NATURE, UNKNOWN, Claude, Codex, Maker, calls, result, says, user
from tests.support.world import World

LINES = [make for make in MAKERS if not make.IS_DOCUMENT]
MANY = 1_500
WORDS = "and more words " * 20
KATOD = str(Path(katod.__file__).parent)
SMALL = 250_000  # bytes of all states together


class Reader:
    """Reads the records of one agent, as a recording does."""

    def __init__(self, agent: str) -> None:
        identity = Identity(SessionKey(agent, "s"))
        self.metadata = SessionMetadata(identity.key)
        self.translation = Translation(Origin(identity, Path("/nowhere/s.jsonl")), self.metadata, EventLog())
        self.printer = open_format("markdown", Options(tools="full", thinking=True))
        self.offset = 0

    def read(self, *records: dict[str, Any]) -> list[Event]:
        """Feed records to the adapter and return their events."""
        lines = [
            Line(self.offset + n * 100, self.offset + n * 100 + 100, orjson.dumps(r)) for n, r in enumerate(records)
        ]
        self.offset += 100 * len(records)
        events = []
        for event in chain.from_iterable(self.translation.feed(lines)):
            self.metadata.observe(event)
            self.printer.event(event, self.metadata)
            self.metadata.close(event)
            events.append(event)
        return events

    def remembered(self) -> int:
        """Return the size of the states that are stored with each step."""
        states = (self.translation.state(), self.metadata.state(), self.printer.state())
        return sum(len(orjson.dumps(state)) for state in states)


@pytest.mark.slow
@pytest.mark.fault("hostile size")
@pytest.mark.parametrize("many", mostly([MANY // 2], [MANY // 2, MANY]))
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, LINES), ids=lambda make: make.__name__)
def test_no_number_of_records_makes_a_state_grow(world: World, make: type[Maker], many: int) -> None:
    """The stored state stays small after any number of calls without results, with ids of any length."""
    maker, reader = make(world), Reader(make.agent)
    reader.read(*maker.items)
    for number in range(many):
        call = f"call-{number}-{'i' * (number % 300)}"
        said = (user(f"words {number}"), calls(call, "c" * 300), says("words"), UNKNOWN)
        reader.read(*(record for one in said for record in maker.records(one)))
    reader.read(*maker.records(calls("i" * SMALL, "n" * SMALL)))
    assert reader.remembered() < SMALL


@pytest.mark.slow
@pytest.mark.fault("hostile size")
def test_texts_that_wait_in_a_queue_are_few() -> None:
    """Any number of queued texts removed before they are shown are all emitted, and few are kept in the state."""
    reader, row = Reader("claude"), {"type": "queue-operation", "sessionId": "s"}
    out = []
    for number in range(MANY):
        row["timestamp"] = f"2026-02-10T22:36:{number % 60:02d}.{number % 1000:03d}Z"
        text = {"content": f"typed {number} {WORDS}"}
        out += reader.read(row | {"operation": "enqueue"} | text, row | {"operation": "remove"} | text)
    assert reader.remembered() < SMALL
    out += reader.read(Claude().says("an answer"))
    texts = [event.payload["text"] for event in out if event.kind == "user.message"]
    assert texts == [f"typed {number} {WORDS}" for number in range(MANY)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_the_blocks_of_a_message_cost_once_each(kind: str) -> None:
    """Twice as many blocks in one message take twice as many steps, not four times."""

    def steps(blocks: int) -> int:
        reader, count = Reader("claude"), 0
        content = [{"type": "text", "text": f"block {number} of {blocks}"} for number in range(blocks)]
        record = Claude().record(kind, message={"id": "m", "role": kind, "content": content})

        def step(frame: Any, event: str, _what: Any) -> None:
            nonlocal count
            count += event == "call" and KATOD in frame.f_code.co_filename  # not what the garbage of other tests costs

        sys.setprofile(step)
        try:
            assert len(reader.read(record)) >= blocks
        finally:
            sys.setprofile(None)
        return count

    steps(10)  # what is done once in a process, such as to compile patterns
    assert steps(400) < 2.2 * steps(200)


@pytest.mark.fault("hostile record")
def test_records_without_id_and_time_have_names_of_their_own() -> None:
    """No two events have the same id, however often a client repeats the same records."""
    reader = Reader("claude")
    rows = [{"type": "tag", "tag": f"tag {number % 700}", "sessionId": "s"} for number in range(2 * MANY)]
    ids = [event.id for event in reader.read(*rows)]
    assert len(ids) == len(set(ids)) == 2 * MANY


@pytest.mark.fault("hostile record")
def test_an_ordinal_that_comes_twice_hides_no_record() -> None:
    """Codex records with the same ordinal get different ids, also after a restart; rising ordinals keep their ids."""
    make = Codex()
    first = [make.meta(), make.user("one"), make.says("two")]
    again = make.says("three") | {"ordinal": 1}
    events = Reader("codex").read(*first, again, make.says("four"))
    ids = [event.id for event in events]
    assert len(set(ids)) == len(ids)
    assert [event.payload["text"] for event in events if "text" in event.payload] == ["one", "two", "three", "four"]
    assert [one.partition("@")[2] for one in ids if "+" not in one][:3] == ["0:0", "1:0", "2:0"]


@pytest.mark.parametrize("make", MAKERS, ids=lambda maker: maker.__name__)
def test_a_call_with_a_long_id_is_told_once_and_by_its_name(world: World, make: type[Maker]) -> None:
    """A call with an id of hundreds of characters, as some providers give, is recorded once and shown with its tool."""
    call = f"call_{'x' * 450}|{'y' * 900}"
    maker = make(world).say(user("::start n.jsonl"), says("yes"), calls(call, "make"), result(call, "done"), says("ok"))
    world.once()
    told = [orjson.loads(line)["kind"] for line in world.written()["n.jsonl"].splitlines()]
    assert told.count("assistant.tool.call") == (0 if "calls" in maker.ABSENT else 1)
    assert "\n- `tool`" not in world.cli("export", "latest")
