"""The reader: what is new in a file, verified by anchors, complete lines only."""

import os
import tempfile
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.errors import SourceChanged, SourceError
from katod.model import START, Anchor, Cursor, Line
from katod.tail import reader
from katod.tail.decode import frame
from katod.tail.reader import ANCHOR_SIZE, SourceFile, open_source

BUDGET = 64
RECORD = '{"type":"user","text":"é漢"}\n'.encode()


@contextmanager
def opened(path):
    with open_source(str(path)) as file:
        yield file


def read(path, cursor=START, budget=BUDGET, partial=None):
    with opened(path) as file:
        file.verify_anchor(cursor)
        return file.read(cursor, budget, partial)


def drain(path, cursor=START, budget=BUDGET):
    """Read in steps until nothing is left; return the lines and the last cursor."""
    lines, partial = [], None
    while True:
        batch = read(path, cursor, budget, partial)
        lines += batch.lines
        cursor, partial = batch.cursor, batch.partial
        if not batch.more:
            return lines, cursor


@pytest.fixture
def path(tmp_path):
    return tmp_path / "session.jsonl"


# -- whole lines only ------------------------------------------------------------------------------


def test_new_lines_are_read_from_the_cursor_on(path):
    """A second read gives only what was appended since the first one."""
    path.write_bytes(b"{}\n[]\n")
    first = read(path)
    path.write_bytes(b'{}\n[]\n{"a":1}\n')
    assert first.cursor.offset == 6
    assert read(path, first.cursor).lines == [Line(6, 14, b'{"a":1}')]


def test_nothing_new_moves_nothing(path):
    """Reading at the end of a file gives no lines and the same cursor."""
    path.write_bytes(RECORD)
    cursor = read(path).cursor
    again = read(path, cursor)
    assert (again.lines, again.cursor, again.more, again.partial) == ([], cursor, False, None)


@pytest.mark.fault("incomplete line")
@pytest.mark.parametrize("cut", range(len(RECORD)))
def test_line_split_at_any_byte_waits_for_its_newline(path, cut):
    """A partly written record is not read until its newline is there."""
    path.write_bytes(RECORD + RECORD[:cut])
    batch = read(path)
    assert (batch.lines, batch.cursor.offset) == (frame(RECORD, 0), len(RECORD))
    waiting = read(path, batch.cursor)
    assert (waiting.lines, waiting.cursor, waiting.more) == ([], batch.cursor, False)
    path.write_bytes(RECORD + RECORD)
    done = read(path, waiting.cursor, partial=waiting.partial)
    assert done.lines == frame(RECORD, len(RECORD))


@given(st.lists(st.binary(max_size=20), max_size=12), st.integers(1, 40))
def test_lines_are_the_same_whatever_the_writes_and_the_budget_were(writes, budget):
    """However a file grows, and however little is read at a time, each line is read once and in order."""
    with tempfile.TemporaryFile(buffering=0) as handle:
        lines, cursor, partial = [], START, None
        for data in [*writes, b"\n"]:
            handle.write(data)
            more = True
            while more:
                file = SourceFile(handle.fileno(), "session")
                file.verify_anchor(cursor)
                batch = file.read(cursor, budget, partial)
                lines += batch.lines
                cursor, partial, more = batch.cursor, batch.partial, batch.more
        assert lines == frame(b"".join(writes) + b"\n", 0)


def test_budget_bounds_what_is_read_at_once(path):
    """A step reads about as many bytes as it may, and reports that there is more."""
    path.write_bytes(b"{}\n" * 100)
    batch = read(path, budget=10)
    assert (len(batch.lines), batch.cursor.offset, batch.more) == (3, 9, True)


def test_line_longer_than_the_budget_is_read_whole(path):
    """A step gives at least one line when there is one, however long it is."""
    long = b'{"a":"' + b"x" * 1000 + b'"}'
    path.write_bytes(long + b"\n{}\n")
    batch = read(path, budget=10)
    assert (batch.lines, batch.more) == ([Line(0, len(long) + 1, long)], True)


def test_partial_line_is_not_searched_twice(path, monkeypatch):
    """If a long line grows piece by piece, only the new bytes are searched for its end."""
    monkeypatch.setattr(reader, "CHUNK", 500)
    path.write_bytes(b"x" * 1000)
    partial = read(path).partial
    path.write_bytes(b"x" * 1500)
    with opened(path) as file, mock.patch.object(os, "pread", side_effect=os.pread) as pread:
        assert file.read(START, BUDGET, partial).lines == []
    assert [call.args[2] for call in pread.call_args_list] == [1000]


def test_crlf_and_byte_order_mark_are_not_part_of_records(path):
    """A file from another system is read like any other, with offsets in bytes."""
    path.write_bytes(b"\xef\xbb\xbf{}\r\n[]\r\n")
    assert drain(path)[0] == [Line(0, 7, b"{}"), Line(7, 11, b"[]")]


def test_partial_line_that_was_cut_off_and_written_anew_is_read(path):
    """If its agent replaces a torn last line by a shorter complete one, it is read at once."""
    path.write_bytes(RECORD + b'{"torn":"' + b"x" * 50)
    first = read(path, budget=1000)
    torn = read(path, first.cursor, 1000)
    path.write_bytes(RECORD + b"{}\n")
    assert read(path, torn.cursor, 1000, torn.partial).lines == [Line(len(RECORD), len(RECORD) + 3, b"{}")]


# -- holes -------------------------------------------------------------------------------------------


def test_nul_run_before_a_record_is_passed_over(path):
    """Bytes that a power loss left unwritten before a record do not hide it."""
    path.write_bytes(b"{}\n" + b"\0" * 500 + b"[]\n")
    lines, cursor = drain(path)
    assert [line.data for line in lines if line.data] == [b"{}", b"[]"]
    assert cursor.offset == 506


@pytest.mark.slow
def test_sparse_hole_is_passed_over(path):
    """A hole of many megabytes, left by a copy-and-truncate, is skipped without being kept in memory."""
    with path.open("wb") as handle:
        handle.seek(40 * 1024 * 1024)
        handle.write(b"{}\n[]\n")
    with mock.patch.object(reader, "LINE_CAP", 1024):
        lines, cursor = drain(path, budget=1024)
    assert [line.data for line in lines] == [b"{}", b"[]"]
    assert cursor.offset == 40 * 1024 * 1024 + 6


def test_nul_run_at_the_end_waits(path):
    """NUL bytes after the last newline may still become a record: the cursor stays before them."""
    path.write_bytes(b"{}\n" + b"\0" * 500)
    assert drain(path) == ([Line(0, 3, b"{}")], Cursor(3, Anchor(3, mock.ANY)))


def test_record_written_into_a_preallocated_run_is_read(path):
    """A record that replaces NUL bytes at the end is read, although the file did not grow."""
    path.write_bytes(b"\0" * 100)
    batch = read(path, budget=1000)
    path.write_bytes(b"{}\n" + b"\0" * 97)
    assert read(path, batch.cursor, 1000, batch.partial).lines == [Line(0, 3, b"{}")]


# -- lines that are too long -------------------------------------------------------------------------


@pytest.mark.parametrize("length", [100, 101, 1000])
def test_line_over_the_cap_is_passed_over_and_named(path, length):
    """A line too long to read gives a placeholder with its size, and the lines around it are read."""
    path.write_bytes(b"{}\n" + b"x" * length + b"\n[]\n")
    with mock.patch.object(reader, "LINE_CAP", 100):
        lines, cursor = drain(path, budget=10)
    assert lines == [Line(0, 3, b"{}"), Line(3, length + 4, b"", length + 1), Line(length + 4, length + 7, b"[]")]
    assert cursor.offset == length + 7


def test_line_at_the_cap_is_read(path):
    """A line that is just short enough, including its newline, is read."""
    path.write_bytes(b"x" * 99 + b"\n")
    with mock.patch.object(reader, "LINE_CAP", 100):
        assert drain(path, budget=10)[0] == [Line(0, 100, b"x" * 99)]


def test_endless_line_is_not_held(path):
    """A growing line over the cap is not read into memory; reading resumes after it once it ends."""
    path.write_bytes(b"x" * 5000)
    with mock.patch.object(reader, "LINE_CAP", 100), mock.patch.object(reader, "CHUNK", 50):
        batch = read(path, budget=10)
        assert (batch.lines, batch.cursor.offset, batch.more) == ([], 0, False)
        path.write_bytes(b"x" * 6000 + b"\n{}\n")
        lines, _ = drain(path, budget=10)
    assert lines == [Line(0, 6001, b"", 6001), Line(6001, 6004, b"{}")]


# -- anchors -----------------------------------------------------------------------------------------


def test_grown_file_is_proven(path):
    """Appending changes nothing before the cursor."""
    path.write_bytes(RECORD * 100)
    cursor = drain(path)[1]
    path.write_bytes(RECORD * 101)
    assert [line.data for line in read(path, cursor).lines] == [RECORD.strip()]


def test_truncated_file_is_noticed(path):
    """A file shorter than what was read of it is not the same file."""
    path.write_bytes(RECORD * 10)
    cursor = drain(path)[1]
    path.write_bytes(RECORD * 9)
    with pytest.raises(SourceChanged, match="shorter"):
        read(path, cursor)


def test_file_truncated_and_grown_past_the_cursor_is_noticed(path):
    """Other bytes before the cursor are noticed even if the file is long enough again."""
    path.write_bytes(RECORD * 10)
    cursor = drain(path)[1]
    path.write_bytes(b"{}\n" + RECORD * 20)
    with pytest.raises(SourceChanged, match="rewritten"):
        read(path, cursor)


def test_file_replaced_by_another_one_is_noticed(path):
    """Another file under the same name is noticed by its bytes, whatever its inode."""
    path.write_bytes(RECORD * 10)
    cursor = drain(path)[1]
    other = path.with_name("other")
    other.write_bytes(RECORD.replace(b"user", b"tool") * 10)
    other.rename(path)
    with pytest.raises(SourceChanged):
        read(path, cursor)


def test_file_replaced_by_a_copy_of_itself_is_proven(path):
    """A file restored with the same bytes is read on from the cursor, although its inode differs."""
    path.write_bytes(RECORD * 10)
    cursor = drain(path)[1]
    path.unlink()
    path.write_bytes(RECORD * 11)
    assert len(read(path, cursor).lines) == 1


@given(st.integers(1, 3 * ANCHOR_SIZE), st.data())
def test_any_byte_changed_within_the_anchor_is_noticed(size, draw):
    """One other byte among those that end at the cursor is enough."""
    at = draw.draw(st.integers(max(0, size - ANCHOR_SIZE), size - 1))
    with tempfile.TemporaryFile(buffering=0) as handle:
        handle.write(b"x" * size)
        file = SourceFile(handle.fileno(), "session")
        cursor = Cursor(size, file.anchor(size))
        file.verify_anchor(cursor)
        os.pwrite(handle.fileno(), b"y", at)
        with pytest.raises(SourceChanged):
            file.verify_anchor(cursor)


def test_cursor_of_a_read_is_that_of_the_anchor(path):
    """The cursor of a read matches the bytes of the file, however much was read at once."""
    path.write_bytes(RECORD * 200)
    for budget in (40, 2000, 100_000):
        batch = read(path, budget=budget)
        with opened(path) as file:
            assert batch.cursor.anchor == file.anchor(batch.cursor.offset)


# -- the rest, the last newline, what is no session file -----------------------------------------------


def test_rest_is_the_line_without_its_newline(path):
    """An export reads the unterminated last line, too."""
    path.write_bytes(b'{}\n{"a":1}')
    with opened(path) as file:
        assert file.rest(3) == Line(3, 10, b'{"a":1}')
        assert file.rest(10) is None


def test_rest_over_the_cap_is_none(path):
    """An unterminated line that is too long to read is left out."""
    path.write_bytes(b"x" * 101)
    with mock.patch.object(reader, "LINE_CAP", 100), opened(path) as file:
        assert file.rest(0) is None
        assert file.rest(1) is not None


@given(st.binary(max_size=60).map(lambda b: b.replace(b"\1", b"\n")), st.integers(0, 70), st.integers(1, 9))
def test_last_newline_is_found_in_chunks(data, limit, chunk):
    """The offset after the last newline before a limit is found from the end, whatever the chunk size."""
    with tempfile.TemporaryFile(buffering=0) as handle, mock.patch.object(reader, "CHUNK", chunk):
        handle.write(data)
        assert SourceFile(handle.fileno(), "session").last_newline(limit) == data[:limit].rfind(b"\n") + 1


def test_missing_file_is_a_source_error(tmp_path):
    """A missing file is an error of the source that names it."""
    with pytest.raises(SourceError, match="no longer exists") as caught, opened(tmp_path / "gone.jsonl"):
        pass
    assert str(tmp_path / "gone.jsonl") in str(caught.value)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "directory"])
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path, make):
    """A FIFO or a directory under a session's name is an error, and opening it does not block."""
    make(tmp_path / "odd.jsonl")
    with pytest.raises(SourceError, match="not a regular file"), opened(tmp_path / "odd.jsonl"):
        pass


def test_symbolic_link_is_refused(path, tmp_path):
    """A link is not a session file: it may point anywhere."""
    path.write_bytes(RECORD)
    (tmp_path / "link.jsonl").symlink_to(path)
    with pytest.raises(SourceError), opened(tmp_path / "link.jsonl"):
        pass


def test_descriptor_is_closed_after_a_step(path):
    """No file stays open between steps."""
    path.write_bytes(RECORD)
    with opened(path) as file:
        descriptor = file.fd
    with pytest.raises(OSError):
        os.fstat(descriptor)


@pytest.mark.usefixtures("no_descriptor_is_left")
def test_descriptor_is_closed_when_a_step_fails(path):
    """A step that raises leaves no descriptor behind."""
    path.write_bytes(RECORD)
    cursor = Cursor(1000)
    with pytest.raises(SourceChanged):
        read(path, cursor)
