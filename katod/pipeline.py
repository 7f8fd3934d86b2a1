"""One step: new records of one source are read, translated, checked for commands, recorded, formatted and written.

Read this file first. `Pipeline._translate` runs the stages in this order:

    discover ─▶ tail ─▶ agents ─▶ command ─▶ record ─▶ formats ─▶ write

A step is one transaction of the ledger, which stores the cursors and the bytes to be appended (the intents), followed
by the appends. Once the transaction is committed the bytes will be written, whatever happens.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import takewhile
from typing import Final, TypeVar

from katod import backoff
from katod.command.scan import find_command
from katod.discover.catalog import Catalog
from katod.discover.source import Source
from katod.errors import AgentFailed, LedgerError, SourceError, SourceGone, SourceUnusable
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.record.catchup import CatchUp, Checkpoint
from katod.record.controller import Controller
from katod.record.delivery import Delivery
from katod.record.news import Tell, tell_nobody
from katod.record.output import Output
from katod.record.policy import Policy
from katod.record.resync import Backfill, Resync
from katod.record.sample import NOT_UNDERSTOOD, sample
from katod.record.session import ActiveSession, ActiveSessions
from katod.store.ledger import Ledger
from katod.store.rows import SessionRow
from katod.tail.reader import Batch, SourceFile, unreadable_skipped

COALESCE: Final = 0.05  # seconds between two steps of one source: everything that arrives in between is one batch
RETRY_AFTER: Final = 2.0
LONGEST_RETRY: Final = 60.0
NOW: Final = float("inf")  # for `due`: everything, whenever it is due
STEP_BYTES: Final = 512 * 1024  # larger reads cost more per byte: their memory is mapped again each time
T = TypeVar("T")


class Schedule:
    """The sources waiting for a step: at once, then coalesced; unreadable ones with a backoff."""

    def __init__(self) -> None:
        self._waiting: dict[Source, float] = {}  # when (monotonic) each is due, in the order in which they were queued
        self._stepped: dict[Source, float] = {}  # when each was last stepped, of those whose next step has to wait
        self._failures: dict[Source, int] = {}  # how many times in a row each could not be read

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def queue(self, sources: Iterable[Source]) -> None:
        """Queue sources to be stepped as soon as their pace allows."""
        for source in sources:
            pause = RETRY_AFTER if source in self._failures else COALESCE
            at = self._stepped.get(source, 0.0) + pause
            self._waiting[source] = min(at, self._waiting.get(source, NOW))

    def forget(self, sources: Iterable[Source]) -> None:
        """Step these sources no more."""
        for source in sources:
            for known in (self._waiting, self._stepped, self._failures):
                known.pop(source, None)

    def due(self, now: float) -> list[Source]:
        """Return the sources that are due."""
        return [source for source, at in self._waiting.items() if at <= now]

    def done(self, source: Source, now: float) -> None:
        """Note that a source was read to its end; an unreadable one is retried, unless only a change can help."""
        del self._waiting[source]
        self._note_step(source, now)
        if not source.problem or source.unusable or now == NOW:
            self._failures.pop(source, None)
            return
        failures = self._failures[source] = self._failures.get(source, 0) + 1
        self._waiting[source] = now + backoff.pause(failures, first=1.0, longest=LONGEST_RETRY)

    def _note_step(self, source: Source, now: float) -> None:
        """Remember when a source was stepped, and forget the steps that no longer delay the next one."""
        self._stepped.pop(source, None)
        if now == NOW:
            return
        for other in list(takewhile(lambda other: now - self._stepped[other] > RETRY_AFTER, self._stepped)):
            del self._stepped[other]
        self._stepped[source] = now

    def deadline(self) -> float:
        """Return when (monotonic) the next step is due."""
        return min(self._waiting.values(), default=NOW)


class Pipeline:
    """The stages and what they share. Single-threaded: one step at a time."""

    def __init__(
        self, ledger: Ledger, catalog: Catalog, log: EventLog, policy: Policy, tell: Tell = tell_nobody
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._sessions = ActiveSessions(ledger, catalog, log)
        self.delivery = Delivery(ledger, log, tell)
        self._catch_up = CatchUp(ledger, catalog, log, self.delivery, self._join, self._name)
        self._resync = Resync(ledger, catalog, log, self._catch_up)
        self._backfill = Backfill(self._resync.resync)
        self.controller = Controller(ledger, catalog, log, tell, self._catch_up.add)
        self._checkpoint = Checkpoint(ledger, catalog, self.delivery, self._catch_up)
        self.use(policy)

    def use(self, policy: Policy) -> None:
        """Use these settings from the next step on; recordings that they no longer allow are ended."""
        self.controller.use(policy)
        self.delivery.use(policy.output_directory)
        for session in self._sessions.all():
            if policy.ends(session.row.cwd):
                self.between_steps(session.row.id, partial(self._end_unwanted, session))

    def load_all(self, session_id: int) -> ActiveSession:
        """Return a session like `load`, with all of its events known, so that a range that begins now has none of them.

        A document that is not recorded was only searched for commands.
        """
        session = self.load(session_id)
        self._backfill.finish(session, STEP_BYTES)
        for source in session.sources:
            with unreadable_skipped(), source.spec.open(source.path) as file:
                if file.is_document:
                    source.read_again()
                    self._translate(session, source, file, STEP_BYTES)
        return self.load(session_id)

    def step(self, source_id: int, budget: int = STEP_BYTES) -> bool:
        """Advance one source by about `budget` bytes at most; return whether more can be read now.

        Bad files raise nothing: if a source cannot be read, the problem is stored in its row, and it is retried when it
        changes.
        """
        source = self._catalog.sources[source_id]
        before = source.status()
        source.set_usable(usable=True)
        try:
            more = self._isolated(source.session, lambda: self._open_and_step(source, budget))
        except SourceError as error:
            self._catalog.note_problem(source, "" if isinstance(error, SourceGone) else error.what)  # agents delete
            source.set_usable(usable=not isinstance(error, SourceUnusable))
            return False
        if more is None:
            return False
        source.stepped(None if more else before)
        session = self._sessions.get(source.session)
        strange = session is not None and session.stream.open(source).counts.is_strange
        source.set_usable(usable=not strange)
        self._catalog.note_problem(source, NOT_UNDERSTOOD if strange else "")
        return more

    def _isolated(self, session_id: int, act: Callable[[], T]) -> T | None:
        """Do something with one session; return None if katod failed. One bad session must not stop all others.

        The failure is shown as a problem of its sources. The session is loaded again when one of them is stepped.
        """
        try:
            return act()
        except LedgerError:
            raise
        except Exception as error:
            if isinstance(error, SourceError) and not isinstance(error, AgentFailed):
                raise
            self.drop(session_id)
            self._sessions.failed.add(session_id)
            self._catalog.note_failed(session_id, error)
            return None

    def take_failed(self) -> list[Source]:
        """Return, once, the sources of the sessions that failed between two steps: a step of theirs is the retry."""
        failed = self._sessions.take_failed_between()
        return [source for session_id in failed for source in self._catalog.of_session(session_id)]

    def _open_and_step(self, source: Source, budget: int) -> bool | None:
        with source.spec.open(source.path) as file:
            return self._step(source, file, budget)

    def _step(self, source: Source, file: SourceFile, budget: int) -> bool | None:
        """Return whether more can be read now, None if an older source of the session failed."""
        self._resync.begin(source, file)
        session = self._session(source)
        self._verify(source, file, session)
        if session is None:
            batch = source.next_batch(file, budget)
            if not self._has_command(source, file, batch):
                sample(source, file, self._ledger)
                self.controller.successors.look(source, file, self.recorded())
                source.scanned_to(batch.cursor)
                return batch.more
            session = self.load(source.session)
        if not self._backfill.advance(session, budget, (source, file)):
            return True
        for older in [other for other in session.sources if other.id < source.id and other.may_have_more()]:
            while self.step(older.id, budget):
                pass
            if source.session in self._sessions.failed:
                return None
        if self._sessions.get(source.session) is not session:
            return True  # the older source ended the recording: start over
        return self._translate(session, source, file, budget)

    def _session(self, source: Source) -> ActiveSession | None:
        """Return the session of a source if it is translated: active, reloaded after a failure, or auto-recorded."""
        found = self._sessions.get(source.session)
        if found is not None:
            found.add_source(source)
            return found
        if source.session in self._sessions.failed and (reloaded := self._reload(source.session)):
            return reloaded
        first = source.cursor.offset == 0 and source.history == 0 and not source.after_ns
        if first and source.identity.key.subagent:
            self._read_parent(source)
        return self.load(source.session) if self.controller.wants(source, new=first) else None

    def _reload(self, session_id: int) -> ActiveSession | None:
        """Load a session whose last step failed, if it is being recorded."""
        if session_id in self._ledger.busy_sessions():
            return self.load(session_id)
        self._sessions.failed.discard(session_id)
        return None

    def _read_parent(self, source: Source) -> None:
        """Read a sub-agent's parent first: the recording that the sub-agent belongs to starts there."""
        parent = self._ledger.find_session(source.identity.key._replace(subagent=""))
        for other in self._catalog.of_session(parent.id) if parent else ():
            while self.step(other.id):
                pass

    def _verify(self, source: Source, file: SourceFile, session: ActiveSession | None) -> None:
        """Resync a source if what was read of it changed; a mark says so at once where something is missing."""
        if not self._resync.verify(source, file, session) and session is not None:
            self.between_events(session, lambda _: None)

    def _has_command(self, source: Source, file: SourceFile, batch: Batch) -> bool:
        """Scan the raw bytes of a session that is not recorded; if there is a command, the cursor stays before it.

        A document is read as a whole each time: in it, only what was not carried out yet counts.
        """
        found, near_misses = find_command(source.identity, batch)
        if not file.is_document:
            self.controller.note_near_misses(source, near_misses)
        elif (found is not None or near_misses) and not self.controller.has_new_command(source, batch):
            found = None
        self._catalog.changed(source)
        if found is None:
            return False
        source.stop_before(found, file, batch)
        return True

    def _translate(self, session: ActiveSession, source: Source, file: SourceFile, budget: int) -> bool:
        """Run the stages in order."""
        self._checkpoint.check(session)
        with self._ledger.transaction():
            before, batch = source.cursor, source.next_batch(file, budget)
            for event in session.stream.events(source, batch.lines, refold=file.is_document):
                self._handle(session, source, event)
            source.hold(before, pending=session.stream.has_pending(source))
            if batch.lines:
                self.controller.note_messages(source, session.stream.open(source).take_near_misses())
                source.translated_to(batch.cursor)
                self._checkpoint.save(session)
        if batch.lines:
            self._checkpoint.deliver(session)
            self._sessions.release(session)
        return batch.more

    def _handle(self, session: ActiveSession, source: Source, event: Event) -> None:
        """Pass one event on: to commands, auto-recording, outputs."""
        session.state_news.take(event)
        self.controller.take(session, source, event)
        for output in session.live:
            if output.waits:
                self._name(output, event, session.metadata)
            output.take(event, session.metadata)

    def _name(self, output: Output, event: Event, metadata: SessionMetadata) -> None:
        self.controller.name(output, event, metadata)

    def load(self, session_id: int) -> ActiveSession:
        """Return a session ready to be translated; one whose last step failed is taken up as after a start."""
        found = self._sessions.get(session_id)
        if found is not None:
            return found
        if session_id in self._sessions.failed:
            self._take_up(session_id)
            self._sessions.step_soon(session_id)  # what made it fail is still to be read
            return self.load(session_id)
        return self._loaded(session_id)

    def _loaded(self, session_id: int) -> ActiveSession:
        self.delivery.settle()  # what was written since is about to be read from the ledger
        return self._sessions.load(session_id, self._catch_up.of_session(session_id))

    def drop(self, session_id: int) -> None:
        """Drop a session whose step failed from memory; the ledger still has its state before the step."""
        session = self._sessions.drop(session_id)
        if session is None:
            return
        self._catch_up.revert(session.changes.outputs.values())
        for output in session.outputs.values():
            if output not in self._catch_up:
                self.delivery.forget(output)

    def forget(self, sessions: Collection[SessionRow]) -> None:
        """Forget sessions that the ledger no longer has, with their outputs."""
        for row in sessions:
            self._sessions.forget(row.id)
            self._catch_up.forget_session(row.id)
            self.delivery.forget_session(row.id)
        names = {str(row.key) for row in sessions}
        active = (output for session in self._sessions.all() for output in session.outputs.values())
        for output in {*active, *self._catch_up.outputs(), *self.delivery.waiting()}:
            if output.row.successor in names:
                output.set_successor("")

    # -- between two steps, and outputs that catch up on their own ---------------------------------------

    def resume(self) -> None:
        """After a start: complete open intents, and load the sessions being recorded."""
        for session_id in self._ledger.busy_sessions():
            self.between_steps(session_id, partial(self._take_up, session_id))

    def between_steps(self, session_id: int, act: Callable[[], T]) -> T | None:
        """Do something with one session; if katod fails, have its sources stepped again."""
        done = self._isolated(session_id, act)
        if session_id in self._sessions.failed:
            self._sessions.step_soon(session_id)
        return done

    def _take_up(self, session_id: int) -> None:
        """Load a session that is being recorded, complete its open intents, and end it if it is no longer wanted."""
        try:
            session = self._loaded(session_id)
        except Exception:
            self._complete_intents(session_id)
            raise
        self._catalog.clear_failed(session.sources)
        for output in session.outputs.values():
            written = self.delivery.retry(output)
            if output.row.behind is not None:
                self._catch_up.add(output)
            elif not written:
                self._backfill.finish(session, STEP_BYTES)
                self._catch_up.detach(output, session)
        session.leave_live()
        if self.controller.policy.ends(session.row.cwd):
            self._end_unwanted(session)

    def _complete_intents(self, session_id: int) -> None:
        """Write the committed text of a session that cannot be loaded: for that, nothing else is needed."""
        for row in self._ledger.outputs(session_id):
            if row.intent is not None:
                output = Output(row)
                self.delivery.retry(output)
                with self._ledger.transaction():
                    output.save(self._ledger)
                self.delivery.forget(output)  # the session has its own once it can be loaded

    def _end_unwanted(self, session: ActiveSession) -> None:
        self.between_events(session, self.controller.end_unwanted)

    def _join(self, output: Output) -> bool:
        """Let an output that has caught up with its session follow it live; return False if katod failed."""

        def act() -> bool:
            session = self.load(output.row.session)
            self._backfill.finish(session, STEP_BYTES)
            if self._catch_up.may_join(output):
                self._catch_up.leave(output)
                session.join(output)
                with self._ledger.transaction():
                    output.keep_printer()
                    output.save(self._ledger)
            return True

        return bool(self.between_steps(output.row.session, act))

    def follow(self, now: float, budget: int = STEP_BYTES) -> bool:
        """Retry parked outputs, and advance those that are behind; return whether there is more to do now."""
        return self._catch_up.advance(now, budget)

    def has_failed(self, session_id: int) -> bool:
        """Return whether the last step of a session failed."""
        return session_id in self._sessions.failed

    def recorded(self) -> list[ActiveSession]:
        """Return the sessions that are being recorded."""
        return [session for session in self._sessions.all() if session.recording is not None]

    def between_events(self, session: ActiveSession, act: Callable[[ActiveSession], None]) -> None:
        """Do something with a session between two events, in a step of its own."""
        self._backfill.finish(session, STEP_BYTES)
        self._checkpoint.check(session)
        try:
            with self._ledger.transaction():
                act(session)
                self._checkpoint.save(session)
        except BaseException:
            self.drop(session.row.id)
            self._sessions.failed.add(session.row.id)  # it is loaded again by the next step of one of its sources
            self._sessions.step_soon(session.row.id)
            raise
        self._checkpoint.deliver(session)
        self._sessions.release(session)

    @property
    def unsettled(self) -> bool:
        """Whether `flush` has anything to store."""
        return self._catalog.unsaved or self.delivery.unsettled

    def flush(self) -> None:
        """Store scan positions and close written intents: when idle, and at the end."""
        self._catalog.flush()
        self.delivery.settle()
