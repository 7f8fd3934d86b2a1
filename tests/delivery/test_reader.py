"""The lines of a recording, read from its session."""

from typing import Any

import pytest

from katod.agents import AGENTS
from katod.delivery.exchange import OfferedRecording
from katod.delivery.reader import RecordingReader
from katod.events import ASSISTANT_MESSAGE, USER_MESSAGE
from katod.log import EventLog
from katod.matrix.kind import MATRIX_DELIVERY
from katod.model import Options, Range
from katod.record.export import Stretch, replay
from katod.record.follow import Limited
from katod.store.rows import OutputRow
from tests.support.records import Claude
from tests.support.world import World


@pytest.fixture
def session(world: World) -> Claude:
    """Return a session with two messages."""
    found = world.claude()
    found.append(found.user("hello"), found.says("yes"), found.user("more"))
    return found


def reader_of(session: Claude, *, start: str = "", end: str = "", after: str = "") -> RecordingReader[Any]:
    """Return a position in a recording of a session, from an event up to another one."""
    identity = AGENTS["claude"].named(session.path)
    assert identity is not None
    head = {"key": identity.key, "metadata": {}}
    row = OutputRow(
        1, 1, session.path.parent, session.path, "markdown", 1, Options(), head, ranges=[Range(start, end=end)]
    )
    offered = OfferedRecording(1, identity.key, row, 0, (Limited(str(session.path), identity, None),))
    return RecordingReader(MATRIX_DELIVERY.form, offered, EventLog(), after)


def read(reader: RecordingReader[Any]) -> list[str]:
    """Return the texts of all lines that can be read now."""
    found: list[str] = []
    while reader.read():
        while reader.lines:
            found.append(reader.lines.popleft().content.get("text", ""))
    return [text for text in found if text]


def test_a_missing_end_is_looked_for_once(session: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
    """Again only when the session has changed, and after a while; one that nobody knows, never."""
    looks: list[set[str]] = []
    find = RecordingReader._found
    monkeypatch.setattr(RecordingReader, "_found", lambda self, ends: looks.append(ends) or find(self, ends))
    reader = reader_of(session, end="gone")
    assert [reader.read() for _ in range(5)] == [False] * 5
    assert (len(looks), reader.problem) == (1, "its session no longer has the place where it ended")
    session.append(session.says("later"))
    assert (reader.read(), len(looks)) == (False, 1)
    monkeypatch.setattr("katod.delivery.reader.monotonic", lambda: 1e12)
    assert (reader.read(), len(looks)) == (False, 2)
    assert (reader_of(session, end="?").read(), len(looks)) == (False, 2)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("start", "end", "problem"),
    [
        ("", "", ""),
        (0, "", ""),
        (0, 2, ""),
        (1, 1, ""),
        ("gone", "", "its session no longer has the place where it began"),
        ("gone", 2, "its session no longer has the place where it began"),
        (0, "gone", "its session no longer has the place where it ended"),
        (2, 0, "its session no longer has the place where it ended"),
    ],
)
def test_what_keeps_the_rest_from_being_read_is_said(
    session: Claude, start: int | str, end: int | str, problem: str
) -> None:
    """A place that is gone, or an end that is before the beginning by now; there is none while more may come."""
    identity = AGENTS["claude"].named(session.path)
    assert identity is not None
    events = replay(identity.key, [Stretch(str(session.path), identity)], EventLog())
    ids = [event.id for event, _ in events if event.kind in (USER_MESSAGE, ASSISTANT_MESSAGE)]
    places = [ids[place] if isinstance(place, int) else place for place in (start, end)]
    reader = reader_of(session, start=places[0], end=places[1])
    read(reader)
    assert reader.problem == problem


def test_it_begins_after_the_line_that_was_sent_last(session: Claude) -> None:
    """That line may be one that waits for more; if it is nowhere, everything is read."""
    session.append(session.says("held", message={"stop_reason": None}))
    whole = reader_of(session)
    lines: dict[str | None, str] = {}
    for is_released in (False, True):
        if is_released:
            whole.release()
        while whole.read():
            lines |= {line.content.get("text"): line.txn for line in whole.lines}
            whole.lines.clear()
    assert list(lines) == [None, "hello", "yes", "more", "held"]
    assert whole.weight > 0
    assert read(reader_of(session, after=lines["hello"])) == ["yes", "more"]
    assert read(reader_of(session, after=lines["more"])) == []
    assert read(reader_of(session, after="another")) == ["hello", "yes", "more"]
    session.append(session.user("again"))
    assert read(reader_of(session, after=lines["held"])) == ["again"]


def test_of_several_files_that_grow_in_turns_every_line_is_read_again(session: Claude) -> None:
    """What came after the last line may be before it then; who sends the lines knows which were sent."""
    other = Claude(session.world)
    other.path = session.path.parent.with_name("-home-me-other") / session.path.name
    other.count = 100
    other.append(other.user("there"))
    identity = AGENTS["claude"].named(session.path)
    assert identity is not None
    whole = reader_of(session)
    both = tuple(Limited(str(maker.path), identity, None) for maker in (session, other))
    whole.update(whole.recording._replace(sources=both))
    while whole.read():
        last = whole.lines[-1].txn
        whole.lines.clear()
    session.append(session.user("meanwhile"))
    again = RecordingReader(MATRIX_DELIVERY.form, whole.recording, EventLog(), last)
    assert read(again) == ["hello", "yes", "more", "meanwhile", "there"]


def test_a_line_that_was_held_back_is_what_it_goes_on_after(session: Claude) -> None:
    """Nothing is read again then: what was sent last has come last, and nothing more is there."""
    session.append(session.says("held", message={"stop_reason": None}))
    whole = reader_of(session)
    while whole.read():
        whole.lines.clear()
    whole.release()
    reader = reader_of(session, after=whole.lines[-1].txn)
    assert ([reader.read() for _ in range(3)], [*reader.lines]) == ([True, False, False], [])


def test_it_is_done_when_all_of_a_recording_that_ended_was_taken(session: Claude) -> None:
    """What was read and not sent yet is still to be sent."""
    identity = AGENTS["claude"].named(session.path)
    assert identity is not None
    last = [event.id for event, _ in replay(identity.key, [Stretch(str(session.path), identity)], EventLog())][-1]
    reader, states = reader_of(session, end=last), [False]
    while reader.read():
        while reader.lines:
            states.append(reader.done)
            reader.lines.popleft()
    assert (set(states), reader.done) == ({False}, True)


def test_nothing_more_is_read_while_lines_are_left(session: Claude) -> None:
    """There is no end of a long session in memory."""
    reader = reader_of(session)
    while not reader.lines:
        assert reader.read()
    count = len(reader.lines)
    session.append(session.user("again"), session.says("and again"))
    assert [reader.read() for _ in range(5)] == [True] * 5
    assert len(reader.lines) == count
