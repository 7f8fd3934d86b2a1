"""A long story of recordings: what katod logs, writes and knows after each step, as it is in a golden file."""

from collections.abc import Callable
from typing import Any

import pytest

from katod.store.ledger import Ledger
from katod.store.tables import OUTPUTS, SESSIONS, SOURCES, Table
from tests.record.story import GOLDEN, text

# All that stores a row again. Only these tables have columns that this leaves out.
SAVING = {"save_session": SESSIONS, "save_source": SOURCES, "save_output": OUTPUTS, "rename_output": OUTPUTS}


def comparing(save: Callable[[Ledger, Any], Any], table: Table[Any], lost: set[str]) -> Callable[[Ledger, Any], Any]:
    """Return what saves a row, and notes each column of which the ledger has something else then."""

    def saving(ledger: Ledger, row: Any) -> Any:
        answer = save(ledger, row)
        [kept] = ledger.db.execute(f"{table.select} WHERE id = ?", (row.id,))
        columns = zip(table._columns, table.values(row), kept, strict=True)
        lost.update(f"{column.name}: {was} became {now}" for column, was, now in columns if was != now)
        if save.__name__ == "save_output" and ledger._ranges_of(answer) != answer.ranges:
            lost.add(f"ranges: {answer.ranges}")
        return answer

    return saving


@pytest.mark.breaks
def test_recordings_go_as_in_the_golden_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands, files that a person changes, sources that an agent changes, settings, and sessions beside others.

    Each row that is stored again is what the ledger has, in all of its columns: no code replaces one that an update
    leaves out, which would hold until katod is started again, and no longer.
    """
    lost: set[str] = set()
    for name, table in SAVING.items():
        monkeypatch.setattr(Ledger, name, comparing(getattr(Ledger, name), table, lost))
    now, was = text().splitlines(), GOLDEN.read_bytes().splitlines()
    assert lost == set()
    wrong = [f"{old[:2000]!r} became {new[:2000]!r}" for new, old in zip(now, was, strict=True) if new != old]
    assert wrong == [], "if meant: python -m tests.golden.update"
