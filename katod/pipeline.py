"""One step: new records of one source are read, translated, checked for commands, recorded, formatted and written.

Read this file first. `Pipeline._translate` runs the stages in this order:

    discover ─▶ tail ─▶ agents ─▶ command ─▶ record ─▶ formats ─▶ write

A step is one transaction of the ledger, which stores the cursors and the bytes to be appended (the intents), followed
by the appends. Once the transaction is committed the bytes will be written, whatever happens.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from katod import events as ev
from katod.command.scan import find_command
from katod.discover.catalog import Catalog, Source
from katod.errors import LedgerError, SourceChanged, SourceError, SourceGone, SourceUnusable, safe_message
from katod.events import Event
from katod.log import EventLog
from katod.model import START, Command, Cursor
from katod.record.backfill import Backfill
from katod.record.catchup import CatchUp
from katod.record.controller import Controller
from katod.record.delivery import Delivery
from katod.record.history import has_new_command, note_document
from katod.record.news import Tell, tell_nobody
from katod.record.policy import Policy
from katod.record.restore import Missing
from katod.record.resync import resync
from katod.record.sample import NOT_UNDERSTOOD, sample
from katod.record.session import ActiveSession, ActiveSessions, LiveOutput
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow
from katod.tail.reader import Batch, SourceFile

STEP_BYTES: Final = 512 * 1024  # larger reads cost more per byte: their memory is mapped again each time
_INTERNAL: Final = "internal error: "
_UNREAD: Final = "katod could not read this session: see `katod status`"
T = TypeVar("T")


class Pipeline:
    """The stages and what they share. Single-threaded: one step at a time."""

    def __init__(
        self, ledger: Ledger, catalog: Catalog, log: EventLog, policy: Policy, tell: Tell = tell_nobody
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._sessions = ActiveSessions(ledger, catalog, log)
        self.delivery = Delivery(ledger, log, tell)
        self._catch_up = CatchUp(ledger, catalog, log, self.delivery)
        self._backfill = Backfill(self._resync)
        self._controller = Controller(ledger, catalog, log, tell, self._catch_up.add)
        self._use(policy)

    def _use(self, policy: Policy) -> None:
        self._controller.use(policy)
        self.delivery.directory = policy.output_directory

    def use(self, policy: Policy) -> None:
        """Use these settings from the next step on; recordings that they no longer allow are ended."""
        self._use(policy)
        for session in self._sessions.all():
            if policy.ends(session.row.cwd):
                self._between_steps(session.row.id, partial(self._end_unwanted, session))

    def pass_over(self, now_ns: int) -> None:
        """At the end of a pause: commands in what cannot be read yet, typed before this time, are history."""
        for source in self._catalog.sources.values():
            if not source.is_at_its_end():
                source.after_ns = now_ns
                self._catalog.changed(source)

    def resume_paused(self, time: str) -> None:
        """Go on with the recordings that ended because katod was paused, once their sessions are read to the end."""
        self._sessions.to_resume = {row.session: time for row in self._ledger.outputs() if row.paused}
        for session_id in list(self._sessions.to_resume):
            self._resume_paused(session_id)

    def _resume_paused(self, session_id: int) -> None:
        if not all(source.is_at_its_end() for source in self._catalog.of_session(session_id)):
            return  # a step that reads the rest is followed by another try
        time = self._sessions.to_resume.pop(session_id)

        def act() -> None:
            session = self._at_its_end(session_id)
            self._between_events(session, lambda session: self._controller.resume(session, time))

        self._between_steps(session_id, act)

    def _at_its_end(self, session_id: int) -> ActiveSession:
        """Return a session all of whose events are known, so that a range that begins now has none of them.

        A document that is not recorded was only searched for commands.
        """
        session = self._load(session_id)
        self._backfill.finish(session, STEP_BYTES)
        for source in session.sources:
            with suppress(SourceError), source.spec.open(source.path) as file:
                if file.is_document:
                    source.cursor = START  # all of it once more: what is known is left out by its ids
                    self._translate(session, source, file, STEP_BYTES)
        return self._load(session_id)

    def step(self, source_id: int, budget: int = STEP_BYTES) -> bool:
        """Advance one source by about `budget` bytes at most; return whether more can be read now.

        Bad files raise nothing: if a source cannot be read, the problem is stored in its row, and it is retried when it
        changes.
        """
        source = self._catalog.sources[source_id]
        before = source.status()
        source.unusable = False
        try:
            more = self._isolated(source.session, lambda: self._open_and_step(source, budget))
        except SourceError as error:
            self._catalog.note_problem(source, "" if isinstance(error, SourceGone) else error.what)  # agents delete
            source.unusable = isinstance(error, SourceUnusable)
            return False
        if more is None:
            return False
        source.read = None if more else before
        source.unusable = self._is_strange(source)
        self._catalog.note_problem(source, NOT_UNDERSTOOD if source.unusable else "")
        if not more and source.session in self._sessions.to_resume:
            self._resume_paused(source.session)
        return more

    def _is_strange(self, source: Source) -> bool:
        """Return whether most of what was translated of a source, if anything was, is not understood."""
        session = self._sessions.get(source.session)
        return session is not None and session.stream.open(source).counts.is_strange

    def _isolated(self, session_id: int, act: Callable[[], T]) -> T | None:
        """Do something with one session; return None if katod failed. One bad session must not stop all others.

        The failure is shown as a problem of its sources. The session is loaded again when one of them is stepped.
        """
        try:
            return act()
        except (LedgerError, SourceError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is shown and retried
            self.drop(session_id)
            self._sessions.failed.add(session_id)
            for source in self._catalog.of_session(session_id):
                self._catalog.note_problem(source, f"{_INTERNAL}{safe_message(error)}")
            return None

    def take_failed(self) -> list[Source]:
        """Return, once, the sources of the sessions that failed between two steps: a step of theirs is the retry."""
        failed, self._sessions.failed_between = self._sessions.failed_between, set()
        return [source for session_id in failed for source in self._catalog.of_session(session_id)]

    def _open_and_step(self, source: Source, budget: int) -> bool | None:
        with source.spec.open(source.path) as file:
            return self._step(source, file, budget)

    def _step(self, source: Source, file: SourceFile, budget: int) -> bool | None:
        """Return whether more can be read now, None if an older source of the session failed."""
        self._set_baseline(source, file)
        session = self._session(source)
        self._verify(source, file, session)
        if session is None:
            sample(source, file, self._ledger)
            batch = self._read(source, file, budget)
            if not self._has_command(source, file, batch):
                source.cursor = batch.cursor
                return batch.more
            session = self._load(source.session)
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

    def _set_baseline(self, source: Source, file: SourceFile) -> None:
        """Set the baseline of a source that is opened for the first time: after the last newline of its history."""
        if source.baseline is None:
            if file.is_document and source.history:
                note_document(source, file, self._ledger, self._log)
            source.baseline = file.last_newline(source.history)
            source.cursor = Cursor(source.baseline, file.anchor(source.baseline))
            self._catalog.changed(source)

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
        return self._load(source.session) if first and self._controller.wants(source) else None

    def _reload(self, session_id: int) -> ActiveSession | None:
        """Load a session whose last step failed, if it is being recorded."""
        if session_id in self._ledger.busy_sessions():
            return self._load(session_id)
        self._sessions.failed.discard(session_id)
        return None

    def _read_parent(self, source: Source) -> None:
        """Read a sub-agent's parent first: the recording that the sub-agent belongs to starts there."""
        parent = self._ledger.find_session(source.identity.key._replace(subagent=""))
        for other in self._catalog.of_session(parent.id) if parent else ():
            while self.step(other.id):
                pass

    def _verify(self, source: Source, file: SourceFile, session: ActiveSession | None) -> None:
        """Check that what was read is unchanged; resync the source if it is not."""
        try:
            file.verify_anchor(source.cursor)
        except SourceChanged as change:
            self._resync(source, file, session, change.what)
            if session is not None:
                self._between_events(session, lambda _: None)
        source.read_ns = file.mtime_ns

    def _resync(self, source: Source, file: SourceFile, session: ActiveSession | None, change: str) -> None:
        if not file.is_document:  # a document is rewritten with every message
            self._log.source_changed(str(source.identity.key), change)
        resync(source, file, session, self._ledger, self._log)
        self._catch_up.resynced(source)
        self._catalog.changed(source)

    def _read(self, source: Source, file: SourceFile, budget: int) -> Batch:
        """Return what is new in a source, as complete lines."""
        scanned, source.scanned = source.scanned, None
        if scanned is not None and scanned.start == source.cursor.offset:
            return scanned
        batch = file.read(source.cursor, budget, source.partial)
        source.partial = batch.partial
        return batch

    def _has_command(self, source: Source, file: SourceFile, batch: Batch) -> bool:
        """Scan the raw bytes of a session that is not recorded; if there is a command, the cursor stays before it.

        A document is read as a whole each time: in it, only commands not yet carried out count, and no near misses.
        """
        found, near_misses = find_command(source.identity, batch)
        if file.is_document:
            if found is not None and not has_new_command(source, batch, self._ledger, self._log):
                found = None
        else:
            self._controller.note_near_misses(source, near_misses)
        self._catalog.changed(source)
        if found is None:
            return False
        source.cursor = Cursor(found.offset, file.anchor(found.offset))
        source.scanned = None if file.is_document else batch.from_line(found)
        return True

    def _translate(self, session: ActiveSession, source: Source, file: SourceFile, budget: int) -> bool:
        """Run the stages in order."""
        self._check(session)
        with self._ledger.transaction():
            before, batch = source.cursor, self._read(source, file, budget)
            for event in session.stream.events(source, batch.lines, refold=file.is_document):
                self._handle(session, source, event)
            translation = session.stream.open(source)
            source.resume_at = (source.resume_at or before) if translation.has_pending() else None
            if batch.lines:
                near_misses = translation.take_near_misses()
                if not file.is_document:
                    self._controller.note_near_misses(source, near_misses)
                source.cursor, source.translated = batch.cursor, batch.cursor.offset
                self._save(session)
        if batch.lines:
            self._deliver(session)
            self._sessions.release(session)
        return batch.more

    def _check(self, session: ActiveSession) -> None:
        """Look at the outputs before anything is printed; one whose file is missing is detached."""
        missing = [output for output in session.live if not self.delivery.check(output)]
        for output in missing:
            output.row.printer = output.printer.state()
            self._catch_up.detach(output.row, session)
            session.live.remove(output)

    def _handle(self, session: ActiveSession, source: Source, event: Event) -> None:
        """Pass one event on: to commands, auto-recording, outputs."""
        session.attention.take(event)
        if event.kind == ev.USER_COMMAND:
            self._controller.handle(session, source, event)
        if session.row.auto == "wanted":
            self._controller.leave_copies(session, event)
        if session.row.auto == "wanted":
            self._controller.auto_record(session)
        for output in session.live:
            if output.waits:
                self._controller.name(session, output, event)
            output.take(event, session.metadata)

    def _load(self, session_id: int) -> ActiveSession:
        """Return a session ready to be translated; one whose last step failed is taken up as after a start."""
        found = self._sessions.get(session_id)
        if found is not None:
            return found
        if session_id in self._sessions.failed:
            self._take_up(session_id)
            self._sessions.failed_between.add(session_id)  # what made it fail is still to be read
            return self._load(session_id)
        return self._loaded(session_id)

    def _loaded(self, session_id: int) -> ActiveSession:
        self.delivery.settle()  # what was written since is about to be read from the ledger
        return self._sessions.load(session_id, self._catch_up.rows())

    def _save(self, session: ActiveSession) -> None:
        """Store the step, including its intents."""
        for output in session.live:
            self.delivery.save_assets(output)
        session.save(self._ledger)
        self._catalog.saved(session.sources)

    def _deliver(self, session: ActiveSession) -> None:
        """Append the intents; an output that cannot be written is detached until it can be."""
        session.saved()
        rows = [output.row for output in session.live]
        self.delivery.saved(rows)
        for row in rows:
            if not self.delivery.deliver(row):
                self._catch_up.detach(row, session)
        session.live = [output for output in session.live if output.row.open and output.row.behind is None]

    def drop(self, session_id: int) -> None:
        """Drop a session whose step failed from memory; the ledger still has its state before the step."""
        session = self._sessions.drop(session_id)
        if session is None:
            return
        self._catch_up.revert(session.changes.outputs)
        for output_id in session.outputs.keys() - self._catch_up.rows().keys():
            self.delivery.forget(output_id)

    def forget(self, session_id: int, outputs: Iterable[OutputRow]) -> None:
        """Forget a session that the ledger no longer has, with its outputs."""
        self._sessions.forget(session_id)
        for row in outputs:
            self._catch_up.drop(row.id)
            self.delivery.forget_for_good(row.id)

    # -- outputs that catch up on their own, and requests from the shell -------------------------------

    def resume(self) -> None:
        """After a start: complete open intents, and load the sessions being recorded."""
        for session_id in self._ledger.busy_sessions():
            self._between_steps(session_id, partial(self._take_up, session_id))

    def _between_steps(self, session_id: int, act: Callable[[], T]) -> T | None:
        """Do something with one session; if katod fails, have its sources stepped again."""
        done = self._isolated(session_id, act)
        if session_id in self._sessions.failed:
            self._sessions.failed_between.add(session_id)
        return done

    def _take_up(self, session_id: int) -> None:
        """Load a session that is being recorded, complete its open intents, and end it if it is no longer wanted."""
        session = self._loaded(session_id)
        for source in session.sources:
            if source.problem.startswith(_INTERNAL):
                self._catalog.note_problem(source, "")
        for row in session.outputs.values():
            written = self.delivery.retry(row)
            if row.behind is not None:
                self._catch_up.add(row)
            elif not written:
                self._backfill.finish(session, STEP_BYTES)
                self._catch_up.detach(row, session)
        session.live = [output for output in session.live if output.row.behind is None]
        if self._controller.policy.ends(session.row.cwd):
            self._end_unwanted(session)

    def _end_unwanted(self, session: ActiveSession) -> None:
        self._between_events(session, self._controller.end_unwanted)

    def follow(self, now: float, budget: int = STEP_BYTES) -> bool:
        """Advance the outputs that catch up on their own; return whether there is more to do now."""
        rows = self._catch_up.rows()
        for output_id in self.delivery.due(now):
            self._catch_up.retry(output_id)
        more = False
        for output_id, row in rows.items():
            if output_id not in self._catch_up.rows():  # dropped with a session that failed
                continue
            more |= self._catch_up.isolated_step(output_id, budget)
            if self._may_join(row) and not self._between_steps(row.session, partial(self._join, output_id, row)):
                self._catch_up.postpone(output_id)
        return more

    def _may_join(self, row: OutputRow) -> bool:
        follows = row.id in self._catch_up.rows() and not self.delivery.is_parked(row.id)
        return follows and row.open and row.intent is None

    def _join(self, output_id: int, row: OutputRow) -> bool:
        """Let an output that has caught up with its session follow it live."""
        session = self._load(row.session)
        self._backfill.finish(session, STEP_BYTES)
        output = self._catch_up.arrived(output_id)
        if output is not None:
            session.outputs[output_id] = output.row
            session.live.append(output)
            with self._ledger.transaction():
                output.row.printer = output.printer.state()
                self._ledger.save_output(output.row)
        return True

    def recorded(self) -> list[ActiveSession]:
        """Return the sessions that are being recorded."""
        return [session for session in self._sessions.all() if session.recording is not None]

    def request(self, session_id: int, command: Command, time: str, dedup_key: str) -> str:
        """Carry out a command from the shell once, at the end of the session; return a refusal or an empty string."""
        return self._at_end(session_id, lambda: self._carry_out(session_id, command, time, dedup_key))

    def restore(self, session_id: int, output_id: int) -> str:
        """Append to an output what is missing of it; return why that is not possible, or an empty string."""
        return self._at_end(session_id, partial(self._restore, session_id, output_id))

    def _at_end(self, session_id: int, act: Callable[[], str]) -> str:
        """Read a session to its end, and do something with it; return why that failed, or what `act` returns."""
        for source in self._catalog.of_session(session_id):
            while self.step(source.id):
                pass
        if session_id in self._sessions.failed:
            return _UNREAD
        refusal = self._between_steps(session_id, act)
        return _UNREAD if refusal is None else refusal

    def _restore(self, session_id: int, output_id: int) -> str:
        session = self._load(session_id)
        row = session.outputs.get(output_id)
        if row is None or row.behind is not None or row.intent is not None:
            return "the output is not at the end of its session: see `katod status`"
        if session.live_output(row) is None:
            session.live.append(LiveOutput(row))

        def act(session: ActiveSession) -> None:
            output = session.live_output(row)
            if output is not None:
                Missing(row, session.row.key, session.sources, self._log).append_to(output)

        try:
            self._between_events(session, act)
        except OSError as error:
            return f"the output cannot be read: {error.strerror}"
        return ""

    def _carry_out(self, session_id: int, command: Command, time: str, dedup_key: str) -> str:
        session = self._load(session_id) if command.word == "stop" else self._at_its_end(session_id)
        if self._ledger.is_applied(dedup_key):  # and the process ended before the answer was written
            return self._ledger.refusal(session.row.key, command.word, time)
        answer: list[str] = []

        def act(session: ActiveSession) -> None:
            session.changes.applied[dedup_key] = None
            last = session.metadata.last
            answer.append(self._controller.carry_out(session, command, last, time=time, typed=False))

        self._between_events(session, act)
        return answer[0]

    def _between_events(self, session: ActiveSession, act: Callable[[ActiveSession], None]) -> None:
        """Do something with a session between two events, in a step of its own."""
        self._backfill.finish(session, STEP_BYTES)
        self._check(session)
        try:
            with self._ledger.transaction():
                act(session)
                self._save(session)
        except BaseException:
            self.drop(session.row.id)
            self._sessions.failed.add(session.row.id)  # it is loaded again by the next step of one of its sources
            self._sessions.failed_between.add(session.row.id)
            raise
        self._deliver(session)
        self._sessions.release(session)

    @property
    def unsettled(self) -> bool:
        """Whether `flush` has anything to store."""
        return self._catalog.unsaved or self.delivery.unsettled

    def flush(self) -> None:
        """Store scan positions and close written intents: when idle, and at the end."""
        self._catalog.flush()
        self.delivery.settle()
