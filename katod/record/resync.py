"""The parts of a session before its cursors: read where they were only scanned, read again where they changed.

`Backfill` translates what was scanned before the session was recorded, up to the cursors; nothing is written.

`Resync` is for a source whose bytes before the cursor changed: truncated, rewritten, replaced, compacted, restored.
Nothing is written twice and nothing recorded is removed. With native ids, the new content is read from its start and
known events are skipped. Without them, known content in its known order shows how far the new file repeats the old
one; if it repeats nothing, reading resumes at its end.
"""

from collections.abc import Callable
from typing import Final

from katod import events as ev
from katod.agents.base import fingerprint
from katod.discover.catalog import Catalog
from katod.discover.source import Source
from katod.errors import SourceChanged
from katod.log import EventLog
from katod.model import Cursor
from katod.record.catchup import CatchUp
from katod.record.history import set_baseline
from katod.record.session import ActiveSession
from katod.record.stream import DISTINCTIVE, NoDedup, ScanDedup, SessionStream
from katod.store.ledger import Ledger, id_hash
from katod.tail.reader import SourceFile, unreadable_skipped

_CHUNK: Final = 4 * 1024 * 1024
Verify = Callable[[Source, SourceFile, ActiveSession | None, str], None]


class Resync:
    """Decides where an opened source is read: after its history, at its cursor, or where changed content begins."""

    def __init__(self, ledger: Ledger, catalog: Catalog, log: EventLog, catch_up: CatchUp) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._catch_up = catch_up

    def begin(self, source: Source, file: SourceFile) -> None:
        """Set the baseline of a source that is opened for the first time."""
        if source.baseline is None:
            set_baseline(source, file, self._ledger, self._log)
            self._catalog.changed(source)

    def verify(self, source: Source, file: SourceFile, session: ActiveSession | None) -> bool:
        """Check that what was read is unchanged, and resync the source if it is not; return whether it is."""
        is_unchanged = True
        try:
            file.verify_anchor(source.cursor)
        except SourceChanged as change:
            self.resync(source, file, session, change.what)
            is_unchanged = False
        source.verified(file.mtime_ns)
        return is_unchanged

    def resync(self, source: Source, file: SourceFile, session: ActiveSession | None, change: str) -> None:
        """Move the cursor of a changed source, for its session and for the outputs that catch up with it."""
        if not file.is_document:  # a document is rewritten with every message
            self._log.source_changed(str(source.identity.key), change)
        resync(source, file, session, self._ledger, self._log)
        self._catch_up.resynced(source)
        self._catalog.changed(source)


def resync(source: Source, file: SourceFile, session: ActiveSession | None, ledger: Ledger, log: EventLog) -> None:
    """Set the cursor of a changed source to where its new content begins."""
    source.was_rewritten()
    if session is None:
        _resync_unread(source, file)
    else:
        _resync_active(source, file, session, ledger, log)


def _resync_unread(source: Source, file: SourceFile) -> None:
    """Resync a source that was never translated: only times are known, so only commands typed later count."""
    if not source.spec.nature.has_times:  # all of its present content may be old: only what follows is new
        end = file.last_newline(file.size)
        source.set_baseline(end, file.anchor(end))
        return
    source.read_again()
    if not file.is_document:  # a document's commands are known by their ids
        source.ignore_typed_before(source.row.read_ns)


def _resync_active(source: Source, file: SourceFile, session: ActiveSession, ledger: Ledger, log: EventLog) -> None:
    offset = 0
    if not source.spec.nature.has_native_ids:
        offset = _repeated(source, file, ledger, log)
        if offset == 0:
            offset = file.last_newline(file.size)
            for output in session.live:
                output.interrupt("gap")
    session.restart(source)
    source.scanned_to(Cursor(offset, file.anchor(offset)) if offset else Cursor())


def _repeated(source: Source, file: SourceFile, ledger: Ledger, log: EventLog) -> int:
    """Return the offset after the last line whose content is known, in the known order."""
    known = ledger.places(source.session)
    stream = SessionStream(source.identity.key, NoDedup(), log, whole=False)
    cursor, at, found = Cursor(), -1, 0
    while True:
        batch = file.read(cursor, _CHUNK)
        for line in batch.lines:
            words = [fingerprint(event) for event in stream.events(source, [line]) if event.kind in DISTINCTIVE]
            last = _following([known.get(id_hash(word), []) for word in words], at)
            if words and last is not None:
                at, found = last, line.end
        cursor = batch.cursor
        if not batch.more or not batch.lines:
            return found


def _following(numbers: list[list[int]], at: int) -> int | None:
    """Find texts in order, each after the previous one; return the index of the last, or None if one is missing."""
    for places in numbers:
        following = next((place for place in places if place > at), None)
        if following is None:
            return None
        at = following
    return at


class Backfill:
    """Advances a session's stream to the cursors of its sources, in slices. A changed source is resynced first."""

    def __init__(self, resync: Verify) -> None:
        self._resync = resync

    def advance(self, session: ActiveSession, budget: int, opened: tuple[Source, SourceFile] | None = None) -> bool:
        """Translate about `budget` bytes of each source; return whether everything is done.

        `opened` is a source whose file is already open and verified.
        """
        if not session.backfilled and all(self._source(session, one, budget, opened) for one in session.sources):
            session.end_backfill()
        return session.backfilled

    def finish(self, session: ActiveSession, budget: int) -> None:
        """Translate everything, slice by slice."""
        while not self.advance(session, budget):
            pass

    def _source(
        self, session: ActiveSession, source: Source, budget: int, opened: tuple[Source, SourceFile] | None
    ) -> bool:
        if source.cursor.offset <= source.translated:
            return True
        if opened is not None and opened[0] is source:
            return self._translate(session, source, opened[1], budget)
        with unreadable_skipped(), source.spec.open(source.path) as file:
            try:
                file.verify_anchor(source.cursor)
            except SourceChanged as change:  # its present content was never read, so it is not history
                self._resync(source, file, session, change.what)
                return source.translated >= source.cursor.offset
            return self._translate(session, source, file, budget)
        return True  # it is gone: the content is unknown, and what comes later is translated anyway

    def _translate(self, session: ActiveSession, source: Source, file: SourceFile, budget: int) -> bool:
        left = source.cursor.offset - source.translated
        batch = file.read(Cursor(source.translated), min(budget, left))
        seen = ScanDedup(session.seen, known_only=file.is_document)
        for event in session.stream.events(source, batch.lines, seen=seen):
            session.state_news.take(event)
            if event.kind == ev.USER_COMMAND:
                session.changes.applied[event.dedup_key] = None
        session.stream.open(source).take_near_misses()  # already counted when they were scanned
        if seen.has_left:
            session.stream.reopen(source)
            source.has_left()
        whole = not batch.lines or file.is_document
        source.backfilled_to(source.cursor.offset if whole else batch.cursor.offset)
        return source.translated >= source.cursor.offset
