"""Refused commands and near misses that the user has seen: `katod status --clear` hides them from then on."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson

from katod.smallfile import read_small, write_small

NAME: Final = "seen.json"
_LARGEST: Final = 64 * 1024


class ClearedRows:
    """The rows that were cleared, each as a hash: the file holds nothing that can be read."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME
        self._hashes: frozenset[str] = frozenset()
        with suppress(OSError, ValueError):
            row = orjson.loads(read_small(self._path, _LARGEST))
            self._hashes = frozenset(filter(lambda name: isinstance(name, str), row if isinstance(row, list) else ()))

    def unseen(self, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the rows that were not cleared."""
        return [row for row in rows if _hash(row) not in self._hashes]

    def clear(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Hide these rows from now on; those cleared before that are no longer among them are forgotten."""
        write_small(self._path, orjson.dumps(sorted(map(_hash, rows))))


def _hash(row: Mapping[str, Any]) -> str:
    return sha256(orjson.dumps(row, option=orjson.OPT_SORT_KEYS)).hexdigest()[:24]
