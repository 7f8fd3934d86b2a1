"""Outputs that are not where their session's reader is: captures, exports, and those that could not be written.

Each has a reader of its own that follows, up to where the session has been read. What commands did is in
the ranges; here nothing is obeyed.
"""

from typing import Any

import orjson

from katod.agents import AGENTS
from katod.errors import LedgerError, OutputError, SourceError, SourceGone
from katod.events import Event
from katod.log import EventLog
from katod.record.catalog import Catalog
from katod.record.conversation import Conversation, Outlet, Reader
from katod.record.delivery import Delivery
from katod.record.ledger import Ledger, id_hash
from katod.record.rows import OutputRow, SourceRow
from katod.tail.reader import Cursor


class Follower:
    """One output and its own reader."""

    def __init__(self, row: OutputRow, ledger: Ledger, log: EventLog, sources: dict[int, SourceRow]) -> None:
        behind: dict[str, Any] = row.behind or {}
        self.outlet = Outlet(row)
        self.session = ledger.session(row.session)
        self.reader = Reader(self.session, log, behind.get("metadata"), 0)
        self.offsets: dict[int, int] = {int(key): offset for key, offset in behind.get("offsets", {}).items()}
        self.states: dict[str, Any] = behind.get("states", {})
        self._native_ids = AGENTS[self.session.key.agent].nature.has_native_ids
        self._numbers: dict[int, int] = {int(key): seq for key, seq in behind.get("numbers", {}).items()}
        self._rewritten: set[int] = set(behind.get("rewritten", ()))
        self._passed: set[int] = set(behind.get("passed", ()))
        self._sources = sources
        self._ledger = ledger

    def admit(self, source: SourceRow, event: Event) -> bool:
        """Say whether this reader meets the event for the first time.

        Events are numbered as they were first seen; within a source that was not rewritten the numbers rise.
        """
        if not self._native_ids:
            return True
        hashed = id_hash(event.id)
        seq, home = self._ledger.place(self.session.id, hashed) or (-1, 0)
        if seq < self._numbers.get(source.id, 0) or hashed in self._passed or self._stands_in(home, source):
            return False
        if source.id not in self._rewritten:
            self._numbers[source.id] = seq + 1
        self._passed.add(hashed)
        return True

    def _stands_in(self, home: int, source: SourceRow) -> bool:
        """Say whether an event is a copy of one in another source, which is there to be read."""
        other = self._sources.get(home) if home != source.id else None
        return other is not None and not other.gone

    def restart(self, source: SourceRow) -> None:
        """Read a source that was rewritten from its beginning; what was passed is known by its number."""
        self.reader.restart(source)
        self._rewritten.add(source.id)
        self.states.pop(str(source.id), None)
        self.offsets[source.id] = 0
        if not self._native_ids:
            self.skip(source)

    def skip(self, source: SourceRow) -> None:
        """Go on where the session is; a mark says that a part is missing."""
        self.outlet.recorder.interrupt("gap")
        self.offsets[source.id] = source.cursor.offset

    def state(self) -> dict[str, Any]:
        """Return the reader's position, as JSON."""
        states = self.states | {str(key): state for key, state in self.reader.states().items()}
        offsets = {str(key): offset for key, offset in self.offsets.items()}
        numbers = {str(key): seq for key, seq in self._numbers.items()}
        position: dict[str, Any] = {"offsets": offsets, "numbers": numbers, "rewritten": sorted(self._rewritten)}
        if self._rewritten:  # elsewhere the numbers tell
            position["passed"] = sorted(self._passed)
        return {"metadata": self.reader.metadata.state(), "states": states} | position


class CatchUp:
    """Takes outputs with a reader of their own forward, until they are where their session is."""

    def __init__(self, ledger: Ledger, catalog: Catalog, log: EventLog, delivery: Delivery) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._delivery = delivery
        self._followers: dict[int, Follower] = {}

    def add(self, row: OutputRow) -> None:
        """Follow an output from its own position on."""
        self._followers[row.id] = Follower(row, self._ledger, self._log, self._catalog.sources)

    def rows(self) -> dict[int, OutputRow]:
        """Return the outputs that follow on their own."""
        return {output_id: follower.outlet.row for output_id, follower in self._followers.items()}

    def realigned(self, source: SourceRow) -> None:
        """Read a source that was rewritten anew, for all outputs that follow its session on their own."""
        for follower in self._followers.values():
            if follower.session.id == source.session:
                follower.restart(source)
                follower.outlet.row.behind = follower.state()
                with self._ledger.transaction():
                    self._ledger.save_output(follower.outlet.row)

    def drop(self, output_id: int) -> None:
        """Follow an output no longer (the step that made it was undone)."""
        self._followers.pop(output_id, None)

    def contained_step(self, output_id: int, budget: int) -> bool:
        """Take one output forward; where katod fails, only this output waits, and is tried again later."""
        try:
            return self.step(output_id, budget)
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is shown and tried again
            self._failed(output_id, error)
            return False

    def _failed(self, output_id: int, error: Exception) -> None:
        """Go back to what the ledger knows of an output whose step failed."""
        session = self._followers.pop(output_id).session.id
        row = next(row for row in self._ledger.outputs(session) if row.id == output_id)
        self.add(row)
        self._delivery.postpone(row, OutputError(f"katod failed: {type(error).__name__}"))

    def detach(self, row: OutputRow, conversation: Conversation) -> None:
        """Let an output that cannot be written stay where it is while its session goes on."""
        behind = {
            "metadata": conversation.metadata.state(),
            "offsets": {str(source.id): source.cursor.offset for source in conversation.sources},
            "states": {str(key): state for key, state in conversation.reader.states().items()},
            "numbers": {str(source.id): conversation.reader.seq for source in conversation.sources},
        }
        row.behind = orjson.loads(orjson.dumps(behind))  # a copy: the session's own states go on changing
        with self._ledger.transaction():
            self._ledger.save_output(row)
        self.add(row)

    def step(self, output_id: int, budget: int) -> bool:
        """Take one output forward; returns whether there is more to do now."""
        follower = self._followers[output_id]
        row = follower.outlet.row
        if row.intent is not None or self._delivery.is_parked(output_id):
            return False
        self._delivery.check(follower.outlet)
        with self._ledger.transaction():
            metadata = follower.reader.metadata
            follower.outlet.add(follower.outlet.recorder.settle(metadata.last, metadata) if metadata.last else "")
            arrived = self._advance(follower, budget)
            done = follower.outlet.recorder.done or (arrived and not row.open)
            self._delivery.save_assets(follower.outlet)
            follower.outlet.stage()
            row.behind = None if done and row.intent is None else follower.state()
            self._ledger.save_output(row)
        self._delivery.saved([row])
        written = self._delivery.deliver(row)
        if not written:
            with self._ledger.transaction():
                self._ledger.save_output(row)
        if done and written:
            row.behind = None  # stored with the end of the intent
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
        batch, is_document = None, False
        try:
            with AGENTS[source.identity.key.agent].open(source.path) as file:
                batch, is_document = file.read(Cursor(at), budget), file.is_document
        except SourceGone:
            pass  # what it held is lost to this output, and a mark says so
        except SourceError as error:
            self._delivery.postpone(follower.outlet.row, OutputError(f"its session cannot be read: {error.what}"))
            return
        beyond = batch is not None and batch.cursor.offset > source.cursor.offset and not is_document
        if batch is None or not batch.lines or beyond:
            follower.skip(source)
            return
        translation = follower.reader.translation(source, follower.states.get(str(source.id)))
        metadata = follower.reader.metadata
        for event in translation.feed(batch.lines):
            if follower.admit(source, event):
                metadata.observe(event)
                follower.outlet.take(event, metadata)
                metadata.close(event)
                if follower.outlet.recorder.done:
                    break
        follower.offsets[source.id] = min(batch.cursor.offset, source.cursor.offset)
