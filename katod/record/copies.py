"""Copied history: a fork, which an agent begins in a new file, repeats old records with their ids."""

import os
from datetime import datetime
from typing import Final

from katod.agents import AGENTS
from katod.errors import SourceError
from katod.events import Event
from katod.record.catalog import Catalog
from katod.record.rows import SourceRow

_NS: Final = 1_000_000_000
# Agents write a command a little after it was typed.
_LATE_NS: Final = 60 * _NS


def is_copy(event: Event, source: SourceRow, catalog: Catalog) -> bool:
    """Say whether a command was typed well before there was its file, and stands in the history of one beside it.

    Files are only searched for a command that is so old; no clock decides alone.
    """
    native = event.source.get("providerEventId", "")
    if not native or typed_ns(event, source.since_ns) >= source.since_ns - _LATE_NS:
        return False
    folder = os.path.dirname(source.path)
    beside = (row for row in catalog.sources.values() if os.path.dirname(row.path) == folder and row.history)
    return any(_holds(row, native.encode("utf-8", "replace")) for row in beside if row is not source)


def typed_ns(event: Event, unknown: int) -> int:
    """Return when an event was typed, in nanoseconds; `unknown` where it does not say."""
    try:
        return int(datetime.fromisoformat(event.time).timestamp() * _NS)
    except (OSError, OverflowError, ValueError):
        return unknown


def _holds(row: SourceRow, needle: bytes) -> bool:
    """Say whether the history of a source holds some bytes."""
    try:
        with AGENTS[row.identity.key.agent].open(row.path) as file:
            return file.find(needle, row.history)
    except SourceError:
        return False
