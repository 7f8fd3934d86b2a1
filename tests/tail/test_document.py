"""A session that is one JSON document is read as one line, once it is complete."""

import json

import pytest

from katod.errors import SourceChanged, SourceError
from katod.model import Cursor
from katod.tail import reader
from katod.tail.decode import decode
from katod.tail.reader import open_source


@pytest.fixture
def path(tmp_path):
    """Return the path of the document."""
    return tmp_path / "session.json"


def read(path, cursor=None):
    """Return what one step reads after a cursor, which must match the document."""
    with open_source(str(path)) as file:
        file.verify_anchor(cursor or Cursor())
        return file.read(cursor or Cursor(), 1)


def test_a_document_is_one_line(path):
    """Neither its length, nor its line breaks, nor the budget of a step split a document."""
    content = json.dumps({"messages": ["hello\n"] * 100}, indent=2)
    path.write_text(content)
    batch = read(path)
    assert [line.data for line in batch.lines] == [content.encode()]
    assert batch.cursor.offset == len(content)
    assert not batch.more


def test_what_was_read_is_not_read_again(path):
    """An unchanged document gives no lines."""
    path.write_text('{"a": 1}')
    assert list(read(path, read(path).cursor).lines) == []


@pytest.mark.parametrize("content", ['{"a": 2}', '{"a": 1, "b": 2}', "{}"], ids=["as long", "longer", "shorter"])
def test_a_document_that_changed_is_a_rewritten_one(path, content):
    """A changed document is recognised even if its length is the same, and is read again from the start."""
    path.write_text('{"a": 1}')
    cursor = read(path).cursor
    path.write_text(content)
    with pytest.raises(SourceChanged):
        read(path, cursor)
    assert [line.data for line in read(path).lines] == [content.encode()]


def test_a_half_written_document_waits(path):
    """Nothing is read and the cursor stays, until the document is complete."""
    whole = json.dumps({"messages": ["hello"]}, indent=2)
    for end in range(1, len(whole)):
        path.write_text(whole[:end])
        batch = read(path)
        assert list(batch.lines) == []
        assert batch.cursor == Cursor()
    path.write_text(whole)
    assert len(read(path).lines) == 1


@pytest.mark.parametrize("value", [rb'"half \ud83d"', b'"\xff"', b"NaN"], ids=["half a character", "bytes", "number"])
def test_a_document_is_complete_although_strict_json_knows_no_such_value(path, value):
    """It is read as a line with it would be; what is cut or has something behind it waits."""
    path.write_bytes(b'{"a": %b}' % value)
    [line] = read(path).lines
    assert [record.problem for record in decode(line)] == [""]
    for content in (b'{"a": [%b}' % value, b'{"a": %b}{}' % value, b'{"a": %b, "b": {}' % value):
        path.write_bytes(content)
        assert list(read(path).lines) == []


def test_a_document_that_is_too_large_is_an_error(path, monkeypatch):
    """The error states the size, and the document is not read."""
    monkeypatch.setattr(reader, "LINE_CAP", 10)
    path.write_text('{"a": "longer than that"}')
    with pytest.raises(SourceError, match=r"too large .*25 bytes"):
        read(path)


def test_history_of_a_document_is_all_of_it(path):
    """When it is first seen, old parts cannot be told apart: the baseline is its end, or 0 if it has no history."""
    path.write_text('{"a": 1}')
    with open_source(str(path)) as file:
        assert (file.last_newline(100), file.last_newline(0)) == (8, 0)
        assert file.rest(0) is None
