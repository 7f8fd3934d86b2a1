"""Translating what was only scanned, up to where a session's sources have been read; nothing is written."""

from katod import events as ev
from katod.errors import SourceChanged, SourceError
from katod.journal import Journal
from katod.record.catchup import CatchUp
from katod.record.conversation import Conversation
from katod.record.ledger import Ledger
from katod.record.realign import realign
from katod.record.rows import SourceRow
from katod.tail.reader import Cursor, SourceFile, open_source


class Attaching:
    """Brings a session's reader to the cursors of its sources, in slices."""

    def __init__(self, ledger: Ledger, journal: Journal, catch_up: CatchUp) -> None:
        self._ledger = ledger
        self._journal = journal
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

    def realign(self, source: SourceRow, file: SourceFile, conversation: Conversation | None, change: str) -> None:
        """Begin anew with a source whose bytes before the cursor changed."""
        self._journal.source_changed(source.path, change)
        realign(source, file, conversation, self._ledger, self._journal)
        self._catch_up.realigned(source)

    def _source(self, conversation: Conversation, source: SourceRow, budget: int) -> bool:
        translation = conversation.reader.translation(source, source.state)
        left = source.cursor.offset - source.translated
        if left <= 0:
            return True
        try:
            with open_source(source.path) as file:
                try:
                    file.prove(source.cursor)
                except SourceChanged as change:  # what stands there now was never read: it is no history
                    self.realign(source, file, conversation, change.what)
                    return source.translated >= source.cursor.offset
                batch = file.read(Cursor(source.translated), min(budget, left))
        except SourceError:
            return True  # gone: what it held before is not known, what comes after is translated all the same
        for event in translation.feed(batch.lines):
            conversation.pass_by(event, source)
            conversation.facts.observe(event)
            conversation.facts.close(event)
            if event.kind == ev.USER_COMMAND:
                conversation.applied.append(event.once)
        translation.take_near_misses()  # counted when they were scanned
        source.translated = batch.cursor.offset if batch.lines else source.cursor.offset
        return source.translated >= source.cursor.offset
