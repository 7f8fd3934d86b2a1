"""What can be computed from an output's row."""

from pathlib import Path

import pytest

from katod.model import Cursor, Identity, Options, Range, SessionKey, Stat
from katod.store.rows import OutputRow, SourceRow, transcripts

SOURCE = SourceRow(3, 1, "/s.jsonl", Identity(SessionKey("claude", "s")), Stat(90, 0, 0, 0), cursor=Cursor(70))


def output(*ranges: Range, behind: dict[str, object] | None = None) -> OutputRow:
    return OutputRow(
        1, 1, Path("/out"), Path("/out/app/n.md"), "markdown", 1, Options(), {}, behind=behind, ranges=list(ranges)
    )


def test_the_parts_are_those_below_the_root():
    """The parts are relative to the root."""
    assert output().parts == ("app", "n.md")


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [([], False), ([Range("a")], True), ([Range("a", end="b")], False), ([Range("a", end="b"), Range("c")], True)],
)
def test_an_output_is_open_while_its_last_range_has_no_end(ranges, expected):
    """An output is open while its last range has no end; one that was never recorded to is closed."""
    assert output(*ranges).open is expected


def test_the_transcripts_of_a_session_are_its_recordings_the_latest_at_the_end():
    """A copy is one only if nothing was recorded; a recording that was resumed is the latest."""
    first, second = output(Range("a", end="b", id=1), Range("e", id=4)), output(Range("c", end="d", id=2))
    kept, exported = output(Range("", marked=False, end="c", id=3)), output(Range("", marked=False, end="f", id=5))
    assert transcripts([first, second, kept, exported]) == [second, first]
    assert transcripts([exported, kept]) == [kept, exported]
    assert sorted([first, kept, second], key=lambda row: row.rank) == [kept, second, first]
    assert transcripts([output()]) == [output()]


def test_a_copy_that_is_recorded_to_is_a_recording():
    """An export with which a recording went on is where the newest words are."""
    begun, exported = output(Range("a", end="b", id=1)), Range("", marked=False, end="c", id=2)
    assert output(exported).is_copy
    assert transcripts([begun, output(exported, Range("d", id=3))])[-1] == output(exported, Range("d", id=3))


def test_a_source_counts_up_to_its_cursor_while_the_output_is_open():
    """An open output is limited by the source's cursor; for one that ended, its ranges are the limit."""
    assert output(Range("a")).limit(SOURCE) == 70
    assert output(Range("a", end="b")).limit(SOURCE) is None


def test_an_output_with_its_own_stream_has_reached_less():
    """It has reached the position of its own stream; a source that the stream has not begun counts as 0."""
    assert output(Range("a")).reached(SOURCE) == 70
    assert output(Range("a"), behind={}).reached(SOURCE) == 70
    assert output(Range("a"), behind={"offsets": {"3": 40}}).reached(SOURCE) == 40
    assert output(Range("a", end="b"), behind={"offsets": {"2": 40}}).reached(SOURCE) == 0
