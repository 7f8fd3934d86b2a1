"""Outputs that are not where their session's reader is: captures, exports, and those that could not be written.

Each has a reader of its own that follows, up to where the session has been read. What commands did is in
the ranges; here nothing is obeyed.
"""

from typing import Any

from katod.agents import ADAPTERS
from katod.errors import SourceError
from katod.events import Event
from katod.journal import Journal
from katod.record.catalog import Catalog
from katod.record.conversation import Conversation, Outlet, Reader
from katod.record.delivery import Delivery
from katod.record.ledger import Ledger, id_hash
from katod.record.rows import OutputRow, SourceRow
from katod.tail.reader import Cursor, open_source


class Follower:
    """One output and its own reader."""

    def __init__(self, row: OutputRow, ledger: Ledger, journal: Journal) -> None:
        behind: dict[str, Any] = row.behind or {}
        self.outlet = Outlet(row)
        self.session = ledger.session(row.session)
        self.reader = Reader(self.session, journal, behind.get("facts"), behind.get("seq", 0))
        self.offsets: dict[int, int] = {int(key): offset for key, offset in behind.get("offsets", {}).items()}
        self.states: dict[str, Any] = behind.get("states", {})
        self._native_ids = ADAPTERS[self.session.key.agent].native_ids
        self._ledger = ledger

    def admit(self, event: Event) -> bool:
        """Say whether this reader meets the event for the first time: events are numbered as they were first seen."""
        if not self._native_ids:
            return True
        seq = self._ledger.place(self.session.id, id_hash(event.id))
        if seq is None or seq < self.reader.seq:
            return False
        self.reader.seq = seq + 1
        return True

    def state(self) -> dict[str, Any]:
        """Return the reader's position, as JSON."""
        states = self.states | {str(key): state for key, state in self.reader.states().items()}
        offsets = {str(key): offset for key, offset in self.offsets.items()}
        return {"facts": self.reader.facts.state(), "seq": self.reader.seq, "offsets": offsets, "states": states}


class CatchUp:
    """Takes outputs with a reader of their own forward, until they are where their session is."""

    def __init__(self, ledger: Ledger, catalog: Catalog, journal: Journal, delivery: Delivery) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._journal = journal
        self._delivery = delivery
        self._followers: dict[int, Follower] = {}

    def add(self, row: OutputRow) -> None:
        """Follow an output from its own position on."""
        self._followers[row.id] = Follower(row, self._ledger, self._journal)

    def rows(self) -> dict[int, OutputRow]:
        """Return the outputs that follow on their own."""
        return {output_id: follower.outlet.row for output_id, follower in self._followers.items()}

    def drop(self, output_id: int) -> None:
        """Follow an output no longer (the step that made it was undone)."""
        self._followers.pop(output_id, None)

    def detach(self, row: OutputRow, conversation: Conversation) -> None:
        """Let an output that cannot be written stay where it is while its session goes on."""
        row.behind = {
            "facts": conversation.facts.state(),
            "seq": conversation.reader.seq,
            "offsets": {str(source.id): source.cursor.offset for source in conversation.sources},
            "states": {str(key): state for key, state in conversation.reader.states().items()},
        }
        with self._ledger.transaction():
            self._ledger.save_output(row)
        self.add(row)

    def step(self, output_id: int, budget: int) -> bool:
        """Take one output forward; returns whether there is more to do now."""
        follower = self._followers[output_id]
        row = follower.outlet.row
        if row.intent is not None:
            return False
        self._delivery.check(follower.outlet)
        with self._ledger.transaction():
            facts = follower.reader.facts
            follower.outlet.add(follower.outlet.recorder.settle(facts.last, facts) if facts.last else "")
            arrived = self._advance(follower, budget)
            done = follower.outlet.recorder.done or (arrived and not row.open)
            row.behind = None if done else follower.state()
            self._delivery.save_assets(follower.outlet)
            follower.outlet.stage()
            self._ledger.save_output(row)
        self._delivery.saved([row])
        written = self._delivery.deliver(row)
        if not written:
            with self._ledger.transaction():
                self._ledger.save_output(row)
        if done and written:
            del self._followers[output_id]
            return False
        return written and not arrived

    def arrived(self, output_id: int) -> Outlet | None:
        """Return an output that has come as far as its session and may join it; it follows no longer."""
        follower = self._followers[output_id]
        row = follower.outlet.row
        sources = self._catalog.of_session(row.session)
        level = all(follower.offsets.get(s.id, 0) >= s.cursor.offset for s in sources)
        if row.intent is not None or not row.open or not level:
            return None
        del self._followers[output_id]
        row.behind = None
        return follower.outlet

    def _advance(self, follower: Follower, budget: int) -> bool:
        """Read one batch of the first source that is not read to the end; returns whether none is left."""
        for source in self._catalog.of_session(follower.session.id):
            left = source.cursor.offset - follower.offsets.get(source.id, 0)
            if left > 0:
                self._read(follower, source, min(left, budget))
                return False
        return True

    def _read(self, follower: Follower, source: SourceRow, budget: int) -> None:
        at = follower.offsets.get(source.id, 0)
        try:
            with open_source(source.path) as file:
                batch = file.read(Cursor(at), budget)
        except SourceError:
            batch = None
        if batch is None or not batch.lines or batch.cursor.offset > source.cursor.offset:
            follower.outlet.recorder.interrupt("gap")
            follower.offsets[source.id] = source.cursor.offset
            return
        translation = follower.reader.translation(source, follower.states.get(str(source.id)))
        facts = follower.reader.facts
        for event in translation.feed(batch.lines):
            if follower.admit(event):
                facts.observe(event)
                follower.outlet.take(event, facts)
                facts.close(event)
                if follower.outlet.recorder.done:
                    break
        follower.offsets[source.id] = batch.cursor.offset
