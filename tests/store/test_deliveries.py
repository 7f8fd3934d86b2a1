"""What the ledger knows of deliveries to rooms."""

from pathlib import Path

import pytest

from katod.model import Identity, Options, SessionKey, Stat
from katod.store.ledger import Ledger
from katod.store.rows import DestinationRow, OutputRow, PositionRow, SentRow, SourceRow, UploadRow
from katod.store.tables import ADDED, SCHEMA
from tests.support.parts import MemoryDatabase, Parts, memory_ledger
from tests.support.records import Claude, says, user
from tests.support.world import World

ROOM, OTHER = "!a:example.org", "!b:example.org"


@pytest.fixture
def ledger() -> Ledger:
    """Return a ledger with two sessions."""
    found = memory_ledger()
    for name in ("one", "two"):
        session = found.add_session(SessionKey("claude", name))
        found.add_source(SourceRow(0, session.id, f"/{name}", Identity(session.key), Stat(0, 0, 0, 0)))
    return found


def test_what_was_sent_is_known_by_session_and_room(ledger):
    """However many are asked for; an event that was refused has an empty id."""
    ledger.deliveries.add_sent([SentRow(1, ROOM, f"t{n}", f"${n}" if n else "") for n in range(1200)])
    ledger.deliveries.add_sent([SentRow(1, ROOM, "t5", "$again")])  # the first answer counts
    found = ledger.deliveries.sent(1, ROOM, [f"t{n}" for n in range(2000)])
    assert len(found) == 1200
    assert (found["t0"], found["t5"]) == ("", "$5")
    assert ledger.deliveries.sent(1, OTHER, ["t5"]) == ledger.deliveries.sent(2, ROOM, ["t5"]) == {}
    assert ledger.deliveries.sent(1, ROOM, []) == {}
    assert ledger.deliveries.summary(ROOM)[:3] == (1199, 1, [])
    assert ledger.deliveries.destinations_of([1, 2]) == [(ROOM, 1199)]


def test_an_upload_is_known_to_all_sessions(ledger):
    """It is content of a homeserver; which session it was part of decides only when it is forgotten."""
    ledger.deliveries.add_uploads([UploadRow(1, "https://a", "hash", "mxc://a/1")])
    assert ledger.deliveries.uploaded("https://a", ["hash", "other"]) == {"hash": "mxc://a/1"}
    assert ledger.deliveries.uploaded("https://b", ["hash"]) == {}
    ledger.deliveries.forget(2)
    assert ledger.deliveries.uploaded("https://a", ["hash"])
    ledger.deliveries.forget(1)
    assert ledger.deliveries.uploaded("https://a", ["hash"]) == {}


def test_nothing_is_added_of_a_session_that_is_not_known(ledger):
    """It was forgotten while an event was on its way."""
    ledger.deliveries.add_sent([SentRow(3, ROOM, "t", "$1"), SentRow(2, ROOM, "t", "$2")])
    ledger.deliveries.add_uploads([UploadRow(3, "https://a", "hash", "mxc://a/1")])
    assert ledger.deliveries.sent(3, ROOM, ["t"]) == {}
    assert ledger.deliveries.sent(2, ROOM, ["t"]) == {"t": "$2"}
    assert ledger.deliveries.uploaded("https://a", ["hash"]) == {}


def test_what_waits_for_others_of_the_same_kind_is_known(ledger):
    """Rooms and collectors are told apart; what is done waits for nobody."""
    for output, destination in ((1, ROOM), (2, OTHER), (3, OTHER), (4, "http://a"), (5, "https://b")):
        ledger.deliveries.begin(output, 0, destination)
    ledger.deliveries.finish(3, OTHER, 0)
    assert ledger.deliveries.elsewhere("matrix", ROOM) == {OTHER: [2]}
    assert ledger.deliveries.elsewhere("matrix", "") == {ROOM: [1], OTHER: [2]}
    assert ledger.deliveries.elsewhere("otlp", "http://a") == {"https://b": [5]}


def test_an_output_follows_unless_any_of_it_was_sent(ledger):
    """Of one kind of destination; why it could not be completed before does not hold there."""
    for output, destination in ((1, "http://a"), (2, "http://a"), (3, OTHER)):
        ledger.deliveries.begin(output, 0, destination)
    ledger.deliveries.note_problem(1, "http://a", "gone")
    ledger.deliveries.move(PositionRow(2, "http://a", "t"))
    ledger.deliveries.follow("otlp", "http://b", with_content=False)
    assert ledger.deliveries.numbers(1, "http://b") == [0]
    assert ledger.deliveries.summary("http://b").problems == []
    assert ledger.deliveries.elsewhere("otlp", "http://b") == {"http://a": [2]}
    assert ledger.deliveries.elsewhere("matrix", ROOM) == {OTHER: [3]}


def test_what_was_said_only_follows_to_where_it_is_wanted(ledger):
    """Spans of a recording say it, or not, as the settings were when it began."""
    session = ledger.add_session(SessionKey("claude", "s")).id
    head = {"key": ["claude", "s", ""], "metadata": {}}
    for number, content in ((1, True), (2, False)):
        options = Options(span_content=content)
        path = Path(f"/o/{number}.md")
        ledger.add_output(OutputRow(number, session, Path("/o"), path, "markdown", 1, options, head))
        ledger.deliveries.begin(number, 0, "http://a")
    assert ledger.deliveries.with_content("http://a") == [1]
    ledger.deliveries.follow("otlp", "http://b", with_content=False)
    assert ledger.deliveries.elsewhere("otlp", "http://b") == {"http://a": [1]}
    ledger.deliveries.follow("otlp", "http://b", with_content=True)
    assert ledger.deliveries.elsewhere("otlp", "http://b") == {}
    assert ledger.deliveries.with_content("http://b") == [1]


def test_ranges_are_delivered_until_they_are_done(world: World):
    """A recording is offered while one of its ranges is not done, and whenever it has more, that can be seen."""
    parts = Parts(world)
    maker = Claude(world).say(user("hello"))
    source = parts.source()
    session = parts.load(source)
    with parts.ledger.transaction():
        output = parts.output(session)
    deliveries = parts.ledger.deliveries
    deliveries.begin(output.id, 0, ROOM)
    deliveries.begin(output.id, 2, ROOM)
    first = deliveries.offers(ROOM)
    assert list(first) == [output.id]
    assert deliveries.offers(OTHER) == {}
    assert deliveries.numbers(output.id, ROOM) == [0, 2]
    maker.say(says("yes"))
    parts.read(session, source)
    assert deliveries.offers(ROOM) != first
    deliveries.finish(output.id, ROOM, 0)
    assert list(deliveries.offers(ROOM)) == [output.id]
    deliveries.note_problem(output.id, ROOM, "gone")
    assert deliveries.summary(ROOM)[2:] == ([output.id], DestinationRow(ROOM), [(output.id, "gone")])
    deliveries.finish(output.id, ROOM, 2)
    assert deliveries.offers(ROOM) == {}
    assert deliveries.numbers(output.id, ROOM) == [0, 2]
    assert deliveries.summary(ROOM)[2:] == ([], DestinationRow(ROOM), [])


def test_an_output_that_waits_for_its_name_is_not_offered(world: World):
    """Its head is not known yet."""
    parts = Parts(world)
    Claude(world).say(user("hello"))
    session = parts.load(parts.source())
    with parts.ledger.transaction():
        output = parts.output(session)
        output.hold("")
        output.save(parts.ledger)
    parts.ledger.deliveries.begin(output.id, 0, ROOM)
    assert parts.ledger.deliveries.offers(ROOM) == {}


def test_why_events_wait_is_kept_by_room(ledger):
    """The last word counts."""
    ledger.deliveries.note(DestinationRow(ROOM, "2026-02-10T22:31:00Z", "away"))
    ledger.deliveries.note(DestinationRow(ROOM, "2026-02-10T22:31:00Z", "away", stopped=True))
    assert ledger.deliveries.summary(ROOM).destination == DestinationRow(
        ROOM, "2026-02-10T22:31:00Z", "away", stopped=True
    )
    assert ledger.deliveries.summary(OTHER).destination == DestinationRow(OTHER)


def test_a_ledger_without_these_tables_has_no_deliveries():
    """An older katod made it, and this one only reads it."""
    old = Ledger(MemoryDatabase(SCHEMA.replace(ADDED, "")))
    assert old.deliveries.destinations_of([1]) == []
    assert old.deliveries.summary(ROOM) == (0, 0, [], DestinationRow(ROOM), [])


def test_a_destination_that_stopped_the_delivery_is_tried_again(ledger):
    """Why it stopped is over then; why something waits for another one is not."""
    ledger.deliveries.note(DestinationRow(ROOM, "2026-02-10T22:31:00Z", "not allowed", stopped=True))
    ledger.deliveries.note(DestinationRow(OTHER, "2026-02-10T22:31:00Z", "no answer"))
    for room in (ROOM, OTHER):
        ledger.deliveries.try_again(room)
    assert ledger.deliveries.summary(ROOM).destination == DestinationRow(ROOM)
    assert ledger.deliveries.summary(OTHER).destination.problem == "no answer"


def test_it_is_known_whether_a_destination_ever_took_anything(ledger):
    """What was refused does not count."""
    assert not ledger.deliveries.has_any(ROOM)
    ledger.deliveries.add_sent([SentRow(1, ROOM, "a", ""), SentRow(1, OTHER, "a", "$a")])
    assert not ledger.deliveries.has_any(ROOM)
    assert ledger.deliveries.has_any(OTHER)
