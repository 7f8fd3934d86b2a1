"""The ledger's tables: every value that a row class allows is stored and read back unchanged."""

import sqlite3
import types
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.errors import LedgerDamaged, LedgerError
from katod.model import Identity, Options, Range, SessionKey, Stat
from katod.store import tables
from katod.store.rows import OutputRow, RefusalRow, SessionRow, SourceRow
from katod.store.tables import OUTPUTS, RANGES, SCHEMA, SESSIONS, SOURCES
from tests.examples import examples
from tests.looping import each
from tests.support.parts import MemoryDatabase

TABLES = [table for table in vars(tables).values() if isinstance(table, tables.Table)]
KEY = SessionKey("claude", "s")
SESSION = SessionRow(1, KEY)
SOURCE = SourceRow(1, 1, "/s.jsonl", Identity(KEY), Stat(0, 0, 0, 0))
OUTPUT = OutputRow(1, 1, Path("/out"), Path("/out/a/n.md"), "markdown", 1, Options(), {})

TEXT = st.text("a7é😀\0\n'\"\\", max_size=3)
NUMBER = st.integers(-(2**63), 2**63 - 1)
JSON = st.one_of(st.none(), st.booleans(), NUMBER, TEXT, st.lists(TEXT, max_size=2), st.just({"a": [{}]}))
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    int: NUMBER, str: TEXT, bool: st.booleans(), bytes: st.binary(max_size=4), Path: TEXT.map(Path), Any: JSON,
}  # fmt: skip


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a type, as used in the row classes."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return values_of(arguments[0])
    if origin in {types.UnionType, Union}:
        return st.one_of([st.none() if part is types.NoneType else values_of(part) for part in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=2)
    if origin is list:
        return st.lists(values_of(arguments[0]), max_size=2)
    if origin is tuple:
        several = arguments[-1] is Ellipsis
        items = [values_of(part) for part in arguments if part is not Ellipsis]
        return st.lists(items[0], max_size=2).map(tuple) if several else st.tuples(*items)
    return SIMPLE[hint] if hint in SIMPLE else rows_of(hint)


@cache
def rows_of(kind: Any, **fixed: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for instances of a class, from the types of its fields; some may have a fixed value."""
    hints = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        hints.pop("ranges", None)  # in a table of their own
    fields = {name: st.just(fixed[name]) if name in fixed else values_of(hint) for name, hint in hints.items()}
    return st.builds(kind, **fields)


def columns(table: tables.Table[Any], row: Any) -> dict[str, Any]:
    return {column.name: getattr(row, column.field) for column in table._columns}


def database(table: tables.Table[Any] | None = None) -> sqlite3.Connection:
    """Return a ledger in memory, or a database with a single table."""
    return MemoryDatabase(table.create if table else SCHEMA)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table._row.__name__)
@examples(3, 500)
@given(st.data())
def test_a_row_comes_back_from_its_table_as_it_was_stored(table, data):
    """Every value that the fields of a row class allow survives a round trip through SQLite."""
    row = data.draw(rows_of(table._row).filter(lambda row: getattr(row, "id", 1)))
    connection = database(table)
    connection.execute(table.insert, table.values(row))
    read = table.read(connection.execute(table.select).fetchone())
    assert columns(table, read) == columns(table, row)
    assert repr(columns(table, read)) == repr(columns(table, row)), "1 is not True"


@pytest.mark.parametrize("table", [SESSIONS, SOURCES, OUTPUTS], ids=lambda table: table._row.__name__)
@examples(3, 500)
@given(st.data())
def test_an_update_leaves_the_fixed_columns(table, data):
    """Fixed columns keep the values that the row was inserted with; every other column is updated."""
    old, new = (data.draw(rows_of(table._row, id=1)) for _ in "ab")
    connection = database(table)
    connection.execute(table.insert, table.values(old))
    connection.execute(table.update, table.changes(new))
    fixed = {SESSIONS: {"key"}, SOURCES: {"session", "identity", "history", "since_ns"}}.get(
        table, {"session", "format", "options"}
    )
    expected = {name: getattr(old if name in fixed else new, name) for name in columns(table, new)}
    assert columns(table, table.read(connection.execute(table.select).fetchone())) == expected


def test_the_id_zero_stands_for_the_next_free_one():
    """A row with the id 0 is not stored yet, and gets the next free id."""
    connection = database()
    for _ in range(2):
        connection.execute(tables.REFUSALS.insert, tables.REFUSALS.values(RefusalRow(0, KEY, "", "", "")))
    assert [row[0] for row in connection.execute("SELECT id FROM refusals")] == [1, 2]


def test_values_that_are_unknown_are_null():
    """An optional field without a value is NULL, not the JSON `null`."""
    for table, row, names in (
        (SESSIONS, SESSION, ["metadata", "output"]),
        (SOURCES, SOURCE, ["baseline", "state", "version"]),
        (OUTPUTS, OUTPUT, ["printer", "intent", "behind"]),
    ):
        found = stored(table, row)
        assert [found[name] for name in names] == [None] * len(names)


def stored(table: tables.Table[Any], row: Any) -> dict[str, Any]:
    """Return the values that SQLite returns for a row, by column."""
    connection = database(table)
    connection.execute(table.insert, table.values(row))
    return dict(zip(columns(table, row), connection.execute(table.select).fetchone(), strict=True))


def with_(table: tables.Table[Any], row: Any, **values: Any) -> tuple[Any, ...]:
    """Return the stored values of a row, with other values in some columns."""
    return tuple((stored(table, row) | values).values())


@each(
    ("table", "values"),
    [
        (SESSIONS, with_(SESSIONS, SESSION, key="not JSON")),
        (SESSIONS, with_(SESSIONS, SESSION, key='["claude","s","","too long"]')),
        (SESSIONS, with_(SESSIONS, SESSION, key=7)),
        (SESSIONS, with_(SESSIONS, SESSION)[:-1]),
        (SESSIONS, with_(SESSIONS, SESSION, seq="many")),
        (SESSIONS, with_(SESSIONS, SESSION, cwd=b"/app")),
        (SESSIONS, with_(SESSIONS, SESSION, output=1.5)),
        (SOURCES, with_(SOURCES, SOURCE, cursor=None)),
        (SOURCES, with_(SOURCES, SOURCE, gone="no")),
        (SOURCES, with_(SOURCES, SOURCE, identity="[]")),
        (SOURCES, with_(SOURCES, SOURCE, seen="[1,2]")),
        (SOURCES, with_(SOURCES, SOURCE, cursor="{}")),
        (SOURCES, with_(SOURCES, SOURCE, cursor='[0,["too","long",1]]')),
        (OUTPUTS, with_(OUTPUTS, OUTPUT, options="[]")),
        (OUTPUTS, with_(OUTPUTS, OUTPUT, path=b"bytes")),
        (OUTPUTS, with_(OUTPUTS, OUTPUT, intent="text")),
        (tables.ROOTS, ("/r", "claude", "yesterday")),
        (RANGES, with_(RANGES, Range("", id=1), switches="7")),
    ],
)
def test_what_katod_did_not_write_is_damage(table, values):
    """A value of an invalid shape raises `LedgerDamaged`, and is not part of the message."""
    with pytest.raises(LedgerDamaged, match="data that katod did not write"):
        table.read(values)


def test_options_of_a_newer_katod_are_named_as_such():
    """An unknown option is not damage: the ledger must not be quarantined for it."""
    with pytest.raises(LedgerError, match="options from a newer version of katod") as raised:
        OUTPUTS.read(with_(OUTPUTS, OUTPUT, options='{"not_yet_known":true}'))
    assert not isinstance(raised.value, LedgerDamaged)
    assert raised.value.hint == "upgrade katod"


def test_options_of_an_older_katod_get_the_defaults():
    """An option that was added since has its default in an older recording."""
    assert OUTPUTS.read(with_(OUTPUTS, OUTPUT, options='{"thinking":true}')).options == Options(thinking=True)


def test_the_schema_holds_every_table():
    """SQLite has one table for each, with the columns of its row class in order."""
    connection = database()
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [row[0] for row in connection.execute(query)]
    assert len(names) == len(TABLES)
    found = [[row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names]
    assert sorted(found) == sorted([column.name for column in table._columns] for table in TABLES)


@each(
    ("column", "null", "unique"),
    [("key", False, True), ("metadata", True, False), ("output", True, False), ("auto", False, False)],
)
def test_a_field_makes_its_columns_constraints(column, null, unique):
    """A column is nullable if its field is optional, and unique if the field is annotated so."""
    connection = database()
    found = {row[1]: not row[3] for row in connection.execute("PRAGMA table_info(sessions)")}
    indexes = [row[1] for row in connection.execute("PRAGMA index_list(sessions)") if row[2]]
    keys = [row[2] for name in indexes for row in connection.execute(f"PRAGMA index_info({name})")]
    assert (found[column], column in keys) == (null, unique)
