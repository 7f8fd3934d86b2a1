"""Translates the part of a session that was only scanned, up to the cursors of its sources; nothing is written."""

from collections.abc import Callable

from katod import events as ev
from katod.discover.source import Source
from katod.errors import SourceChanged
from katod.model import Cursor
from katod.record.session import ActiveSession
from katod.record.stream import ScanDedup
from katod.tail.reader import SourceFile
from katod.tail.source import unreadable_skipped

Resync = Callable[[Source, SourceFile, ActiveSession | None, str], None]


class Backfill:
    """Advances a session's stream to the cursors of its sources, in slices. A changed source is resynced first."""

    def __init__(self, resync: Resync) -> None:
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
        whole = not batch.lines or file.is_document
        source.backfilled_to(source.cursor.offset if whole else batch.cursor.offset)
        return source.translated >= source.cursor.offset
