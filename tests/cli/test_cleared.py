"""What was cleared from the status."""

import os

from katod.cli.cleared import NAME, ClearedRows

ONE, TWO = {"session": "a", "reason": "x"}, {"session": "b", "reason": "y"}


def test_what_was_cleared_is_hidden(tmp_path):
    """Only these rows, for every later reader; and what is cleared later takes their place."""
    ClearedRows(tmp_path).clear([ONE])
    assert ClearedRows(tmp_path).unseen([ONE, TWO]) == [TWO]
    ClearedRows(tmp_path).clear([TWO])
    assert ClearedRows(tmp_path).unseen([ONE, TWO]) == [ONE]


def test_a_file_that_katod_did_not_write_hides_nothing(tmp_path):
    """A FIFO, another type of JSON, or no JSON at all: the rows are shown."""
    path = tmp_path / NAME
    for content in (b"{", b"1", b'{"a": 1}', b"[1, {}]"):
        path.write_bytes(content)
        assert ClearedRows(tmp_path).unseen([ONE]) == [ONE]
    path.unlink()
    os.mkfifo(path)
    assert ClearedRows(tmp_path).unseen([ONE]) == [ONE]


def test_the_file_tells_nothing(tmp_path):
    """It holds hashes, and only its owner can read it."""
    ClearedRows(tmp_path).clear([ONE])
    assert b"session" not in (tmp_path / NAME).read_bytes()
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
