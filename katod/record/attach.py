"""Translating what was only scanned, up to where a session's sources have been read; nothing is written."""

from pathlib import Path

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.command.scan import find_command
from katod.errors import SourceChanged, SourceError
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Line
from katod.record.catchup import CatchUp
from katod.record.conversation import Conversation
from katod.record.ledger import Ledger
from katod.record.realign import realign
from katod.record.rows import SourceRow
from katod.record.translation import Translation
from katod.tail.reader import Batch, Cursor, SourceFile


class Attaching:
    """Brings a session's reader to the cursors of its sources, in slices."""

    def __init__(self, ledger: Ledger, log: EventLog, catch_up: CatchUp) -> None:
        self._ledger = ledger
        self._log = log
        self._catch_up = catch_up

    def attach(self, conversation: Conversation, budget: int) -> bool:
        """Translate about `budget` bytes of each source; returns whether all is done."""
        if not conversation.ready:
            conversation.ready = all(self._source(conversation, source, budget) for source in conversation.sources)
        return conversation.ready

    def attach_all(self, conversation: Conversation, budget: int) -> None:
        """Translate all, slice by slice."""
        while not self.attach(conversation, budget):
            pass

    def note_history(self, source: SourceRow, file: SourceFile) -> None:
        """Have the commands in the history of a document count as applied: their ids tell, as its end does not."""
        batch = file.read(Cursor(), 0)
        if not batch.lines:
            raise SourceError("is being written", path=source.path)
        if find_command(source.identity, batch)[0] is not None:
            with self._ledger.transaction():
                self._ledger.add_applied(self._commands(source, batch))

    def find_command(self, source: SourceRow, file: SourceFile, batch: Batch) -> tuple[Line | None, int]:
        """Return the first line that may hold a command, and the near misses before it.

        A document is read whole each time: there only a command counts that has not acted yet, and no near miss.
        """
        found, near_misses = find_command(source.identity, batch)
        if not file.is_document:
            return found, near_misses
        new = found is not None and not all(map(self._ledger.is_applied, self._commands(source, batch)))
        return found if new else None, 0

    def _commands(self, source: SourceRow, batch: Batch) -> list[str]:
        translation = Translation(
            Origin(source.identity, Path(source.path)), SessionMetadata(source.identity.key), self._log
        )
        return [event.dedup_key for event in translation.feed(batch.lines) if event.kind == ev.USER_COMMAND]

    def realign(self, source: SourceRow, file: SourceFile, conversation: Conversation | None, change: str) -> None:
        """Begin anew with a source whose bytes before the cursor changed."""
        if not file.is_document:  # a document is rewritten with each thing said
            self._log.source_changed(source.path, change)
        realign(source, file, conversation, self._ledger, self._log)
        self._catch_up.realigned(source)

    def _source(self, conversation: Conversation, source: SourceRow, budget: int) -> bool:
        translation = conversation.reader.translation(source, source.state)
        left = source.cursor.offset - source.translated
        if left <= 0:
            return True
        try:
            with AGENTS[source.identity.key.agent].open(source.path) as file:
                try:
                    file.prove(source.cursor)
                except SourceChanged as change:  # what stands there now was never read: it is no history
                    self.realign(source, file, conversation, change.what)
                    return source.translated >= source.cursor.offset
                batch, is_document = file.read(Cursor(source.translated), min(budget, left)), file.is_document
        except SourceError:
            return True  # gone: what it held before is not known, what comes after is translated all the same
        for event in translation.feed(batch.lines):
            if is_document and not conversation.knows(event):
                continue  # it came since: it is read once more from where reading goes on
            conversation.pass_by(event, source)
            conversation.metadata.fold(event)
            if event.kind == ev.USER_COMMAND:
                conversation.applied[event.dedup_key] = None
        translation.take_near_misses()  # counted when they were scanned
        source.translated = batch.cursor.offset if batch.lines and not is_document else source.cursor.offset
        return source.translated >= source.cursor.offset
