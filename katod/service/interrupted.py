"""The recordings that ended because the state directory was removed under a running katod.

No other place can tell: the ledger is gone, and a transcript without its end looks like any other. So katod, which
still has the old ledger open, leaves a note where the next one keeps its state, and creates that directory if there is
none. It has numbers of recordings, ids of sessions and paths of outputs, and nothing that was said. `katod run` does
not take it up: everything is history to the new ledger, and a service is restarted before a person has looked. The note
stays until `katod status --clear`; `katod status` leaves out what is recorded again, `katod forget` what is forgotten.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from katod import durable
from katod.model import SessionKey
from katod.smallfile import read_small, write_small

NAME: Final = "interrupted.json"
_LARGEST: Final = 1024 * 1024
_MOST: Final = 500  # recordings; the oldest are left out


class Interrupted(NamedTuple):
    """A recording that ended like this: when katod noticed, its number, session and file (empty: not named yet)."""

    time: str
    id: int
    session: str
    output: str


def leave(state: Path, ended: Iterable[Interrupted]) -> None:
    """Add recordings to the note; nothing else in the directory is touched. Raises OSError."""
    rows = [*read(state), *ended][-_MOST:]
    if rows:
        durable.make_own_folder(state)
        _write(state, rows)


def read(state: Path) -> list[Interrupted]:
    """Return what the note has, nothing if there is none, or if it is not katod's."""
    try:
        return [*_rows(orjson.loads(read_small(state / NAME, _LARGEST, own=True)))]
    except (OSError, ValueError):
        return []


def clear(state: Path) -> None:
    """Remove the note. Raises OSError."""
    durable.remove(state / NAME, missing_ok=True)


def forget(state: Path, keys: Iterable[SessionKey]) -> None:
    """Take sessions out of the note. Raises OSError."""
    rows, names = read(state), {str(key) for key in keys}
    left = [row for row in rows if row.session not in names]
    if not left:
        clear(state)
    elif len(left) < len(rows):
        _write(state, left)


def _write(state: Path, rows: Collection[Interrupted]) -> None:
    write_small(state / NAME, orjson.dumps([row._asdict() for row in rows]))


def _rows(found: Any) -> Iterator[Interrupted]:
    """Yield the rows of a note. Raises ValueError if it is none."""
    types = Interrupted.__annotations__
    for row in found if isinstance(found, list) else ():
        if not isinstance(row, dict) or {name: type(value) for name, value in row.items()} != types:
            raise ValueError("not a note of katod's")
        yield Interrupted(**row)
