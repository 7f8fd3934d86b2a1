"""A source whose bytes before the cursor changed: truncated, rewritten, replaced, compacted, restored.

Nothing is written twice and nothing recorded is removed. With native ids, the new content is read from its start and
known events are skipped. Without them, known content in its known order shows how far the new file repeats the old
one; if it repeats nothing, reading resumes at its end.
"""

from typing import Final

from katod.agents.base import fingerprint
from katod.discover.catalog import Source
from katod.log import EventLog
from katod.model import Cursor
from katod.record.session import ActiveSession
from katod.record.stream import DISTINCTIVE, NeverSeen, SessionStream
from katod.store.ledger import Ledger, id_hash
from katod.tail.reader import SourceFile

_CHUNK: Final = 4 * 1024 * 1024


def resync(source: Source, file: SourceFile, session: ActiveSession | None, ledger: Ledger, log: EventLog) -> None:
    """Set the cursor of a changed source to where its new content begins."""
    source.baseline, source.translated, source.state, source.scanned = 0, 0, None, None
    source.read = None
    if session is None:
        _resync_unread(source, file)
    else:
        _resync_active(source, file, session, ledger, log)


def _resync_unread(source: Source, file: SourceFile) -> None:
    """Resync a source that was never translated: only times are known, so only commands typed later count."""
    if not source.spec.nature.has_times:  # all of its present content may be old: only what follows is new
        source.baseline = file.last_newline(file.size)
        source.cursor = Cursor(source.baseline, file.anchor(source.baseline))
        return
    source.cursor = Cursor()
    if not file.is_document:  # a document's commands are known by their ids
        source.after_ns = max(source.after_ns, source.read_ns)


def _resync_active(source: Source, file: SourceFile, session: ActiveSession, ledger: Ledger, log: EventLog) -> None:
    offset = 0
    if not source.spec.nature.has_native_ids:
        offset = _repeated(source, file, ledger, log)
        if offset == 0:
            offset = file.last_newline(file.size)
            for output in session.live:
                output.printer.interrupt("gap")
    session.stream.restart(source)
    source.cursor = Cursor(offset, file.anchor(offset)) if offset else Cursor()
    session.backfilled = False  # what was scanned of it, or of another source, may still have to be translated


def _repeated(source: Source, file: SourceFile, ledger: Ledger, log: EventLog) -> int:
    """Return the offset after the last line whose content is known, in the known order."""
    known = ledger.places(source.session)
    stream = SessionStream(source.identity.key, NeverSeen(), log)
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
