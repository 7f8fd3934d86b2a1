"""Which commands are history, and ignored: typed before katod saw their file, copied from such a file, or forgotten."""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final

from katod import events as ev
from katod.agents import AGENTS
from katod.command.scan import find_command
from katod.discover.catalog import Catalog
from katod.discover.roots import stat_source
from katod.discover.source import Source
from katod.errors import SourceError, SourceGone
from katod.events import Event
from katod.exchanges import Exchanges
from katod.log import EventLog
from katod.model import START, Cursor, NearMiss, Stat
from katod.record.stream import NoDedup, SessionStream
from katod.store.collections import ForgottenSource
from katod.store.ledger import Ledger
from katod.tail.reader import Batch, SourceFile

_NS: Final = 1_000_000_000
# Agents write a command a little later than it was typed.
_LATE_NS: Final = 60 * _NS
_CHUNK: Final = 4 * 1024 * 1024
_BEGINNING: Final = 400  # lines
_SAID: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND})
_ALL: Final = 1 << 62  # bytes: more than any file has


def is_history(event: Event, source: Source, catalog: Catalog) -> bool:
    """Return whether a command is before its source's baseline, or was typed before that."""
    if event.source.get("offset", 0) < (source.baseline or 0):
        return True
    if source.after_ns > 0 and _typed_ns(event, 0) <= source.after_ns:
        return True  # the file was rewritten since; without a time, it counts as typed earlier
    return _is_inherited(event, source, catalog) or catalog.was_forgotten(said(event))


def said(event: Event) -> str:
    """Return the identity of a message in every copy of its record, empty if it has neither a time nor an id."""
    nature = AGENTS[event.session.agent].nature
    if nature.has_times and event.time:
        what = (event.session.agent, event.time, event.kind, event.payload, event.words)
        return json.dumps(what, sort_keys=True)
    return event.dedup_key if nature.has_native_ids else ""


def _is_inherited(event: Event, source: Source, catalog: Catalog) -> bool:
    """Return whether a fork copied a command: older than its file, and in the history of another session there.

    A fork repeats old records with their ids in a new file. The age of a command only decides whether the files are
    worth searching: a clock may be wrong, so the id has to be found there too.
    """
    native = event.source.get("providerEventId", "")
    if not native or _typed_ns(event, source.row.since_ns) >= source.row.since_ns - _LATE_NS:
        return False
    folder = _scope(source)
    beside = (other for other in catalog.sources.values() if other.history and _scope(other) == folder)
    return any(_holds(other, native.encode("utf-8", "replace")) for other in beside if other is not source)


def _scope(source: Source) -> Path:
    """Return the folder with the session that a fork copied: its own, or one above it, where each has a folder."""
    parents = Path(source.path).parents
    return parents[min(source.spec.folders_of_session, len(parents) - 1)]


def _typed_ns(event: Event, unknown: int) -> int:
    """Return when an event was typed, in nanoseconds; `unknown` if it does not say."""
    try:
        return int(datetime.fromisoformat(event.time).timestamp() * _NS)
    except (OSError, OverflowError, ValueError):
        return unknown


def _holds(source: Source, needle: bytes) -> bool:
    try:
        with source.spec.open(source.path) as file:
            return file.find(needle, source.history)
    except SourceError:  # a file beside it is gone or unreadable: the step of that source logs it
        return False


# -- documents: rewritten as a whole, so their commands are known by id and not by offset --------


def set_baseline(source: Source, file: SourceFile, ledger: Ledger, log: EventLog) -> None:
    """Set the baseline of a source that is opened for the first time: after the last newline of its history."""
    if file.is_document and source.history:
        note_document(source, file, ledger, log)
    end = file.last_newline(source.history)
    source.set_baseline(end, file.anchor(end))


def note_document(source: Source, file: SourceFile, ledger: Ledger, log: EventLog) -> None:
    """Mark the commands that a document contains when it is first seen as applied."""
    batch = file.read(Cursor(), 0)
    if not batch.lines:
        raise SourceError("still being written", path=source.path)
    if any(find_command(source.identity, batch)):
        commands, near_misses = said_in(source, batch, log)
        with ledger.transaction():
            ledger.add_applied([*commands, *(miss.message for _, miss in near_misses)])


def said_in(source: Source, batch: Batch, log: EventLog) -> tuple[list[str], list[tuple[Event, NearMiss]]]:
    """Return the dedup keys of the commands in a document, and its near misses with their messages."""
    stream = SessionStream(source.identity.key, NoDedup(), log)
    events = chain(stream.events(source, batch.lines), stream.settle(source))
    commands = [event.dedup_key for event in events if event.kind == ev.USER_COMMAND]
    return commands, stream.open(source).take_near_misses()


def exchanges_until(source: Source, event_id: str) -> Exchanges:
    """Return the exchanges that a source has before an event, from its beginning. Raises SourceError."""
    stream = SessionStream(source.identity.key, NoDedup(), EventLog())
    with source.spec.open(source.path) as file:
        lines = (line for batch in _batches(file) for line in batch.lines)
        for event in chain(stream.events(source, lines), stream.settle(source)):
            if event.id == event_id:
                break
    return stream.exchanges.of(source.path)


# -- sessions that are forgotten --------------------------------------------------------------------


def rest_of(source: Source) -> ForgottenSource:
    """Return the content of a source; of one that was deleted or cannot be read, what the ledger has of it."""
    found = stat_source(source.spec, source.path)
    if found is None:
        return _rest_of_gone(source)
    try:
        with source.spec.open(source.path) as file:
            return _rest_of(source, file, found[1])
    except SourceGone:
        return _rest_of_gone(source)
    except SourceError:
        return ForgottenSource(
            found[1], found[1].size, None, START, source.row.read_ns
        )  # its end is found when it can be read


def _rest_of(source: Source, file: SourceFile, seen: Stat) -> ForgottenSource:
    typed, cursor = _typed(source, file)
    if file.is_document and not cursor.offset:
        raise SourceError("still being written", path=source.path)
    baseline = 0 if file.is_document else cursor.offset
    commands = [event.dedup_key for event in typed if event.kind == ev.USER_COMMAND]
    return ForgottenSource(seen, seen.size, baseline, cursor, file.mtime_ns, commands, list(map(said, typed)))


def _rest_of_gone(source: Source) -> ForgottenSource:
    """Return the rest of a deleted source. Without times, all that comes back is history, as it may be longer."""
    if source.spec.nature.has_times:
        return ForgottenSource(source.seen, source.history, source.baseline, source.cursor, source.row.read_ns)
    return ForgottenSource(source.seen, _ALL, None, START, source.row.read_ns)


def _typed(source: Source, file: SourceFile) -> tuple[list[Event], Cursor]:
    """Return the first message and all commands of a file, which is decoded only if it has any, and where it ends."""
    has_any, cursor = False, START
    for batch in _batches(file):
        has_any, cursor = has_any or find_command(source.identity, batch)[0] is not None, batch.cursor
    stream = SessionStream(source.identity.key, NoDedup(), EventLog())
    lines = (line for batch in _batches(file) for line in batch.lines)
    if not has_any:
        beginning = stream.events(source, islice(lines, _BEGINNING))
        return list(islice((event for event in beginning if event.kind in _SAID), 1)), cursor
    events = chain(stream.events(source, lines), stream.rest(source, None), stream.settle(source))
    messages = enumerate(event for event in events if event.kind in _SAID)
    return [event for number, event in messages if number == 0 or event.kind == ev.USER_COMMAND], cursor


def _batches(file: SourceFile) -> Iterator[Batch]:
    cursor = START
    while True:
        batch = file.read(cursor, _CHUNK)
        yield batch
        if not batch.more:
            return
        cursor = batch.cursor
