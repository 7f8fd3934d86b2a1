"""One step: what is new in one source, read, translated, obeyed, recorded, printed, written.

Read this file first. The stages stand in `Pipeline._translate` in their order:

    discover ─▶ tail ─▶ agents ─▶ command ─▶ record ─▶ formats ─▶ write

A step is one transaction of the ledger, which holds the cursors and the bytes to be appended (the
intents), and then the appends. From the transaction on the bytes will be written, whatever happens.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from katod import events as ev
from katod.agents import AGENTS
from katod.errors import LedgerError, SourceChanged, SourceError, SourceGone, shown
from katod.events import Event
from katod.log import EventLog
from katod.model import Command
from katod.record.attach import Attaching
from katod.record.catalog import Catalog
from katod.record.catchup import CatchUp
from katod.record.conversation import Conversation
from katod.record.delivery import Delivery
from katod.record.desk import Desk
from katod.record.ledger import Ledger
from katod.record.outputs import Outputs, Rules
from katod.record.rows import OutputRow, SourceRow
from katod.record.upgrade import rebuild
from katod.tail.reader import Cursor, Partial, SourceFile

STEP_BYTES: Final = 512 * 1024  # larger reads cost more a byte: their memory is mapped anew each time
Notify = Callable[[str, str], None]
T = TypeVar("T")


class Pipeline:
    """The stages and what they share. Single-threaded: one step at a time."""

    def __init__(
        self, ledger: Ledger, catalog: Catalog, log: EventLog, rules: Rules, notify: Notify = lambda *_: None
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._notify = notify
        self._open: dict[int, Conversation] = {}
        self._partials: dict[int, Partial] = {}
        self._unsaved: dict[int, SourceRow] = {}
        self._near_misses: Counter[int] = Counter()
        self._failed: set[int] = set()  # sessions to be taken up again from the ledger
        self._held: dict[int, Cursor] = {}  # where a source was when text began to be held back
        self.delivery = Delivery(ledger, log)
        self._catch_up = CatchUp(ledger, catalog, log, self.delivery)
        self._attaching = Attaching(ledger, log, self._catch_up)
        self.use(rules)

    def use(self, rules: Rules) -> None:
        """Obey these rules from the next step on; what they exclude now is ended."""
        self._rules = rules
        self._desk = Desk(Outputs(self._ledger, rules), self._log, self._notify, self._catch_up.add, self._catalog)
        for conversation in list(self._open.values()):
            if rules.excludes(conversation.row.cwd):
                end = partial(self._at_rest, conversation, self._desk.end_excluded)
                self._contained(conversation.row.id, end)

    def step(self, source_id: int, budget: int = STEP_BYTES) -> bool:
        """Take one source forward by about `budget` bytes at the most; returns whether more is there now.

        Bad files raise nothing: what cannot be read is noted in the row, and tried again when it changed.
        """
        source = self._catalog.sources[source_id]
        try:
            more = self._contained(source.session, lambda: self._open_and_step(source, budget))
        except SourceError as error:
            self._note_problem(source, "" if isinstance(error, SourceGone) else error.what)  # agents delete theirs
            return False
        if more is None:
            return False
        self._note_problem(source, "")
        return more

    def _open_and_step(self, source: SourceRow, budget: int) -> bool:
        with AGENTS[source.identity.key.agent].open(source.path) as file:
            return self._step(source, file, budget)

    def _contained(self, session_id: int, act: Callable[[], T]) -> T | None:
        """Do something to one session; None where katod failed. One bad session must not stop all others.

        It is shown as a problem of its sources, and taken up from the ledger when one of them is stepped.
        """
        try:
            return act()
        except (LedgerError, SourceError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is shown and tried again
            self.forget(session_id)
            self._failed.add(session_id)
            for source in self._catalog.of_session(session_id):
                self._note_problem(source, f"katod failed: {shown(error)}")
            return None

    def _step(self, source: SourceRow, file: SourceFile, budget: int) -> bool:
        self._set_baseline(source, file)
        conversation = self._conversation(source)
        self._prove(source, file, conversation)
        if conversation is None:
            return self._scan(source, file, budget)
        if not self._attaching.attach(conversation, budget):
            return True
        for older in [other for other in conversation.sources if other.id < source.id]:
            while self.step(older.id, budget):
                pass
        if self._open.get(source.session) is not conversation:
            return True  # what stood in the older source ended the recording: begin anew
        return self._translate(conversation, source, file, budget)

    def _scan(self, source: SourceRow, file: SourceFile, budget: int) -> bool:
        """Look for commands in the raw bytes of a session that is not recorded."""
        batch = file.read(source.cursor, budget, self._partials.pop(source.id, None))
        if batch.partial:
            self._partials[source.id] = batch.partial
        found, near_misses = self._attaching.find_command(source, file, batch)
        self._unsaved[source.id] = source
        self._near_misses[source.session] += near_misses
        if found is None:
            source.cursor = batch.cursor
            return batch.more
        source.cursor = Cursor(found.offset, file.anchor(found.offset))
        self._load(source.session)
        return True

    def _translate(self, conversation: Conversation, source: SourceRow, file: SourceFile, budget: int) -> bool:
        """The stages in their order."""
        for outlet in conversation.live:
            self.delivery.check(outlet)
        with self._ledger.transaction():
            batch = file.read(source.cursor, budget, self._partials.pop(source.id, None))
            if batch.partial:
                self._partials[source.id] = batch.partial
            translation = conversation.reader.translation(source, source.state)
            before = source.cursor
            for event in translation.feed(batch.lines):
                if conversation.admit(event, source):
                    self._pass(conversation, source, event)
                elif file.is_document:  # read again from its beginning, by a reader that may know nothing of it
                    conversation.metadata.fold(event)
            if translation.has_pending():
                self._held.setdefault(source.id, before)
            else:
                self._held.pop(source.id, None)
            if batch.lines:
                self._near_misses[source.session] += translation.take_near_misses() * (not file.is_document)
                source.cursor, source.translated = batch.cursor, batch.cursor.offset
                self._save(conversation)
        if batch.lines:
            self._deliver(conversation)
            self._release(conversation)
        return batch.more

    def _pass(self, conversation: Conversation, source: SourceRow, event: Event) -> None:
        """Take one event through: facts, commands, outputs."""
        metadata = conversation.metadata
        metadata.observe(event)
        if event.kind == ev.USER_COMMAND:
            self._desk.obey(conversation, source, event)
        if conversation.row.auto == "wanted":
            self._desk.begin_unasked(conversation)
        for outlet in conversation.live:
            outlet.take(event, metadata)
        metadata.close(event)

    def _conversation(self, source: SourceRow) -> Conversation | None:
        found = self._open.get(source.session)
        if found is not None:
            if source not in found.sources:
                found.sources.append(source)
                found.ready = False
            return found
        if source.session in self._failed:
            self._failed.discard(source.session)
            if source.session in self._ledger.busy_sessions():
                return self._take_up(source.session)
        first = source.cursor.offset == 0 and source.history == 0 and not source.after_ns
        if first and source.identity.key.subagent:
            self._read_parent(source)
        if first and self._desk.wants(self._ledger.session(source.session), self._ledger):
            return self._load(source.session)
        return None

    def _read_parent(self, source: SourceRow) -> None:
        """Read what a sub-agent's parent holds first: the recording that the sub-agent belongs to begins there."""
        parent = self._ledger.session_of(source.identity.key._replace(subagent=""))
        for other in self._catalog.of_session(parent.id):
            while self.step(other.id):
                pass

    def _load(self, session_id: int) -> Conversation:
        """Begin to translate a session: from what the ledger knows of it, else from its beginning."""
        found = self._open.get(session_id)
        if found is not None:
            return found
        self.delivery.settle()  # what was written since is read from the ledger now
        following = self._catch_up.rows()
        rows = {row.id: following.get(row.id, row) for row in self._ledger.outputs(session_id)}
        row = self._ledger.session(session_id)
        version = AGENTS[row.key.agent].adapter.version
        sources = self._catalog.of_session(session_id)
        stored = self._ledger.sources_of(session_id)
        whole = row.metadata is not None and all(
            kept.version == version and kept.translated == source.cursor.offset == kept.cursor.offset
            for source, kept in zip(sources, stored, strict=True)
        )
        for source, kept in zip(sources, stored, strict=True):
            source.state, source.translated = (kept.state, kept.translated) if whole else (None, 0)
        row.metadata = row.metadata if whole else None
        conversation = Conversation(row, sources, rows, self._ledger, self._log)
        for output in rows.values():
            rebuild(output, conversation, self._catalog, self._log)
        self._open[session_id] = conversation
        return conversation

    def _save(self, conversation: Conversation) -> None:
        """Store the step, intents included. Of a session that nobody records, no state is kept."""
        keep = conversation.recording is not None
        for source in conversation.sources:
            translation = conversation.reader.translation(source, source.state)
            source.state = translation.state() if keep else None
            source.version = translation.version if keep else None
            here = source.cursor
            if not keep:
                source.cursor = self._held.get(source.id, here)  # held-back words are not kept: they are read again
            self._ledger.save_source(source)
            source.cursor = here
            self._unsaved.pop(source.id, None)
        for outlet in conversation.live:
            self.delivery.save_assets(outlet)
            outlet.stage()
            conversation.keep(outlet.row)
        conversation.save(keep=keep)

    def _deliver(self, conversation: Conversation) -> None:
        """Append the intents; an output that cannot be written goes its own way until it can."""
        conversation.saved()
        rows = [outlet.row for outlet in conversation.live]
        self.delivery.saved(rows)
        for row in rows:
            if not self.delivery.deliver(row):
                self._catch_up.detach(row, conversation)
        conversation.live = [o for o in conversation.live if o.row.open and o.row.behind is None]

    def _release(self, conversation: Conversation) -> None:
        """Stop translating a session that nobody records any more."""
        wanted = conversation.recording or conversation.row.auto == "wanted" or conversation.reader.has_pending()
        if not wanted:
            self._open.pop(conversation.row.id, None)
            for source in conversation.sources:
                source.state, source.translated = None, 0

    def forget(self, session_id: int) -> None:
        """Drop what is in memory of a session whose step failed; the ledger has what was true before."""
        conversation = self._open.pop(session_id, None)
        if conversation is None:
            return
        for output_id in conversation.unsaved:
            self._catch_up.drop(output_id)
        for output_id in conversation.outputs.keys() - self._catch_up.rows().keys():
            self.delivery.forget(output_id)
        for stored in self._ledger.sources_of(session_id):
            source = self._catalog.sources[stored.id]
            source.cursor, source.baseline = stored.cursor, stored.baseline
            self._partials.pop(stored.id, None)
            self._unsaved.pop(stored.id, None)

    # -- outputs that follow on their own, and requests from the shell ------------------------------

    def resume(self) -> None:
        """After a start: complete open intents, and take up the sessions that were being recorded."""
        for session_id in self._ledger.busy_sessions():
            self._contained(session_id, partial(self._take_up, session_id))
        self.use(self._rules)

    def _take_up(self, session_id: int) -> Conversation:
        """Load a session that is being recorded, and complete its open intents."""
        conversation = self._load(session_id)
        for row in conversation.outputs.values():
            written = self.delivery.retry(row)
            if row.behind is not None:
                self._catch_up.add(row)
            elif not written:
                self._attaching.attach_all(conversation, STEP_BYTES)
                self._catch_up.detach(row, conversation)
        conversation.live = [o for o in conversation.live if o.row.behind is None]
        return conversation

    def follow(self, now: float, budget: int = STEP_BYTES) -> bool:
        """Take the outputs that follow on their own forward; returns whether more is to be done now."""
        rows = self._catch_up.rows()
        for output_id in self.delivery.due(now):
            self.delivery.retry(rows[output_id])
        more = False
        for output_id, row in rows.items():
            more |= self._catch_up.contained_step(output_id, budget)
            if row.open and row.intent is None and output_id in self._catch_up.rows():
                self._contained(row.session, partial(self._join, output_id, row))
        return more

    def _join(self, output_id: int, row: OutputRow) -> None:
        """Let an output that has come as far as its session follow it live."""
        conversation = self._load(row.session)
        self._attaching.attach_all(conversation, STEP_BYTES)
        outlet = self._catch_up.arrived(output_id)
        if outlet is not None:
            conversation.outputs[output_id] = outlet.row
            conversation.live.append(outlet)
            with self._ledger.transaction():
                outlet.row.recorder = outlet.recorder.state()
                self._ledger.save_output(outlet.row)

    def request(self, session_id: int, command: Command, time: str, once: str) -> str:
        """Carry out a shell's command at the end of what the session holds, once; returns a refusal or nothing."""
        for source in self._catalog.of_session(session_id):
            while self.step(source.id):
                pass
        refusal = self._contained(session_id, lambda: self._carry_out(session_id, command, time, once))
        return "katod failed to read this session: see `katod status`" if refusal is None else refusal

    def _carry_out(self, session_id: int, command: Command, time: str, once: str) -> str:
        conversation = self._load(session_id)
        if conversation.is_applied(once):
            return ""
        answer: list[str] = []

        def act(found: Conversation) -> None:
            found.applied[once] = None
            at = found.metadata.last
            answer.append(self._desk.carry_out(found, command, at, time=time, typed=False))

        self._at_rest(conversation, act)
        return answer[0]

    def _at_rest(self, conversation: Conversation, act: Callable[[Conversation], None]) -> None:
        """Do something to a session between two events, as a step of its own."""
        self._attaching.attach_all(conversation, STEP_BYTES)
        for outlet in conversation.live:
            self.delivery.check(outlet)
        try:
            with self._ledger.transaction():
                act(conversation)
                self._save(conversation)
        except BaseException:
            self.forget(conversation.row.id)
            raise
        self._deliver(conversation)
        self._release(conversation)

    def _set_baseline(self, source: SourceRow, file: SourceFile) -> None:
        """End the history of a source that is opened for the first time: behind its last newline back then."""
        if source.baseline is None:
            if file.is_document and source.history:
                self._attaching.note_history(source, file)
            source.baseline = file.last_newline(source.history)
            source.cursor = Cursor(source.baseline, file.anchor(source.baseline))
            self._unsaved[source.id] = source

    def _prove(self, source: SourceRow, file: SourceFile, conversation: Conversation | None) -> None:
        try:
            file.prove(source.cursor)
        except SourceChanged as change:
            self._attaching.realign(source, file, conversation, change.what)
            self._unsaved[source.id] = source
            if conversation is not None:
                self._at_rest(conversation, lambda _: None)
        source.read_ns = file.mtime_ns

    def _note_problem(self, source: SourceRow, problem: str) -> None:
        if source.problem != problem:
            source.problem = problem
            self._unsaved[source.id] = source
            if problem:
                self._log.source_unreadable(source.path, problem)

    @property
    def unsettled(self) -> bool:
        """Say whether `flush` has anything to store."""
        return bool(self._unsaved or self._near_misses) or self.delivery.unsettled

    def flush(self) -> None:
        """Store scan positions and close written intents: in a quiet second, and at the end."""
        if self._unsaved or self._near_misses:
            with self._ledger.transaction():
                for source in self._unsaved.values():
                    self._ledger.save_source(source)
                self._ledger.add_near_misses(self._near_misses)
            self._unsaved.clear()
            self._near_misses.clear()
        self.delivery.settle()
