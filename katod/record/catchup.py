"""Outputs on their way from one committed step to the next, and those that are behind their session's stream.

`Checkpoint` is the writing half of a step: outputs are checked before it, stored with it in one transaction, then
appended to. An output that cannot be written leaves the step and is `CatchUp`'s, as captures and exports are. Each of
these has its own stream, which catches up with how far the session has been read. The effects of commands are in the
ranges; no commands are carried out here.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Literal

import orjson

from katod.agents import AGENTS
from katod.discover.catalog import Catalog
from katod.discover.source import Source
from katod.errors import LedgerError, OutputError, SourceChanged, SourceError, SourceGone, failure_of
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Cursor, SessionKey
from katod.record.delivery import Delivery
from katod.record.news import News
from katod.record.output import Output
from katod.record.session import ActiveSession
from katod.record.stream import EventDedup, SessionStream
from katod.store.ledger import Ledger, id_hash
from katod.store.rows import RefusalRow
from katod.tail.reader import Batch

_LOST: Final = "the session no longer has what it begins with: nothing is written"
# Of one step: a batch was read; nothing is left; None: the session has to be stepped first.
Progress = Literal["read", "arrived"] | None
# Lets an output that has caught up follow its session; returns whether that worked.
Join = Callable[[Output], bool]
# Names an output that waits for its first words, if an event has them.
Name = Callable[[Output, Event, SessionMetadata], None]


class CatchUpDedup(EventDedup):
    """Decides which events are new to one follower: those that it has not passed yet.

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
        self._reads_document = False
        self.has_left = False  # whether something of the present document is still to be read

    def is_new(self, event: Event, source: Source) -> bool:
        """Return whether this event is new to the follower."""
        hashed = id_hash(event.id)
        place = self._ledger.place(self._session, hashed)
        if place is None:  # the session holds it back
            return not self._reads_document and hashed not in self._passed
        seq, home = place
        is_passed = seq < self._next.get(source.id, 0) or hashed in self._passed
        return not (is_passed or self._is_read_elsewhere(home, source))

    def add(self, event: Event, source: Source) -> None:
        """Note that an event was passed."""
        hashed = id_hash(event.id)
        place = self._ledger.place(self._session, hashed)
        if place is not None and source.id not in self.rewritten:
            self._next[source.id] = place[0] + 1
        self._passed.add(hashed)

    def is_unread(self, event: Event) -> bool:
        """Return whether the session has not read so much of a document."""
        hashed = id_hash(event.id)
        is_known = hashed in self._passed or self._ledger.place(self._session, hashed) is not None
        is_unread = self._reads_document and not is_known
        self.has_left |= is_unread
        return is_unread

    def _is_read_elsewhere(self, home: int, source: Source) -> bool:
        """Return whether an event is a copy of one in another source that still exists."""
        other = self._catalog.sources.get(home) if home != source.id else None
        return other is not None and not other.gone

    def read_document(self, *, is_document: bool) -> None:
        """Note whether what is read next is a document, of which the session may not have read so much."""
        self._reads_document, self.has_left = is_document, False

    def restart(self, source: Source) -> None:
        """Note that a source was rewritten: from now on its events are recognised by id."""
        self.rewritten.add(source.id)

    def state(self) -> dict[str, Any]:
        """Return the passed events, as JSON."""
        numbers = {str(key): seq for key, seq in self._next.items()}
        row: dict[str, Any] = {"numbers": numbers, "rewritten": sorted(self.rewritten)}
        return row | ({"passed": sorted(self._passed)} if self.rewritten else {})  # without one the numbers suffice


class PositionDedup(CatchUpDedup):
    """Finds everything new: events without native ids are known by their position, and no position is read twice."""

    def is_new(self, _event: Event, _source: Source) -> bool:
        """Return True."""
        return True

    def add(self, _event: Event, _source: Source) -> None:
        """Remember nothing."""


class CatchUpStream:
    """One output and its own stream."""

    def __init__(self, output: Output, key: SessionKey, ledger: Ledger, catalog: Catalog, log: EventLog) -> None:
        behind: dict[str, Any] = output.row.behind or {}
        self.output = output
        self.native_ids = AGENTS[key.agent].nature.has_native_ids
        seen = CatchUpDedup if self.native_ids else PositionDedup
        self.seen = seen(output.row.session, ledger, catalog, behind)
        self.stream = SessionStream(key, self.seen, log, behind.get("metadata"))
        self.offsets: dict[int, int] = {int(key): offset for key, offset in behind.get("offsets", {}).items()}
        self._digests: dict[int, str] = {int(key): digest for key, digest in behind.get("digests", {}).items()}
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
        self.output.interrupt("gap")
        self._reach(source, source.cursor.offset)

    def is_behind(self, source: Source) -> bool:
        """Return whether the session has read more of a source, or something else of a database."""
        if source.id in self._digests:
            return self._digests[source.id] != source.cursor.anchor.digest
        return self.offsets.get(source.id, 0) < source.cursor.offset

    def _reach(self, source: Source, offset: int) -> None:
        """Note that the output has everything of a source up to an offset."""
        self.offsets[source.id] = offset
        self._digests |= digests_of([source])

    def take(self, source: Source, batch: Batch, name: Name, *, is_document: bool) -> None:
        """Print the events in a batch of a source.

        The stream takes them all, also behind the end of the last range: the recording may go on before this output
        has rejoined its session.
        """
        self.seen.read_document(is_document=is_document)
        translation = self.stream.open(source, self.states.get(str(source.id)))
        for event in self.stream.events(source, batch.lines, refold=is_document):
            self.output.take(event, self.stream.metadata)
            if self.output.waits and self.output.printer.headed:
                name(self.output, event, self.stream.metadata)
        self.states[str(source.id)] = translation.state()
        if self.seen.has_left:
            self.stream.reopen(source)
            del self.states[str(source.id)]
        end = source.cursor.offset
        self._reach(source, end if is_document else min(batch.cursor.offset, end))

    def ending(self) -> str:
        """Return the mark of a missing part, if the output ends where a rewrite removed what it should end with."""
        printer = self.output.printer
        return printer.missing(self.stream.metadata) if self.seen.rewritten and not printer.done else ""

    @property
    def is_done(self) -> bool:
        """Whether all ranges of the output were printed."""
        return self.output.printer.done

    def settle(self) -> None:
        """Print the marks after the last event that was printed."""
        if self.stream.metadata.last:
            self.output.settle(self.stream.metadata)

    def finished(self, sources: Iterable[Source]) -> None:
        """Note which rewritten sources were read to their ends again."""
        self.unread -= {source.id for source in sources if source.is_finished}

    def state(self) -> dict[str, Any]:
        """Return the stream's position, as JSON."""
        offsets = {str(key): offset for key, offset in self.offsets.items()}
        row: dict[str, Any] = {"metadata": self.stream.state(), "states": dict(self.states), "offsets": offsets}
        row |= {"digests": {str(key): digest for key, digest in self._digests.items()}} if self._digests else {}
        return row | ({"unread": sorted(self.unread)} if self.unread else {}) | self.seen.state()


def digests_of(sources: Iterable[Source]) -> dict[int, str]:
    """Return what says how far sources in a database were read: several states of a session can have the same time."""
    return {one.id: one.cursor.anchor.digest for one in sources if one.spec.is_contained(one.path)}


class CatchUp:
    """Advances outputs with their own stream until they have caught up with their session."""

    def __init__(
        self, ledger: Ledger, catalog: Catalog, log: EventLog, delivery: Delivery, join: Join, name: Name
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._delivery = delivery
        self._join = join
        self._name = name
        self._followers: dict[Output, CatchUpStream] = {}

    def __contains__(self, output: Output) -> bool:
        return output in self._followers

    def add(self, output: Output) -> None:
        """Follow an output from its own position on."""
        key = self._ledger.session(output.row.session).key
        self._followers[output] = CatchUpStream(output, key, self._ledger, self._catalog, self._log)

    def outputs(self) -> list[Output]:
        """Return the outputs that catch up on their own."""
        return list(self._followers)

    def of_session(self, session_id: int) -> dict[int, Output]:
        """Return those of one session, by number."""
        return {output.id: output for output in self._followers if output.row.session == session_id}

    def resynced(self, source: Source) -> None:
        """Restart a rewritten source for all outputs that catch up with its session."""
        for output, follower in self._followers.items():
            if output.row.session == source.session:
                follower.restart(source)
                output.fall_behind(follower.state())
                self._save(output)

    def drop(self, output: Output) -> None:
        """Stop following an output (the step that created it was undone)."""
        self._followers.pop(output, None)

    def forget_session(self, session_id: int) -> None:
        """Stop following the outputs of a session that the ledger no longer has."""
        for output in self.of_session(session_id).values():
            self.drop(output)

    def revert(self, outputs: Iterable[Output]) -> None:
        """Return to the ledger's state of the outputs that an undone step changed; drop those that it created."""
        for output in outputs:
            if output in self._followers and not self._restore(output):
                self.drop(output)

    def _restore(self, output: Output) -> bool:
        """Follow an output again from what the ledger has of it, False if it has nothing."""
        stored = next((row for row in self._ledger.outputs(output.row.session) if row.id == output.id), None)
        if stored is None:
            return False
        output.restore(stored)
        self.add(output)
        return True

    def advance(self, now: float, budget: int) -> bool:
        """Retry what is parked and due, and advance every output by about `budget` bytes of its session.

        Returns whether there is more to do now.
        """
        outputs = self.outputs()
        for output in self._delivery.due(now):
            self.retry(output)
        more = False
        for output in outputs:
            if output in self._followers:  # otherwise it was dropped with a session that failed
                more |= self.isolated_step(output, budget)
            if self.may_join(output) and not self._join(output):
                self.postpone(output)
        return more

    def isolated_step(self, output: Output, budget: int) -> bool:
        """Advance one output; if something unexpected happens, only this output waits and is retried later."""
        return self._isolated(output, partial(self.step, output, budget))

    def retry(self, output: Output) -> None:
        """Write what waits for a parked output; if something unexpected happens, only this output waits longer."""
        self._isolated(output, partial(self._retry, output))

    def _retry(self, output: Output) -> None:
        if not self._delivery.retry(output):
            self._save(output)

    def _save(self, output: Output) -> None:
        with self._ledger.transaction():
            output.save(self._ledger)

    def _isolated(self, output: Output, act: Callable[[], bool | None]) -> bool:
        try:
            return bool(act())
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is shown and retried
            self._failed(output, error)
            return False

    def _failed(self, output: Output, error: Exception) -> None:
        """Return to the ledger's state of an output whose step failed; it is shared with the active session.

        If the ledger still has an open intent that was written since, the retry finds it in the file, as after a crash.
        """
        if self._restore(output):
            self._delivery.forget(output)
            self._park(output, failure_of(error))

    def postpone(self, output: Output) -> None:
        """Retry an output later whose session could not be loaded for it to join."""
        if output in self._followers:
            self._park(output, "its session could not be loaded")

    def _park(self, output: Output, problem: str) -> None:
        self._delivery.park(output, OutputError(problem))
        self._save(output)

    def detach(self, output: Output, session: ActiveSession) -> None:
        """Let an unwritable output stay at its position while its session continues."""
        behind = {
            "metadata": session.stream.state(),
            "offsets": {str(source.id): source.cursor.offset for source in session.sources},
            "states": {str(source.id): session.stream.open(source).state() for source in session.sources},
            "numbers": {str(source.id): session.seen.seq for source in session.sources},
            "digests": {str(key): digest for key, digest in digests_of(session.sources).items()},
        }
        output.fall_behind(orjson.loads(orjson.dumps(behind)))  # a copy: the session's own states keep changing
        self._save(output)
        self.add(output)

    def step(self, output: Output, budget: int) -> bool:
        """Advance one output; return whether there is more to do now."""
        follower = self._followers[output]
        if not self._may_print(output):
            return False
        with self._ledger.transaction():
            follower.settle()
            progress = self._advance(follower, budget)
            if not self._delivery.is_parked(output):
                output.clear_problem()
            done = follower.is_done or (progress == "arrived" and not output.open)
            if done:
                output.add(follower.ending())
                self._note_lost(output)
            self._delivery.save_assets(output)
            output.stage()
            if done and output.row.intent is None:
                output.rejoin()
            else:
                output.fall_behind(follower.state())
            output.save(self._ledger)
        return self._deliver(output, done=done) and progress == "read"

    def _note_lost(self, output: Output) -> None:
        """Note that nothing is written of a copy: what it begins with was removed from the session since."""
        if not output.row.is_copy or output.printer.headed:
            return
        output.release()
        key = self._ledger.session(output.row.session).key
        word = "keep" if output.row.ranges[0].start else "export"
        self._ledger.add_refusal(RefusalRow(0, key, output.row.since, word, _LOST))
        self._log.command_refused(word, str(key))

    def _may_print(self, output: Output) -> bool:
        """Return whether an output can take more text now: nothing waits to be written, and its file is not missing."""
        if output.row.intent is not None or self._delivery.is_parked(output):
            return False
        if self._delivery.check(output):
            return True
        self._save(output)
        return False

    def _deliver(self, output: Output, *, done: bool) -> bool:
        """Write a step's text; return whether the follower continues."""
        self._delivery.saved([output])
        written = self._delivery.deliver(output)
        if not written:
            self._save(output)
        if done and written:
            output.rejoin()
            self._delivery.settle()  # a rewritten session moves no position from now on: the ledger must have none
            self.drop(output)
            if output.row.is_copy and output.row.made:
                self._delivery.tell(News.of("written", output.row))
            return False
        return written

    def may_join(self, output: Output) -> bool:
        """Return whether an output has caught up with its session, so that it may follow it live."""
        follows = output in self._followers and not self._delivery.is_parked(output)
        if not follows or output.row.intent is not None or not output.open:
            return False
        follower = self._followers[output]
        return not any(follower.is_behind(source) for source in self._catalog.of_session(output.row.session))

    def leave(self, output: Output) -> None:
        """Let an output that has caught up follow its session."""
        self.drop(output)
        output.rejoin()
        output.clear_problem()

    def _advance(self, follower: CatchUpStream, budget: int) -> Progress:
        """Read a batch of the first source that is behind its session's cursor."""
        if follower.is_done:
            return "arrived"
        sources = self._catalog.of_session(follower.output.row.session)
        for source in sources:
            if follower.is_behind(source):
                left = source.cursor.offset - follower.offsets.get(source.id, 0)
                return self._read(follower, source, min(left, budget))
        follower.finished(sources)
        return None if follower.unread else "arrived"

    def _read(self, follower: CatchUpStream, source: Source, budget: int) -> Progress:
        """Read a batch of one source. If it was rewritten or is being written, the session's next step comes first."""
        try:
            with source.spec.open(source.path) as file:
                if not file.is_document:  # what is new in a newer document is left out by its ids
                    file.verify_anchor(source.cursor)
                batch = file.read(Cursor(follower.offsets.get(source.id, 0)), budget)
                is_document = file.is_document
        except SourceGone:  # the content is lost to this output, and a mark says so
            follower.skip(source)
            return "read"
        except SourceChanged:
            return None
        except SourceError as error:
            self._delivery.park(
                follower.output, OutputError(f"its session cannot be read: {error.what}", hint=error.hint)
            )
            return None
        if batch.lines:
            follower.take(source, batch, self._name, is_document=is_document)
            return "read"
        if is_document:
            return None
        follower.skip(source)
        return "read"


class Checkpoint:
    """Takes the outputs of a session from one committed step to the next."""

    def __init__(self, ledger: Ledger, catalog: Catalog, delivery: Delivery, catch_up: CatchUp) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._delivery = delivery
        self._catch_up = catch_up

    def check(self, session: ActiveSession) -> None:
        """Look at the outputs before anything is printed; one whose file is missing is detached."""
        missing = [output for output in session.live if not self._delivery.check(output)]
        for output in missing:
            output.keep_printer()
            self._catch_up.detach(output, session)
        session.leave_live()

    def save(self, session: ActiveSession) -> None:
        """Store the step, including its intents, within its transaction."""
        for output in session.live:
            self._delivery.save_assets(output)
        session.save(self._ledger)
        self._catalog.saved(session.sources)

    def deliver(self, session: ActiveSession) -> None:
        """Append the intents of a committed step; an output that cannot be written is detached until it can be."""
        session.saved()
        self._delivery.saved(session.live)
        for output in session.live:
            if not self._delivery.deliver(output):
                self._catch_up.detach(output, session)
        session.leave_live(closed=True)
