"""A source whose bytes before the cursor changed: truncated, rewritten, replaced, compacted, restored.

Nothing is doubled and nothing recorded is taken back. Where ids are native the new content is read from
its start and what is known is passed over. Where ids are positions, known words in their known order
show how far the new content repeats the old; if nothing does, reading goes on at its end.
"""

from pathlib import Path
from typing import Final

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin, fingerprint
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.record.conversation import Conversation
from katod.record.ledger import Ledger, id_hash
from katod.record.rows import SourceRow
from katod.record.translation import Translation
from katod.tail.reader import Cursor, SourceFile

_CHUNK: Final = 4 * 1024 * 1024
# What has words, or an id, of its own: the beginning of one turn is like that of any other.
_TELLING: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT})


def realign(
    source: SourceRow, file: SourceFile, conversation: Conversation | None, ledger: Ledger, log: EventLog
) -> None:
    """Set the cursor of a changed source to where what is new begins."""
    offset = 0
    if conversation is not None and not AGENTS[source.identity.key.agent].nature.has_native_ids:
        offset = _repeated(source, file, ledger, log)
        if offset == 0:
            offset = file.last_newline(file.size)
            for outlet in conversation.live:
                outlet.recorder.interrupt("gap")
    source.baseline = 0
    if conversation is None:
        # Nothing was translated, so nothing is known but the time: only what was typed later may command.
        source.translated, source.state = 0, None
        if not AGENTS[source.identity.key.agent].nature.has_times:  # nothing tells what of it is new: what comes now is
            source.baseline = file.last_newline(file.size)
            source.cursor = Cursor(source.baseline, file.anchor(source.baseline))
            return
        source.cursor = Cursor()
        source.after_ns = 0 if file.is_document else source.read_ns  # a document's commands are known by their ids
        return
    conversation.reader.restart(source)
    source.translated, source.state = 0, None
    source.cursor = Cursor(offset, file.anchor(offset)) if offset else Cursor()
    conversation.ready = offset == 0


def _repeated(source: SourceRow, file: SourceFile, ledger: Ledger, log: EventLog) -> int:
    """Return the offset behind the last line whose words are known, in the order in which they are known."""
    known = ledger.places(source.session)
    translation = Translation(Origin(source.identity, Path(source.path)), SessionMetadata(source.identity.key), log)
    cursor, at, found = Cursor(), -1, 0
    while True:
        batch = file.read(cursor, _CHUNK)
        for line in batch.lines:
            words = [fingerprint(event) for event in translation.feed([line]) if event.kind in _TELLING]
            last = _following([known.get(id_hash(word), []) for word in words], at)
            if words and last is not None:
                at, found = last, line.end
        cursor = batch.cursor
        if not batch.more or not batch.lines:
            return found


def _following(numbers: list[list[int]], at: int) -> int | None:
    """Return the place of the last of some words that are known behind a place, in this order; None if one is not."""
    for places in numbers:
        following = next((place for place in places if place > at), None)
        if following is None:
            return None
        at = following
    return at
