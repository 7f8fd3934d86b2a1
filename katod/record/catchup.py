"""Outputs that are not at the position of their session's stream: captures, exports, and unwritable ones.

Each has its own stream, which catches up with how far the session has been read. The effects of commands are in the
ranges; no commands are carried out here.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from typing import Any, Literal

import orjson

from katod.agents import AGENTS
from katod.discover.catalog import Catalog, Source
from katod.errors import LedgerError, OutputError, SourceChanged, SourceError, SourceGone
from katod.events import Event
from katod.log import EventLog
from katod.model import Cursor, SessionKey
from katod.record.delivery import Delivery
from katod.record.session import ActiveSession, LiveOutput
from katod.record.stream import SessionStream
from katod.store.ledger import Ledger, id_hash
from katod.store.rows import OutputRow
from katod.tail.reader import Batch

# Of one step: a batch was read; the session has to be stepped first; nothing is left.
Progress = Literal["read", "waiting", "arrived"]


class SeenByFollower:
    """Admits what one follower has not passed yet.

    Events are numbered in the order in which the session first saw them. Within a source that was not rewritten the
    numbers rise, so the highest one suffices; in a rewritten source everything that was passed is remembered.
    """

    def __init__(self, session: int, ledger: Ledger, catalog: Catalog, state: dict[str, Any]) -> None:
        self._session = session
        self._ledger = ledger
        self._catalog = catalog
        self._next: dict[int, int] = {int(key): seq for key, seq in state.get("numbers", {}).items()}
        self.rewritten: set[int] = set(state.get("rewritten", ()))
        self._passed: set[int] = set(state.get("passed", ()))

    def admit(self, event: Event, source: Source) -> bool:
        """Return whether this event is new to the follower."""
        hashed = id_hash(event.id)
        seq, home = self._ledger.place(self._session, hashed) or (-1, 0)
        if seq < self._next.get(source.id, 0) or hashed in self._passed or self._is_read_elsewhere(home, source):
            return False
        if source.id not in self.rewritten:
            self._next[source.id] = seq + 1
        self._passed.add(hashed)
        return True

    def _is_read_elsewhere(self, home: int, source: Source) -> bool:
        """Return whether an event is a copy of one in another source that still exists."""
        other = self._catalog.sources.get(home) if home != source.id else None
        return other is not None and not other.gone

    def restart(self, source: Source) -> None:
        """Note that a source was rewritten: from now on its events are recognised by id."""
        self.rewritten.add(source.id)

    def state(self) -> dict[str, Any]:
        """Return what has been passed, as JSON."""
        numbers = {str(key): seq for key, seq in self._next.items()}
        row: dict[str, Any] = {"numbers": numbers, "rewritten": sorted(self.rewritten)}
        return row | ({"passed": sorted(self._passed)} if self.rewritten else {})  # without one the numbers suffice


class PassedByPosition(SeenByFollower):
    """Admits everything: events without native ids are known by their position, and no position is read twice."""

    def admit(self, _event: Event, _source: Source) -> bool:
        """Return True."""
        return True


class Follower:
    """One output and its own stream."""

    def __init__(self, row: OutputRow, key: SessionKey, ledger: Ledger, catalog: Catalog, log: EventLog) -> None:
        behind: dict[str, Any] = row.behind or {}
        self.output = LiveOutput(row)
        self.native_ids = AGENTS[key.agent].nature.has_native_ids
        seen = SeenByFollower if self.native_ids else PassedByPosition
        self.seen = seen(row.session, ledger, catalog, behind)
        self.stream = SessionStream(key, self.seen, log, behind.get("metadata"))
        self.offsets: dict[int, int] = {int(key): offset for key, offset in behind.get("offsets", {}).items()}
        self.states: dict[str, Any] = behind.get("states", {})
        self.unread: set[int] = set(behind.get("unread", ()))  # rewritten sources: to be read to their end again

    def restart(self, source: Source) -> None:
        """Restart a rewritten source from its beginning; without native ids, resume where the session is."""
        self.stream.restart(source)
        self.seen.restart(source)
        self.states.pop(str(source.id), None)
        self.offsets[source.id] = 0
        self.unread.add(source.id)
        if not self.native_ids:
            self.skip(source)

    def skip(self, source: Source) -> None:
        """Resume where the session is, with a mark that a part is missing."""
        self.output.printer.interrupt("gap")
        self.offsets[source.id] = source.cursor.offset

    def take(self, source: Source, batch: Batch) -> None:
        """Print the events in a batch of a source, up to the end of the last range."""
        translation = self.stream.open(source, self.states.get(str(source.id)))
        for event in self.stream.events(source, batch.lines):
            self.output.take(event, self.stream.metadata)
            if self.output.printer.done:
                break
        self.states[str(source.id)] = translation.state()

    def ending(self) -> str:
        """Return the mark of a missing part, if the output ends where a rewrite removed what it should end with."""
        printer = self.output.printer
        return printer.missing(self.stream.metadata) if self.seen.rewritten and not printer.done else ""

    def state(self) -> dict[str, Any]:
        """Return the stream's position, as JSON."""
        offsets = {str(key): offset for key, offset in self.offsets.items()}
        row = {"metadata": self.stream.metadata.state(), "states": self.states, "offsets": offsets}
        return row | ({"unread": sorted(self.unread)} if self.unread else {}) | self.seen.state()


class CatchUp:
    """Advances outputs with their own stream until they have caught up with their session."""

    def __init__(self, ledger: Ledger, catalog: Catalog, log: EventLog, delivery: Delivery) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._delivery = delivery
        self._followers: dict[int, Follower] = {}

    def add(self, row: OutputRow) -> None:
        """Follow an output from its own position on."""
        key = self._ledger.session(row.session).key
        self._followers[row.id] = Follower(row, key, self._ledger, self._catalog, self._log)

    def rows(self) -> dict[int, OutputRow]:
        """Return the outputs that catch up on their own."""
        return {output_id: follower.output.row for output_id, follower in self._followers.items()}

    def resynced(self, source: Source) -> None:
        """Restart a rewritten source for all outputs that catch up with its session."""
        for follower in self._followers.values():
            row = follower.output.row
            if row.session == source.session:
                follower.restart(source)
                row.behind = follower.state()
                with self._ledger.transaction():
                    self._ledger.save_output(row)

    def drop(self, output_id: int) -> None:
        """Stop following an output (the step that created it was undone)."""
        self._followers.pop(output_id, None)

    def revert(self, output_ids: Iterable[int]) -> None:
        """Return to the ledger's state of the outputs that an undone step changed; drop those that it created."""
        for output_id in self._followers.keys() & set(output_ids):
            if not self._restore(output_id):
                self.drop(output_id)

    def _restore(self, output_id: int) -> bool:
        """Follow an output again from what the ledger has of it, False if it has nothing. Others share its row."""
        row = self._followers[output_id].output.row
        stored = next((stored for stored in self._ledger.outputs(row.session) if stored.id == output_id), None)
        if stored is None:
            return False
        for column in fields(row):
            setattr(row, column.name, getattr(stored, column.name))
        self.add(row)
        return True

    def isolated_step(self, output_id: int, budget: int) -> bool:
        """Advance one output; if katod fails, only this output waits and is retried later."""
        return self._isolated(output_id, partial(self.step, output_id, budget))

    def retry(self, output_id: int) -> None:
        """Write what waits for a parked output; if katod fails, only this output waits longer."""
        self._isolated(output_id, partial(self._retry, self._followers[output_id].output.row))

    def _retry(self, row: OutputRow) -> bool:
        if not self._delivery.retry(row):
            with self._ledger.transaction():
                self._ledger.save_output(row)
        return False

    def _isolated(self, output_id: int, act: Callable[[], bool]) -> bool:
        try:
            return act()
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is shown and retried
            self._failed(output_id, error)
            return False

    def _failed(self, output_id: int, error: Exception) -> None:
        """Return to the ledger's state of an output whose step failed; its row is shared with the active session.

        If the ledger still has an open intent that was written since, the retry finds it in the file, as after a crash.
        """
        row = self._followers[output_id].output.row
        if self._restore(output_id):
            self._delivery.forget(output_id)
            self._park(row, f"internal error: {type(error).__name__}")

    def postpone(self, output_id: int) -> None:
        """Retry an output later whose session could not be loaded for it to join."""
        if output_id in self._followers:
            self._park(self._followers[output_id].output.row, "its session could not be loaded")

    def _park(self, row: OutputRow, problem: str) -> None:
        self._delivery.park(row, OutputError(problem))
        with self._ledger.transaction():
            self._ledger.save_output(row)

    def detach(self, row: OutputRow, session: ActiveSession) -> None:
        """Let an unwritable output stay at its position while its session continues."""
        behind = {
            "metadata": session.metadata.state(),
            "offsets": {str(source.id): source.cursor.offset for source in session.sources},
            "states": {str(source.id): session.stream.open(source).state() for source in session.sources},
            "numbers": {str(source.id): session.row.seq for source in session.sources},
        }
        row.behind = orjson.loads(orjson.dumps(behind))  # a copy, because the session's own states keep changing
        with self._ledger.transaction():
            self._ledger.save_output(row)
        self.add(row)

    def step(self, output_id: int, budget: int) -> bool:
        """Advance one output; return whether there is more to do now."""
        follower = self._followers[output_id]
        output, row = follower.output, follower.output.row
        if not self._may_print(output):
            return False
        with self._ledger.transaction():
            metadata = follower.stream.metadata
            output.add(output.printer.settle(metadata.last, metadata) if metadata.last else "")
            progress = self._advance(follower, budget)
            self._clear_problem(row)
            done = output.printer.done or (progress == "arrived" and not row.open)
            if done:
                output.add(follower.ending())
            self._delivery.save_assets(output)
            output.stage()
            row.behind = None if done and row.intent is None else follower.state()
            self._ledger.save_output(row)
        return self._deliver(follower, done=done) and progress == "read"

    def _may_print(self, output: LiveOutput) -> bool:
        """Return whether an output can take more text now: nothing waits to be written, and its file is not missing."""
        if output.row.intent is not None or self._delivery.is_parked(output.row.id):
            return False
        if self._delivery.check(output):
            return True
        with self._ledger.transaction():
            self._ledger.save_output(output.row)
        return False

    def _clear_problem(self, row: OutputRow) -> None:
        if not self._delivery.is_parked(row.id):
            row.problem, row.attempts = "", 0

    def _deliver(self, follower: Follower, *, done: bool) -> bool:
        """Write a step's text; return whether the follower continues."""
        row = follower.output.row
        self._delivery.saved([row])
        written = self._delivery.deliver(row)
        if not written:
            with self._ledger.transaction():
                self._ledger.save_output(row)
        if done and written:
            row.behind = None  # stored with the end of the intent
            self._delivery.unpark(row.id)
            del self._followers[row.id]
            return False
        return written

    def arrived(self, output_id: int) -> LiveOutput | None:
        """Return an output that has caught up with its session and may join it, None if it has not."""
        output = self._followers[output_id].output
        row, offsets = output.row, self._followers[output_id].offsets
        sources = self._catalog.of_session(row.session)
        level = all(offsets.get(source.id, 0) >= source.cursor.offset for source in sources)
        if row.intent is not None or not row.open or not level:
            return None
        del self._followers[output_id]
        row.behind, row.problem, row.attempts = None, "", 0
        return output

    def _advance(self, follower: Follower, budget: int) -> Progress:
        """Read a batch of the first source that is behind its session's cursor."""
        if follower.output.printer.done:
            return "arrived"
        sources = self._catalog.of_session(follower.output.row.session)
        for source in sources:
            left = source.cursor.offset - follower.offsets.get(source.id, 0)
            if left > 0:
                return self._read(follower, source, min(left, budget))
        follower.unread -= {source.id for source in sources if source.is_finished}
        return "waiting" if follower.unread else "arrived"

    def _read(self, follower: Follower, source: Source, budget: int) -> Progress:
        """Read a batch of one source. If it was rewritten or is being written, the session's next step comes first."""
        try:
            with source.spec.open(source.path) as file:
                if not file.is_document:  # what is new in a newer document is left out by its ids
                    file.verify_anchor(source.cursor)
                batch = file.read(Cursor(follower.offsets.get(source.id, 0)), budget)
        except SourceGone:  # the content is lost to this output, and a mark says so
            follower.skip(source)
            return "read"
        except SourceChanged:
            return "waiting"
        except SourceError as error:
            self._delivery.park(follower.output.row, OutputError(f"its session cannot be read: {error.what}"))
            return "waiting"
        if file.is_document and not batch.lines:
            return "waiting"
        if not batch.lines:
            follower.skip(source)
            return "read"
        follower.take(source, batch)
        follower.offsets[source.id] = (
            source.cursor.offset if file.is_document else min(batch.cursor.offset, source.cursor.offset)
        )
        return "read"
