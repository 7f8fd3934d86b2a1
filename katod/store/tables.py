"""The ledger's tables. A column is defined once, as a field of a row class; its SQL is generated from that.

Integers, strings, booleans, bytes and paths are stored unchanged, everything else as JSON.
"""

import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import orjson

from katod.errors import LedgerDamaged, LedgerError
from katod.model import Range
from katod.store.integrity import STRANGE
from katod.store.rows import (
    AppliedRow,
    DeliveryRow,
    DestinationRow,
    EditKeyRow,
    EditRow,
    MarkerRow,
    NearMissRow,
    OutputRow,
    PersonalRow,
    PositionRow,
    ProjectRow,
    RefusalRow,
    RootRow,
    RunningDeliveryRow,
    SampleRow,
    SeenRow,
    SentRow,
    SessionRow,
    SourceRow,
    TombstoneRow,
    UploadRow,
    WorktreeRow,
)

R = TypeVar("R")
Codec = Callable[[Any], Any]
_PLAIN: Final[dict[Any, str]] = {int: "INTEGER", str: "TEXT", bool: "INTEGER", bytes: "BLOB", Path: "TEXT"}
_KINDS: Final[dict[str, type]] = {"INTEGER": int, "TEXT": str, "BLOB": bytes}


class Column(NamedTuple):
    """One column: its SQL definition, and the codec for values that are not stored unchanged.

    `kinds` are the types that katod writes to it: SQLite keeps text in a column of numbers, too.
    """

    name: str
    field: str
    sql: str
    kinds: frozenset[type]
    encode: Codec | None
    decode: Codec | None


class Table(Generic[R]):
    """One table, with the fields of `row` as columns, but one; `key` is a primary key of several columns.

    `fixed` columns keep what a row was inserted with: an update leaves them out, so no code may replace them in a row.

    `called` is what a column is called in ledgers, if not like its field.
    """

    def __init__(
        self, name: str, row: type[R], *, key: str = "", index: str = "", fixed: Iterable[str] = (), without: str = "",
        called: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        hints = get_type_hints(row, include_extras=True)
        self._row = row
        self._columns = [
            _column(called.get(field, field), field, hint) for field, hint in hints.items() if field != without
        ]
        self._decoders = [(n, column.decode) for n, column in enumerate(self._columns) if column.decode is not None]
        self._types: set[tuple[type, ...]] = set()  # those of rows that were read
        self._changing = [column for column in self._columns if column.name not in {"id", *fixed}]
        self.create = _create(name, self._columns, key, index)
        names = ", ".join(f'"{column.name}"' for column in self._columns)
        self.select = f"SELECT {names} FROM {name}"
        self.insert = f"INSERT INTO {name} ({names}) VALUES ({', '.join('?' * len(self._columns))})"
        changes = ", ".join(f'"{column.name}"=?' for column in self._changing)
        self.update = f"UPDATE {name} SET {changes} WHERE id=?"

    def read(self, values: tuple[Any, ...]) -> R:
        """Return the row for a result of `select`.

        Raises LedgerDamaged if katod did not write it, LedgerError if a newer katod did.
        """
        kinds = tuple(map(type, values))
        if kinds not in self._types:
            if len(kinds) != len(self._columns) or any(map(_is_strange, self._columns, kinds)):
                raise LedgerDamaged(STRANGE)
            self._types.add(kinds)
        try:
            row = list(values)
            for number, decode in self._decoders:
                row[number] = decode(row[number])
            return self._row(*row)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise LedgerDamaged(STRANGE) from error

    def values(self, row: R) -> list[Any]:
        """Return the values for `insert`; an id of 0 means the next free one."""
        values = _encoded(row, self._columns)
        return [
            None if column.name == "id" and not value else value
            for column, value in zip(self._columns, values, strict=True)
        ]

    def changes(self, row: Any) -> list[Any]:
        """Return the values for `update`."""
        return [*_encoded(row, self._changing), row.id]


def _is_strange(column: Column, kind: type) -> bool:
    """Return whether katod writes no value of this type to a column."""
    return kind not in column.kinds


def _create(name: str, columns: list[Column], key: str, index: str) -> str:
    definitions = [f'"{column.name}" {column.sql}' for column in columns]
    definitions += [f"PRIMARY KEY ({key})"] if key else []
    rowid = any(column.name == "id" and "PRIMARY KEY" in column.sql for column in columns)
    table = f"CREATE TABLE {name} ({', '.join(definitions)}){'' if rowid else ' WITHOUT ROWID'};"
    return table + (f"CREATE INDEX {name}_by_{index} ON {name} ({index});" if index else "")


def _encoded(row: object, columns: list[Column]) -> list[Any]:
    values = [getattr(row, column.field) for column in columns]
    for number, column in enumerate(columns):
        if column.encode is not None and values[number] is not None:
            values[number] = column.encode(values[number])
    return values


def _column(name: str, field: str, hint: Any) -> Column:
    constraint = ""
    if get_origin(hint) is Annotated:
        hint, constraint = get_args(hint)
    optional = get_origin(hint) is types.UnionType and types.NoneType in get_args(hint)
    if optional:
        hint = next(part for part in get_args(hint) if part is not types.NoneType)
    if get_origin(hint) is Literal:
        hint = str
    stored = _PLAIN.get(hint, "TEXT")
    kinds = frozenset({_KINDS[stored], types.NoneType} if optional else {_KINDS[stored]})
    sql = " ".join(filter(None, (stored, "" if optional else "NOT NULL", constraint)))
    if constraint.startswith("PRIMARY KEY") and hint is int:
        sql = f"INTEGER {constraint}"
    return Column(name, field, sql, kinds, *_codec(hint))


def _codec(hint: Any) -> tuple[Codec | None, Codec | None]:
    """Return how values of a type are written and read; None and None if they are stored unchanged."""
    if hint is Path:
        return str, _path
    if hint is bool:
        return None, bool
    if hint in _PLAIN:
        return None, None
    build = _builder(hint)
    return encode_json, lambda text: None if text is None else build(orjson.loads(text))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _same(value: Any) -> Any:
    return value


def encode_json(value: Any) -> str:
    """Return a value as JSON; named tuples become arrays."""
    return orjson.dumps(value, default=list).decode()


def _builder(hint: Any) -> Codec:
    """Return a function that builds such a value from JSON; it raises LedgerError for fields of a newer katod."""
    if get_origin(hint) is tuple:
        build = _builder(get_args(hint)[0])
        return tuple if build is _same else lambda value: tuple(build(item) for item in value)
    if not isinstance(hint, type):
        return _same
    if is_dataclass(hint):
        return partial(_build_dataclass, hint, frozenset(field.name for field in fields(hint)))
    return _tuple_builder(hint) if issubclass(hint, tuple) else _same


def _tuple_builder(hint: type) -> Codec:
    builders = [_builder(kind) for kind in get_type_hints(hint).values()]
    if all(build is _same for build in builders):
        return lambda value: hint(*value)
    return lambda value: hint(*(build(item) for build, item in zip(builders, value, strict=True)))


def _build_dataclass(cls: type, names: frozenset[str], value: dict[str, Any]) -> Any:
    if value.keys() - names:
        raise LedgerError("contains options from a newer version of katod", hint="upgrade katod")
    return cls(**value)


SESSIONS: Final = Table("sessions", SessionRow, fixed=("key",))
SOURCES: Final = Table("sources", SourceRow, index="session", fixed=("session", "identity", "history", "since_ns"))
OUTPUTS: Final = Table("outputs", OutputRow, index="session", fixed=("session", "format", "options"), without="ranges")
RANGES: Final = Table("ranges", Range, index="output")
REFUSALS: Final = Table("refusals", RefusalRow)
NEAR_MISSES: Final = Table("near_misses", NearMissRow)
SAMPLES: Final = Table("samples", SampleRow, key="agent, version")
ROOTS: Final = Table("roots", RootRow)
SEEN: Final = Table("seen", SeenRow, key="session, id, seq")
APPLIED: Final = Table("applied", AppliedRow)
PROJECTS: Final = Table("projects", ProjectRow)
WORKTREES: Final = Table("worktrees", WorktreeRow)
MARKERS: Final = Table("markers", MarkerRow)
PERSONAL: Final = Table("personal", PersonalRow)
TOMBSTONES: Final = Table("tombstones", TombstoneRow)
_ROOM: Final = {"destination": "room"}  # what it is called in ledgers from the time when there were only rooms
# A range is looked for by its destination while it is not done.
DELIVERIES: Final = Table("deliveries", DeliveryRow, key="room, done, output, number", called=_ROOM)
SENT: Final = Table("sent", SentRow, key="session, room, txn", called=_ROOM)
UPLOADS: Final = Table("uploads", UploadRow, key="homeserver, sha256, session")
DESTINATIONS: Final = Table("rooms", DestinationRow, called=_ROOM)
POSITIONS: Final = Table("positions", PositionRow, key="output, room", called=_ROOM)
RUNNING_DELIVERIES: Final = Table("running_deliveries", RunningDeliveryRow)
EDITS: Final = Table("edits", EditRow, key="session, event, number", index="file")
EDIT_KEYS: Final = Table("edit_keys", EditKeyRow)

_FIRST: Final = (SESSIONS, SOURCES, OUTPUTS, RANGES, REFUSALS, NEAR_MISSES, SAMPLES, ROOTS, SEEN, APPLIED, PROJECTS)
# Tables that a ledger of this version may lack, because they were added to it later.
_LATER: Final = (
    WORKTREES, MARKERS, TOMBSTONES, PERSONAL, DELIVERIES, SENT, UPLOADS, DESTINATIONS, POSITIONS, RUNNING_DELIVERIES,
    EDITS, EDIT_KEYS,
)  # fmt: skip
ADDED: Final = re.sub("CREATE (TABLE|INDEX)", r"CREATE \1 IF NOT EXISTS", "".join(table.create for table in _LATER))
SCHEMA: Final = "".join([*(table.create for table in _FIRST), ADDED])
