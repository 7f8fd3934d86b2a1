"""What the person says of sessions, in the ledger."""

import pytest

from katod.errors import LedgerDamaged
from katod.model import SessionKey
from katod.store.collections import Personal
from katod.store.rows import PersonalRow
from tests.support.parts import memory_ledger

KEY = SessionKey("claude", "6f1c")
PART = SessionKey("claude", "6f1c", "a")
ROW = PersonalRow(KEY, "The login page", starred=True, labels=("auth", "urgent"))


@pytest.fixture
def personal() -> Personal:
    return memory_ledger().personal


def test_a_session_has_what_was_said_last(personal: Personal) -> None:
    """Of a session of which nothing is said, the row is empty, and none is stored."""
    assert (personal.of(KEY), personal.all()) == (PersonalRow(KEY), {})
    personal.save(PersonalRow(KEY, "Old"))
    personal.save(ROW)
    assert (personal.of(KEY), personal.all()) == (ROW, {KEY: ROW})
    personal.save(PersonalRow(KEY))
    assert personal.all() == {}


def test_a_session_is_forgotten_with_its_sub_agents(personal: Personal) -> None:
    """And no other one is; a sub-agent alone can be, too."""
    other = ROW._replace(session=SessionKey("codex", "6f1c"))
    for row in (ROW, ROW._replace(session=PART), other):
        personal.save(row)
    personal.forget([PART])
    assert personal.all().keys() == {KEY, other.session}
    personal.save(ROW._replace(session=PART))
    personal.forget([KEY])
    assert personal.all() == {other.session: other}


def test_a_row_that_katod_did_not_write_is_damage() -> None:
    """As in every other table."""
    ledger = memory_ledger()
    ledger.db.execute("INSERT INTO personal VALUES ('[1]', 'x', 0, '[]')")
    with pytest.raises(LedgerDamaged):
        ledger.personal.all()


@pytest.mark.parametrize(
    ("wanted", "has"), [((), True), (("auth",), True), (("urgent", "auth"), True), (("auth", "x"), False)]
)
def test_a_session_has_labels_only_if_it_has_all(wanted: tuple[str, ...], has: bool) -> None:
    """No label is one that every session has."""
    assert ROW.has_labels(wanted) is has
