"""The ledger's columns and how they become rows."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from katod.errors import LedgerDamaged, LedgerError
from katod.model import Anchor, Identity, Options, Range, SessionKey, Stat
from katod.record.health import STRANGE
from katod.record.rows import OutputRow, SessionRow, SourceRow
from katod.tail.reader import Cursor

_OPTIONS: Final = frozenset(field.name for field in fields(Options))
Row = tuple[Any, ...]
T = TypeVar("T")

SESSION: Final = "id, agent, session, subagent, cwd, facts, seq, output, auto, near_misses"
SOURCE: Final = (
    "sources.id, sources.session, path, rollout, size, mtime_ns, dev, ino, history, baseline, offset, anchor_size,"
    " anchor, translated, version, read_ns, after_ns, gone, problem, since_ns"
)
KEYED: Final = "agent, sessions.session, subagent FROM sources JOIN sessions ON sessions.id = sources.session"
OUTPUT: Final = (
    "id, session, root, parts, format, version, options, head, recorder, made, dev, ino, committed, tail, intent,"
    " bounds, behind, problem, attempts, redactions"
)
RANGE: Final = "start, inclusive, marked, mark_at, start_time, finish, finish_time, finish_mark, switches, id"


def _legible(make: Callable[[Row], T]) -> Callable[[Row], T]:
    """Have what cannot be decoded tell that the ledger is damaged."""

    @wraps(make)
    def made(row: Row) -> T:
        try:
            return make(row)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise LedgerDamaged(STRANGE) from error

    return made


@_legible
def to_session(row: Row) -> SessionRow:
    """Return the session that a row of `SESSION` columns holds."""
    key = SessionKey(row[1], row[2], row[3])
    return SessionRow(row[0], key, row[4], orjson.loads(row[5]) if row[5] else None, *row[6:])


@_legible
def to_source(row: Row) -> SourceRow:
    """Return the source that a row of `SOURCE` columns, its state and its key holds."""
    (
        source_id, session, path, rollout, size, mtime_ns, dev, ino, history, baseline, offset, anchor_size, anchor,
        translated, version, read_ns, after_ns, gone, problem, since_ns, state, *key,
    ) = row  # fmt: skip
    return SourceRow(
        source_id, session, path, Identity(SessionKey(*key), rollout), Stat(size, mtime_ns, dev, ino), history,
        baseline, Cursor(offset, Anchor(anchor_size, anchor)), translated,
        orjson.loads(state) if state else None, version, read_ns, after_ns, bool(gone), problem, since_ns,
    )  # fmt: skip


def _options(row: dict[str, Any]) -> Options:
    if row.keys() - _OPTIONS:
        raise LedgerError("holds options of a newer katod", hint="upgrade katod")
    return Options(**row)


@_legible
def to_output(row: Row) -> OutputRow:
    """Return the output that a row of `OUTPUT` columns holds; its ranges are read apart."""
    return OutputRow(
        row[0], row[1], Path(row[2]), tuple(orjson.loads(row[3])), row[4], row[5],
        _options(orjson.loads(row[6])), orjson.loads(row[7]), [], orjson.loads(row[8]) if row[8] else None,
        bool(row[9]), row[10], row[11], row[12], row[13], row[14],
        orjson.loads(row[15]) if row[15] else [], orjson.loads(row[16]) if row[16] else None, *row[17:],
    )  # fmt: skip


@_legible
def to_range(row: Row) -> Range:
    """Return the range that a row of `RANGE` columns holds."""
    switches = tuple((name, on) for name, on in orjson.loads(row[8]))
    return Range(row[0], bool(row[1]), bool(row[2]), row[3], row[4], row[5], row[6], row[7], switches, row[9])
