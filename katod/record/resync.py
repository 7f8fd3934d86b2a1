"""A source whose bytes before the cursor changed: truncated, rewritten, replaced, compacted, restored.

Nothing is doubled and nothing recorded is taken back. Where ids are native the new content is read from its start,
and what is known is skipped. Where ids are positions, known words in their known order show how far the new content
repeats the old; if nothing does, reading resumes at its end.
"""

from typing import Final

from katod import events as ev
from katod.agents.base import fingerprint
from katod.discover.catalog import Source
from katod.log import EventLog
from katod.model import Cursor
from katod.record.session import ActiveSession
from katod.record.stream import NeverSeen, SessionStream
from katod.store.ledger import Ledger, id_hash
from katod.tail.reader import SourceFile

_CHUNK: Final = 4 * 1024 * 1024
# What has words, or an id, of its own: the beginning of one turn is like that of any other.
_TELLING: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT})


def resync(source: Source, file: SourceFile, session: ActiveSession | None, ledger: Ledger, log: EventLog) -> None:
    """Set the cursor of a changed source to where its new content begins."""
    source.baseline, source.translated, source.state, source.scanned = 0, 0, None, None
    if session is None:
        _resync_unread(source, file)
    else:
        _resync_active(source, file, session, ledger, log)


def _resync_unread(source: Source, file: SourceFile) -> None:
    """Nothing of the session was translated, so nothing is known but times: only what was typed later may command."""
    if not source.spec.nature.has_times:  # what is in it now may all be old: new is what comes next
        source.baseline = file.last_newline(file.size)
        source.cursor = Cursor(source.baseline, file.anchor(source.baseline))
        return
    source.cursor = Cursor()
    source.after_ns = 0 if file.is_document else source.read_ns  # a document's commands are known by their ids


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
    session.backfilled = offset == 0


def _repeated(source: Source, file: SourceFile, ledger: Ledger, log: EventLog) -> int:
    """Return the offset after the last line whose words are known, in the order in which they are known."""
    known = ledger.places(source.session)
    stream = SessionStream(source.identity.key, NeverSeen(), log)
    cursor, at, found = Cursor(), -1, 0
    while True:
        batch = file.read(cursor, _CHUNK)
        for line in batch.lines:
            words = [fingerprint(event) for event in stream.events(source, [line]) if event.kind in _TELLING]
            last = _following([known.get(id_hash(word), []) for word in words], at)
            if words and last is not None:
                at, found = last, line.end
        cursor = batch.cursor
        if not batch.more or not batch.lines:
            return found


def _following(numbers: list[list[int]], at: int) -> int | None:
    """Return the place of the last of some words that are known after a place, in this order; None if one is not."""
    for places in numbers:
        following = next((place for place in places if place > at), None)
        if following is None:
            return None
        at = following
    return at
