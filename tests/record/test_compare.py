"""The text of a recording in a file that a person may have edited."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.record.compare import compare_events, compare_placed_events, locate, missing, missing_lines

PIECES = [b"# Title\n", b"\n## User\n\none\n", b"\nok\n", b"\nthree,\nin lines\n", b"\nok\n", b"\nlast words\n"]
WHOLE = b"".join(PIECES)


def without(*numbers):
    """Return the whole text without some pieces."""
    return b"".join(piece for number, piece in enumerate(PIECES) if number not in numbers)


def test_an_unchanged_text_has_every_piece():
    """Each piece follows the one before."""
    spans = locate(WHOLE, PIECES)
    assert [WHOLE[span.start : span.end] for [span] in spans] == PIECES
    assert missing(WHOLE, PIECES) == []


def test_notes_anywhere_are_ignored():
    """Notes before, between and within pieces, and a lost last newline, change nothing."""
    content = b"a note\n" + WHOLE.replace(b"three,\n", b"three,\na note\n").replace(b"one\n", b"one\nok or not\n")
    assert missing(content.rstrip(), PIECES) == []


def test_a_piece_is_not_found_in_the_middle_of_a_line():
    """`ok` is missing if the file only has a line with a longer word."""
    assert missing(b"# Title\n\ntoken\n", [b"# Title\n", b"\nok\n"]) == [1]


def test_a_missing_piece_is_not_an_equal_one_further_down():
    """What follows is found by lines that are nowhere else, so the first `ok` is missing, and only that one."""
    assert missing(without(2), PIECES) == [2]
    assert missing(without(4), PIECES) == [4]
    assert len(missing(without(2, 3), PIECES)) == 2  # which of two equal ones is missing cannot be told


def test_what_was_appended_again_counts_unless_the_order_matters():
    """Pieces below all others are found in the text that is left over, each once."""
    content = without(1, 2) + b"\n*A mark*\n" + PIECES[1] + PIECES[2]
    assert missing(content, PIECES) == [1, 2]
    assert missing(content, PIECES, in_order=False) == []
    assert missing(without(1, 2) + PIECES[2], PIECES, in_order=False) == [1]


def test_line_ends_and_a_byte_order_mark_do_not_matter():
    """Editors write others, of all lines or of some."""
    for end in (b"\r\n", b"\r"):
        assert missing(b"\xef\xbb\xbf" + WHOLE.replace(b"\n", end), PIECES) == []
    assert missing(WHOLE.replace(b"\n", b"\r\n", 5), PIECES) == []


def test_what_is_below_a_mark_counts_where_its_part_has_it():
    """In the text of the piece, or in that of an event below a mark; what is below does not change what is above."""
    mark, below = b"*A mark*", {1: b"\n## User, again\n\nsomething\n", 2: b"\n## Agent\n\nok\n"}
    asked = []

    def again(numbers):
        asked.append(numbers)
        return below

    content = without(1, 2, 4)
    assert missing(content, PIECES, again, mark=mark) == [1, 2, 4]
    appended = content + b"\n*A mark*\n" + below[1] + PIECES[2] + PIECES[4]
    assert missing(appended, PIECES, again, mark=mark) == []
    assert missing(appended, PIECES) == [1, 2, 4]
    assert missing(content + b"\n*A mark*\n" + below[2] + PIECES[4], PIECES, again, mark=mark) == [1]
    assert asked == [[1, 2, 4]] * 3
    assert missing(WHOLE, PIECES, again, mark=mark) == []
    assert len(asked) == 3  # it is not asked for what is not missing


def test_a_piece_takes_only_its_own_lines():
    """What is between them may be another piece, unless the order matters."""
    content, pieces = b"# Title\n\nok\n\nlast words\n", [b"# Title\n\nlast words\n", b"\nok\n"]
    assert len(missing(content, pieces)) == 1
    assert missing(content, pieces, in_order=False) == []


def test_a_line_that_was_appended_again_completes_its_piece():
    """In formats of lines, a piece may be in several places: each of its lines counts once."""
    pieces = [b"{1}\n{2}\n", b"{3}\n{3}\n", b"{4}\n"]
    assert missing_lines(b"{1}\r\n{3}\r\n{4}\r\n", pieces) == [0, 1]
    assert missing_lines(b"{1}\n{3}\n{4}\n{1}\n{2}\n", pieces, in_order=False) == [1]
    assert missing_lines(b"{1}\n{3}\n{4}\n{1}\n{2}\n{3}\n{3}\n", pieces, in_order=False) == []


def test_a_piece_with_other_text_in_front_of_its_first_line_is_changed():
    """A piece of several lines is not found where its first line is the end of a longer one."""
    assert missing(b"# Title\n\nnot three,\nin lines\n", [b"# Title\n", b"three,\nin lines\n"]) == [1]


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"\ngone %d\n\nok\n", b"\nok\n"], ids=["missing", "all alike"])
def test_looking_for_many_pieces_takes_linear_time(piece):
    """Ten times as many pieces in ten times the text take at most forty times as long, missing or all alike.

    Of three attempts the fastest counts: the machine may have other work.
    """

    def seconds(count):
        content = b"".join(b"\nline %d\n\nok\n" % number for number in range(count))
        pieces = [piece % number if b"%" in piece else piece for number in range(count)]
        start = process_time()
        assert len(missing(content, pieces)) == (count if b"%" in piece else 0)
        return process_time() - start

    assert min(seconds(20_000) for _ in range(3)) < 40 * max(seconds(2_000), 0.005)


def test_empty_pieces_are_never_missing():
    """Events that print nothing have no place in a file."""
    assert missing(b"", [b"", b""]) == []


@given(
    st.lists(st.sampled_from((b"ok", b"yes", b"one", b"two", b"three")), max_size=12), st.sets(st.integers(0, 20)),
    st.data(),
)  # fmt: skip
def test_what_was_cut_is_missing(words, cut, data):
    """As many pieces are missing as were cut from the file, whatever equal ones there are, and wherever notes are."""
    pieces = [b"\n%s\n" % word if number % 3 else b"\n%s %d\n" % (word, number) for number, word in enumerate(words)]
    kept = [piece for number, piece in enumerate(pieces) if number not in cut]
    content = b"".join(piece + (b"a note\n" if data.draw(st.booleans()) else b"") for piece in kept)
    found = missing(content, pieces)
    assert len(found) >= len(pieces) - len(kept)
    if not cut & set(range(len(pieces))):
        assert found == []


def event(name, text, offset=0):
    """Return a line of katod's JSONL."""
    return f'{{"schema":"katod.event/1","id":"{name}","source":{{"offset":{offset}}},"payload":"{text}"}}\n'.encode()


EVENTS = [event(name, f"words {name}", at) for at, name in enumerate("abc")]


def test_events_are_found_by_their_ids():
    """Wherever they are, and wherever in the session file their records were; line ends and notes do not matter."""
    content = (
        b"\xef\xbb\xbf" + event("c", "words c", 9) + b"a note\n" + event("a", "words a", 8) + event("b", "words b", 7)
    )
    for found in (b"".join(EVENTS), content, content.replace(b"\n", b"\r\n"), content + event("a", "other words")):
        assert compare_events(found, [*EVENTS, b""]) == ([], [])


def test_an_event_that_is_there_in_other_words_is_changed_and_not_absent():
    """One that was cut is absent, as is one of which only a note speaks."""
    content = event("a", "other words") + EVENTS[1][:-9] + b"\n" + b" " + EVENTS[2]
    assert compare_events(content, EVENTS) == ([1, 2], [0])


def test_events_without_ids_of_their_own_are_found_by_what_they_say():
    """Their ids are where their records were; of those that say the same, each one counts."""
    pieces = [event("@0", "yes"), event("@1", "ok"), event("@2", "ok"), b""]
    moved = [event("@7", "ok", 7), event("@8", "yes", 8), b"a note\n"]
    assert compare_placed_events(b"".join(moved), pieces) == ([2], [])
    assert compare_placed_events(b"".join([*moved, event("@9", "ok", 9)]), pieces) == ([], [])
    assert compare_placed_events(event("@0", "no"), pieces) == ([0, 1, 2], [])


def test_of_events_that_say_the_same_the_one_with_its_id_is_there():
    """Else another one would be appended again: an id would be there twice, and one nowhere."""
    pieces = [event("@1", "ok", 1), event("@2", "yes", 2), event("@3", "ok", 3)]
    for lost in range(len(pieces)):
        rest = [piece for number, piece in enumerate(pieces) if number != lost]
        assert compare_placed_events(b"".join(rest), pieces) == ([lost], [])


@pytest.mark.parametrize("compare", [compare_events, compare_placed_events])
def test_a_line_that_is_nested_too_deep_is_none(compare):
    """It can be read, but not be written again."""
    deep = b'{"schema":"katod.event/1","id":"@0","source":{},"payload":%b}\n' % (b"[" * 300 + b"]" * 300)
    assert compare(deep + event("@1", "ok", 1), [event("@1", "ok", 1), event("@0", "no")]) == ([1], [])


@pytest.mark.parametrize("line", [b"", b"]", b'","source":3}', b'","source":{}}', b'","id":{},"source":{"offset":1}}'])
def test_a_line_that_only_begins_like_an_event_is_none(line):
    """Whatever somebody made of it."""
    assert compare_events(b'{"schema":"katod.event/1' + line + b"\n", EVENTS) == ([0, 1, 2], [])


def test_below_a_mark_one_text_is_not_two_equal_pieces():
    """Each takes its own lines, one right below the other."""
    mark, content = b"*A mark*", without(2, 4) + b"\n*A mark*\n"
    again = {2: PIECES[2], 4: PIECES[4]}
    assert missing(content + PIECES[2] + PIECES[4], PIECES, lambda _: again, mark=mark) == []
    assert len(missing(content + PIECES[2], PIECES, lambda _: again, mark=mark)) == 1
