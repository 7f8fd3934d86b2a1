"""The edits that the ledger knows."""

import pytest

from katod.store.edits import RecordedEdits
from katod.store.ledger import Ledger
from katod.store.rows import EditRow
from katod.store.tables import SCHEMA
from tests.support.parts import MemoryDatabase


@pytest.fixture
def ledger():
    return Ledger(MemoryDatabase(SCHEMA))


def row(session=1, event=1, file=7, **fields):
    values = {
        "number": 0,
        "done": False,
        "call": f"c{event}",
        "prompt": "",
        "answer": "",
        "time": f"t{event}",
        "model": "",
        "places": b"",
        "changes": b"",
    }
    return EditRow(session=session, event=event, file=file, **values | fields)


def calls(edits, *files):
    return [found.call for found in edits.of(files)]


def test_an_edit_counts_once_its_result_is_there(ledger):
    """One that failed does not."""
    ledger.edits.add([row(event=1), row(event=2), row(event=3)])
    ledger.edits.end(1, 1, went_well=True)
    ledger.edits.end(1, 2, went_well=False)
    assert calls(ledger.edits, 7) == ["c1"]
    ledger.edits.end(1, 2, went_well=True)
    assert calls(ledger.edits, 7) == ["c1"]


def test_an_edit_is_kept_once(ledger):
    """Two recordings of a session have it; a session that is read again has it, too."""
    ledger.edits.add([row()])
    ledger.edits.end(1, 1, went_well=True)
    ledger.edits.add([row()])
    assert calls(ledger.edits, 7, 8) == ["c1"]
    assert calls(ledger.edits, 8) == []
    assert calls(ledger.edits) == []


def test_hashes_have_a_key_of_the_ledger(ledger):
    """It stays the same, and says nothing outside of it."""
    ledger.edits.add([row()])
    again = RecordedEdits(ledger.db)
    assert again.hashes.number("a line") == ledger.edits.hashes.number("a line")
    assert again.hashes.number("a line") != RecordedEdits(MemoryDatabase()).hashes.number("a line")


def test_a_ledger_of_an_older_version_has_none():
    """It can be read, but not changed."""
    assert calls(RecordedEdits(MemoryDatabase()), 7) == []
