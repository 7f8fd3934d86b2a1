"""The end of a session that is kept."""

from katod.serve.feed import tail as tails
from katod.serve.feed.position import Position, SentMessage, SourcePosition
from katod.serve.feed.tail import MOST, Tail
from tests.looping import each


def sent(number, names=True, text="x"):
    return SentMessage(text, (f"id-{number}",) if names else ())


def tail(*messages):
    found = Tail()
    found.extend(messages)
    return found


def test_a_tail_is_bounded_and_numbers_go_on():
    """By the number of messages and by their size; the last one with an id stays, however large it is."""
    found = tail(*map(sent, range(MOST + 10)))
    assert (found.begin, found.end, found.streamed) == (10, MOST + 10, MOST + 10)
    assert found.since(9) is None
    assert found.since(MOST + 9) == [sent(MOST + 9)]
    assert found.since(MOST + 10) == []
    found.extend([sent("large", text="x" * 10_000_000), *(sent(0, names=False) for _ in range(MOST * 2))])
    assert found.last_named("id-large") == MOST + 10
    assert found.last_named("id-5") is None
    assert found.ids() == {"id-large"}


def test_as_much_text_is_kept_as_there_is_room_for(monkeypatch):
    """What was dropped takes no room any more."""
    monkeypatch.setattr(tails, "_MOST_TEXT", 10)
    found = tail(*(sent(number, text="four") for number in range(9)))
    assert (found.begin, found.end) == (7, 9)


def test_messages_are_found_by_their_ids_and_by_those_of_calls():
    """Of calls with one id, the last one is meant."""
    found = tail(
        sent(1), SentMessage("a", ("id-2", "call")), sent(3), SentMessage("b", ("id-4", "call")), SentMessage("beside")
    )
    assert [found.last_named(name) for name in ("id-1", "call", "id-4", "call-2")] == [0, 3, 3, None]


def test_history_is_what_has_an_id():
    """And it says whether there is more."""
    found = tail(*map(sent, range(5)), SentMessage("beside"))
    assert found.last(2) == ([sent(3), sent(4)], True)
    assert found.last(5) == ([*map(sent, range(5))], False)


@each(
    "messages, position",
    [
        ([], Position()),
        ([SentMessage("a")], Position((SourcePosition("", "", 1),))),
        ([sent(1), SentMessage("a"), SentMessage("b")], Position((SourcePosition("", "id-1", 2),))),
        ([sent(1), SentMessage("a"), sent(2)], Position((SourcePosition("", "id-2"),))),
    ],
)
def test_the_place_of_somebody_who_has_all(messages, position):
    """Is the last message with an id, and those without one after it."""
    found = tail(*messages)
    assert found.position() == position
    assert found.missing(position) == []


def test_what_a_viewer_lacks_is_counted_for_each_source():
    """What is no longer kept is not known, and neither is what a viewer has that is not here."""
    rows = [SentMessage(str(number), (str(number),), "ab"[number % 2]) for number in range(6)]
    found = tail(*rows)
    assert found.missing(Position()) == rows
    assert found.missing(Position().after(rows[2])) == [rows[1], rows[3], rows[4], rows[5]]
    assert found.missing(Position().after(rows[5]).after(rows[0])) == [rows[2], rows[4]]
    assert found.missing(Position().after(SentMessage("", ("elsewhere",), "c"))) is None
    assert found.located(["1", "2"]) == Position().after(rows[1]).after(rows[2])._replace(
        marks=(SourcePosition("a", "2"), SourcePosition("b", "1"))
    )


def test_what_is_not_kept_from_the_beginning_is_counted():
    """So that numbers and the history know of it."""
    found = Tail()
    found.skip([sent(1), sent(1, names=False)])
    found.extend([sent(2)])
    assert (found.begin, found.end) == (2, 3)
    assert found.last(9) == ([sent(2)], True)
    assert found.before == Position((SourcePosition("", "id-1", 1),))
    assert (found.missing(Position()), found.missing(found.before)) == (None, [sent(2)])
