"""Framing: bytes to lines, by newlines only, with byte offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.model import Line
from katod.tail.decode import frame, strip_record
from tests.looping import each

BOM = b"\xef\xbb\xbf"
BYTES = st.lists(st.sampled_from([b"\n", b"\r", b"\0", b" ", b"{", b'"a"', b"}", BOM, b"\xe2\x80\xa8"])).map(b"".join)


def test_complete_lines_come_with_their_offsets():
    """Each line has the offset where it begins and the offset after its newline."""
    assert frame(b'{"a":1}\n{"b":2}\n', 0) == [Line(0, 8, b'{"a":1}'), Line(8, 16, b'{"b":2}')]


def test_offsets_count_from_the_base():
    """Offsets are those of the file, not of the piece that was read."""
    assert frame(b"{}\n", 1000) == [Line(1000, 1003, b"{}")]


def test_offsets_count_bytes_not_characters():
    """A line of many-byte characters is as long as its bytes."""
    text = '{"a":"é漢🙂"}\n'.encode()
    assert frame(text + b"{}\n", 0)[1].offset == len(text)


def test_what_stands_behind_the_last_newline_is_left_out():
    """A line that is still being written is not a line yet."""
    assert frame(b'{"a":1}\n{"b"', 0) == [Line(0, 8, b'{"a":1}')]
    assert frame(b'{"b":2}', 0) == []


def test_crlf_counts_as_a_newline():
    """The carriage return before a newline is not part of the record, but counts for the offsets."""
    assert frame(b"{}\r\n[]\r\n", 0) == [Line(0, 4, b"{}"), Line(4, 8, b"[]")]


@each("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_only_a_newline_ends_a_line(separator):
    """Characters that other readers treat as line ends may occur inside records."""
    record = f'{{"text":"one{separator}two"}}'.encode()
    assert [line.data for line in frame(record + b"\n", 0)] == [record]


def test_byte_order_mark_is_dropped_at_the_beginning_of_the_file_only():
    """A byte order mark at offset 0 is not part of the first record; later it is data."""
    assert frame(BOM + b"{}\n", 0) == [Line(0, 6, b"{}")]
    assert frame(BOM + b"{}\n", 10)[0].data == BOM + b"{}"


def test_nul_bytes_before_a_record_are_dropped():
    """A run of NUL bytes that a crash left before a record is not part of it."""
    assert frame(b"\0" * 50 + b"{}\n", 100) == [Line(100, 153, b"{}")]


def test_nul_bytes_inside_a_record_stay():
    """Only a run at the beginning of a line is a hole; inside a record the decoder decides."""
    assert strip_record(b'{"a":\0 1}', 5) == b'{"a":\0 1}'


@pytest.mark.parametrize("blank", [b"", b"\r", b"   ", b"\t", b"\0\0\0"])
def test_blank_line_holds_nothing(blank):
    """A blank line has no data, and the offsets move beyond it."""
    assert frame(blank + b"\n{}\n", 7) == [
        Line(7, 8 + len(blank), b""),
        Line(8 + len(blank), 11 + len(blank), b"{}"),
    ]


@given(BYTES, st.integers(0, 10**12))
def test_lines_follow_each_other_without_gaps(data, base):
    """Every line begins where the previous one ended, and the last one ends after the last newline."""
    lines = frame(data, base)
    ends = [base, *(line.end for line in lines)]
    assert [line.offset for line in lines] == ends[:-1]
    assert ends[-1] == base + data.rfind(b"\n") + 1


@given(BYTES, st.data())
def test_framing_at_any_newline_gives_the_same_lines(data, draw):
    """Reading up to any newline and resuming after it gives the same lines as one read."""
    ends = [0, *(line.end for line in frame(data, 0))]
    cut = draw.draw(st.sampled_from(ends))
    assert frame(data[:cut], 0) + frame(data[cut:], cut) == frame(data, 0)


@given(st.lists(st.binary().map(lambda b: b"{" + b.replace(b"\n", b"").rstrip(b"\r") + b"}")))
def test_records_come_out_as_they_went_in(records):
    """A line that begins like a record is never changed."""
    assert [line.data for line in frame(b"".join(r + b"\n" for r in records), 0)] == records
