"""Carries out commands from the chat or the shell: turns them into ranges and outputs."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, Literal

from katod import events as ev
from katod.agents.spec import SPAWNED
from katod.agents.toolcalls import one_line
from katod.command.grammar import Action, RecordingState, command_of, decide
from katod.discover.catalog import Catalog
from katod.discover.source import Source
from katod.errors import TargetRefused
from katod.events import Event
from katod.exchanges import KeptExchanges
from katod.formats.redact.redactor import redact
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Command, NearMiss, Range, Target
from katod.record.history import is_history, said, said_in
from katod.record.naming import OutputNaming, auto_target, words_that_name
from katod.record.news import News, Tell
from katod.record.output import Output
from katod.record.policy import Policy
from katod.record.promptfiles import why_not_typed
from katod.record.session import ActiveSession
from katod.record.successor import Successors
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, RefusalRow
from katod.tail.reader import Batch
from katod.text import clean
from katod.write.safe import is_transient

Follow = Callable[[Output], None]
_PAUSED: Final = "recording is paused: run `katod pause --end` first"
_LONGEST_SHOWN: Final = 80
_SAID: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND})
_SPOKEN: Final = frozenset({ev.ASSISTANT_MESSAGE, ev.ASSISTANT_THINKING, ev.TOOL_CALL, ev.DECISION_PROMPT})
_NAMING: Final = frozenset({ev.AGENT_START, ev.AGENT_END})  # a sub-agent's folder is called like the file


class Controller:
    """Decides what is recorded where, in memory and in the ledger's open transaction; writes no file."""

    def __init__(self, ledger: Ledger, catalog: Catalog, log: EventLog, tell: Tell, follow: Follow) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._tell = tell
        self._follow = follow
        self.successors = Successors(ledger, log, tell)
        self.naming: OutputNaming

    @property
    def policy(self) -> Policy:
        """The settings in effect."""
        return self.naming.policy

    def use(self, policy: Policy) -> None:
        """Use these settings from now on."""
        self.naming = OutputNaming(self._ledger, policy)
        self._destinations: list[str] = [to.destination for to in policy.settings.deliveries.values() if to.destination]

    def take(self, session: ActiveSession, source: Source, event: Event) -> None:
        """Carry out the event if it is a command, and auto-record its session if that is due."""
        if event.kind == ev.USER_COMMAND:
            self.handle(session, source, event)
        if session.row.auto == "wanted":
            self.leave_copies(session, event)
        if session.row.auto == "wanted":
            self.auto_record(session, event)

    def handle(self, session: ActiveSession, source: Source, event: Event) -> None:
        """Carry out one typed command, exactly once; a refusal is stored for `katod status`."""
        applied, key = session.changes.applied, event.dedup_key
        if key in applied or self._ledger.is_applied(key):
            return
        applied[key] = None
        if is_history(event, source, self._catalog):
            return
        command = command_of(event)
        if self.policy.paused and command.word != "stop":  # to stop is always allowed
            self.refuse(session, command.word, event.time, _PAUSED)
        elif event.beside and (refused := why_not_typed(event, session.metadata.cwd or session.row.cwd)):
            self.refuse(session, command.word, event.time, refused)
        else:
            self.carry_out(session, command, event.id, time=event.time, source=source.path)

    def carry_out(self, session: ActiveSession, command: Command, at: str, *, time: str, source: str = "") -> str:
        """Carry out a command at an event of a source; return why it was refused, if it was.

        Without a source, it was not typed: it is carried out after the event.

        Raises OSError for a temporary problem of the machine: the step is undone, and the command carried out when the
        step is repeated.
        """
        try:
            _Act(self, session, at, time, source).do(command)
        except (TargetRefused, OSError) as refusal:
            reason = reason_of(refusal)
            if not command.question:  # whoever clicks reads the reason at once
                self.refuse(session, command.word, time, reason)
            return reason
        self._log.command_applied(command.word, str(session.row.key))
        return ""

    def refuse(self, session: ActiveSession, word: str, time: str, reason: str) -> None:
        """Say of a command, or of its name, that it was refused: to `katod status`, the log and the desktop."""
        session.changes.refusals.append((time, word, reason))
        self._say_refused(session.metadata, word, reason)

    def _say_refused(self, metadata: SessionMetadata, word: str, reason: str) -> None:
        self._log.command_refused(word, str(metadata.key))
        self._tell(News.about("refused", metadata, f"::{word}: {reason}"))

    def note_near_misses(self, source: Source, misses: list[NearMiss]) -> None:
        """Remember lines that look like commands for `katod status`; the first one of a session is notified, too."""
        if misses and not source.near_misses and not self._ledger.has_near_miss(source.identity.key):
            self._tell(News("near miss", what=str(misses[0])))
        source.add_near_misses(misses)

    def has_new_command(self, source: Source, batch: Batch) -> bool:
        """Return whether a document has a command that is not carried out yet; if not, note its near misses."""
        commands, near_misses = said_in(source, batch, self._log)
        if not all(map(self._ledger.is_applied, commands)):
            return True  # it is translated next, with its near misses
        self.note_messages(source, near_misses)
        return False

    def note_messages(self, source: Source, found: list[tuple[Event, NearMiss]]) -> None:
        """Remember the near misses of messages that are not history, once for each message."""
        waiting = {miss.message for miss in source.near_misses}
        new = [
            miss
            for event, miss in found
            if miss.message not in waiting
            and not self._ledger.is_applied(miss.message)
            and not is_history(event, source, self._catalog)
        ]
        self.note_near_misses(source, new)

    # -- auto-recording -----------------------------------------------------------------------------

    def wants(self, source: Source, *, new: bool) -> bool:
        """Return whether the session of a source may be auto-recorded; decided once, when it is new."""
        session = self._ledger.session(source.session)
        if new and session.auto == "":
            session = session._replace(auto="wanted" if self.policy.may_auto_record() else "no")
            with self._ledger.transaction():
                self._ledger.save_session(session)
        return session.auto == "wanted"

    def leave_copies(self, session: ActiveSession, event: Event) -> None:
        """Never auto-record what goes on from a forgotten session: it names that, or begins with what was said there.

        Sub-agents follow the session that started them.
        """
        start = session.metadata.start
        parent = session.row.key._replace(id=start.parent) if start.parent and start.origin != SPAWNED else None
        is_copy = event.kind in _SAID and self._catalog.was_forgotten(said(event))
        if is_copy or (parent is not None and self._catalog.has_forgotten(parent)):
            session.decide_auto("off")

    def auto_record(self, session: ActiveSession, event: Event) -> None:
        """Start a recording without a command, once the session's project and title are known, or the agent speaks.

        Not every session has both: its project may be in no file, and its first words may be those of a client.
        """
        metadata = session.metadata
        if session.recording is not None or self.policy.paused:
            session.decide_auto("no")  # a command was typed before, and one recording of a session is enough
            return
        speaks = event.kind in _SPOKEN and event.session.subagent == session.row.key.subagent
        if not speaks and not (metadata.best_title and metadata.cwd):
            return
        try:
            output = self._auto_output(session, self.naming.in_project(metadata.cwd))
        except (TargetRefused, OSError) as refusal:
            self.refuse(session, "start", metadata.time, f"auto-record: {reason_of(refusal)}")
            output = None
        session.decide_auto("no" if output is None else "yes")
        if output is not None:
            session.point_at(output)
            self.begin_at_start(session, output, Range(start=""), metadata.time)

    def _auto_output(self, session: ActiveSession, naming: OutputNaming) -> Output | None:
        """Return a new output to auto-record a session to, None if it is not to be. Raises TargetRefused."""
        metadata = naming.titled_by_person(session.metadata) or session.metadata
        if not metadata.best_title:
            metadata = naming.untitled(metadata, metadata.time)
        target = auto_target(session.row.key, metadata, naming)
        if target is None:
            return None
        if refused := naming.refused_for(target):
            self.refuse(session, "start", metadata.time, f"auto-record: {refused}")
        return Output(naming.make(session.row, target, metadata))

    # -- ranges ---------------------------------------------------------------------------------------

    def end_unwanted(self, session: ActiveSession) -> None:
        """End the recording of a project that the settings now exclude, or any one while katod is paused."""
        output, last = session.recording, session.metadata
        if output is None or not self.policy.ends(last.cwd):
            return
        if self.policy.paused:
            self.end(session, output, last.last, time=self.policy.paused, mark="paused")
        else:
            self.end(session, output, last.last, time=last.time, mark="excluded")
        session.settle(output)

    def resume(self, session: ActiveSession, time: str) -> None:
        """Go on with a recording that a pause suspended, at the present end of its session.

        If its project is excluded by now, it ends for good.
        """
        output, last = session.present, session.metadata
        if output is None or session.recording is not None or not output.row.paused:
            return
        begun = Range(last.last, inclusive=False, start_time=time, switches=output.row.ranges[-1].switches)
        cwd = last.cwd or session.row.cwd
        if self.policy.in_project(cwd).excludes(cwd):
            self.end_paused(session, output, begun, time=time, mark="excluded")
        else:
            self.begin(session, output, begun, time)
        session.settle(output)

    def end_paused(
        self, session: ActiveSession, output: Output, begun: Range, *, time: str,
        mark: Literal["stopped", "excluded"] = "stopped",
    ) -> None:  # fmt: skip
        """End a recording for good that a pause suspended: with a mark and no further text."""
        output.add_range(begun._replace(marked=False))
        session.go_live(output)
        self.end(session, output, begun.start, time=time, mark=mark)

    def begin(self, session: ActiveSession, output: Output, begun: Range, since: str) -> None:
        """Open a range at this point of the session."""
        output.begin(begun, since)
        session.keep(output)
        session.go_live(output)
        self._announce(session, output)

    def begin_at_start(self, session: ActiveSession, output: Output, begun: Range, since: str) -> None:
        """Open a range at the beginning of the session: the output catches up with its own stream."""
        output.begin(begun, since)
        output.fall_behind({})
        session.keep(output)
        self._follow(output)
        if not begun.end:
            self._announce(session, output)

    def end(
        self, session: ActiveSession, output: Output, at: str, *, time: str = "",
        mark: Literal["stopped", "paused", "excluded"] = "stopped",
    ) -> None:  # fmt: skip
        """Close the open range of an output."""
        if output in session.live:
            output.release()
        output.end(at, time, mark)
        session.keep(output)
        self._log.recording_ended(str(session.row.key), output.id)
        self._tell(News.of(mark, output.row))

    def _announce(self, session: ActiveSession, output: Output) -> None:
        for destination in self._destinations:
            self._ledger.deliveries.begin(output.id, len(output.row.ranges) - 1, destination)
        self._log.recording_started(str(session.row.key), output.id)
        self._tell(News.of("waiting" if output.waits else "recording", output.row))

    # -- names that wait for words --------------------------------------------------------------------

    def name(self, output: Output, event: Event, metadata: SessionMetadata) -> None:
        """Name an output that waits for its first words, if this event has them: typed ones, or a plan with a heading.

        Kept exchanges begin with a question, whether or not it is known to be typed: that names them, or its time does.
        Words that say nothing, a picture, a sub-agent or much text end the wait of others without a title.
        Raises OSError for a temporary problem of the machine, as `carry_out` does.
        """
        words = words_that_name(event, is_asked=output.row.is_copy)
        named = self.naming.titled(metadata, words) if words else None
        if named is None and output.row.is_copy:
            named = self.naming.untitled(metadata, event.time)
        if named is not None:
            output.release(lambda row: self._rename(row, named))
        elif words or event.blobs or event.kind in _NAMING or output.holds_too_much:
            output.release()

    def _rename(self, row: OutputRow, metadata: SessionMetadata) -> OutputRow:
        """Give an output its name; if there is no file for it, it keeps the one of its project and time."""
        try:
            renamed = self.naming.in_project(metadata.cwd).rename(row, metadata)
        except (TargetRefused, OSError) as refusal:
            word, reason = "start" if row.open else "keep", reason_of(refusal)
            self._ledger.add_refusal(RefusalRow(0, metadata.key, metadata.time, word, reason))
            self._say_refused(metadata, word, reason)
            return row
        self._log.output_named(row.id)
        if row.open:  # for a copy, the news comes once it is written
            self._tell(News.of("named", renamed)._replace(title=metadata.title))
        return renamed


class _Act:
    """One command being carried out: a typed one at its own event, one from the shell after the session's last."""

    def __init__(self, controller: Controller, session: ActiveSession, at: str, time: str, source: str) -> None:
        self._controller = controller
        self._session = session
        self._at = at
        self._time = time
        self._source, self._typed = source, bool(source)
        self._refused = ""  # why the name could not be had
        self._naming = controller.naming
        self._kept: KeptExchanges | None = None  # what `::keep` writes

    def do(self, command: Command) -> None:
        """Carry it out. Raises TargetRefused."""
        session = self._session
        if command.word != "stop":  # to stop is always allowed
            self._check_allowed()
        if command.word == "stop":
            self._end_paused()
        if command.word == "keep":
            self._kept = self._exchanges(command)
        target = self._named(command) if command.name and command.word != "stop" else None
        recording, action = session.recording, self._decided(command, target)
        output = self._output(action, target, command)
        if command.word == "stop":
            session.decide_auto("off")
        if action.end and recording:
            self._end(recording)
        if output is not None:
            self._begin(action, output, command)
            self._tell_refused(output, command)

    def _tell_refused(self, output: Output, command: Command) -> None:
        """Say why the name could not be had, and at once where the words go instead."""
        if not self._refused:
            return
        path, home = output.row.path, self._naming.policy.home
        shown = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
        instead = f"katod writes to {shown} instead"
        if output.waits:
            instead = f"katod names the file after {'your next words' if self._kept is None else 'the question'}"
        session = self._session
        self._controller.refuse(session, command.word, session.metadata.time, f"{self._refused}; {instead}")

    def _end_paused(self) -> None:
        """End a recording for good that a pause suspended."""
        session, output = self._session, self._session.present
        if session.recording is not None or output is None or not output.row.paused:
            return
        begun = Range(self._at, inclusive=self._typed)
        self._controller.end_paused(session, output, begun, time=self._time)
        if not self._typed:
            session.settle(output)

    def _exchanges(self, command: Command) -> KeptExchanges:
        """Return the exchanges that a command keeps. Raises TargetRefused if there are none."""
        known = self._session.exchanges(self._source, self._at)
        if command.question:
            found = known.beginning_with(command.question)
        else:
            found = known.last(command.count, self._at if self._typed else "")
        if found is None:
            raise TargetRefused("nothing was asked before it in this session")
        return found

    def _check_allowed(self) -> None:
        """Raise TargetRefused if nothing is recorded now, or nothing of this project."""
        if self._controller.policy.paused:
            raise TargetRefused(_PAUSED)
        cwd = self._session.metadata.cwd or self._session.row.cwd
        self._naming = self._controller.naming.in_project(cwd)
        if excluding := self._naming.policy.excluding(cwd):
            raise TargetRefused(f"this project is excluded by {excluding}")

    def _decided(self, command: Command, target: Target | None) -> Action:
        state = RecordingState(_path(self._session.recording), _path(self._usable(self._session.present)))
        action = decide(command, state, str(target.path) if target else "")
        if self._refused and command.word == "start":  # another file was wanted
            return Action(end=bool(state.recording), begin="here", target="generated")
        return action

    def _named(self, command: Command) -> Target | None:
        """Return the target that was typed. A name that cannot be had costs nothing: without it, katod chooses one.

        From the shell, the refusal is the answer. Raises TargetRefused.
        """
        session, naming = self._session, self._naming
        try:
            target = naming.named(command.name, session.metadata, command.word)
            naming.claim(session.row, target, fresh=command.word != "start")
        except (TargetRefused, OSError) as refusal:
            if not self._typed:
                raise
            name = one_line(redact(clean(command.name)), _LONGEST_SHOWN)
            self._refused = f'the name "{name}" was refused: {reason_of(refusal)}'
            return None
        return target

    def _usable(self, present: Output | None) -> Output | None:
        """Return the current output, None if it ended in an output directory that was given up since."""
        if present is None or present.open or not self._naming.is_abandoned(present.row):
            return present
        return None

    @property
    def _asked(self) -> str:
        """When a command from the shell was given, which no event tells."""
        return "" if self._typed else self._time

    @property
    def _since(self) -> str:
        """When a new output begins, empty if that is before the command: with the first event in it."""
        return self._time if self._kept is None else ""

    def _output(self, action: Action, target: Target | None, command: Command) -> Output | None:
        """Return the output that an action writes to, created if it is new. Raises TargetRefused."""
        if action.target == "none":
            return None
        session, naming = self._session, self._naming
        if action.target == "present":
            return session.present
        whole = action.copy or action.begin == "beginning"
        named = self._titled(command, target, whole=whole)
        metadata = named or naming.untitled(session.metadata, self._time)
        chosen = target or naming.generated(metadata)
        own = naming.claim(session.row, chosen, fresh=whole)
        if own is not None:
            return session.outputs[own.id]
        if refused := naming.refused_for(chosen):
            self._refused = "; ".join(filter(None, (self._refused, refused)))
        switches = (*command.switches, ("subagents", False)) if action.copy else ()  # no mark in a copy has them
        output = Output(naming.make(session.row, chosen, metadata, switches))
        if named is None:
            output.hold(self._since)
        return session.keep(output)

    def _titled(self, command: Command, target: Target | None, *, whole: bool) -> SessionMetadata | None:
        """Return the metadata with the title of a new output, None if the words for it are still to be typed.

        It is the name as it was typed, without folder and suffix, or the title that the user gave the session. A
        recording of the `whole` session has its title, and exchanges that are kept that of their first question.
        """
        metadata, naming = self._session.metadata, self._naming
        if target is not None:
            return naming.titled_as(metadata, PurePosixPath(command.name).stem)
        if self._kept is not None:
            return None
        if (called := naming.titled_by_person(metadata)) is not None:
            return called
        if whole:
            return metadata
        named = naming.titled(metadata, command.words)
        nobody_types = bool(metadata.key.subagent) or metadata.start.origin == SPAWNED
        return naming.untitled(metadata, self._time) if named is None and (command.words or nobody_types) else named

    def _end(self, recording: Output) -> None:
        self._controller.end(self._session, recording, self._at, time=self._asked)
        if not self._typed:
            self._session.settle(recording)

    def _begin(self, action: Action, output: Output, command: Command) -> None:
        session, controller = self._session, self._controller
        if action.copy:
            controller.begin_at_start(session, output, self._copied(), self._time)
            return
        session.point_at(output)
        if action.begin == "beginning":
            mark_at = self._at if self._typed else ""
            begun = Range("", mark_at=mark_at, switches=command.switches, refused=self._refused)
            controller.begin_at_start(session, output, begun, self._time)
            return
        start = Range(
            self._at, inclusive=self._typed, start_time=self._asked, switches=command.switches, refused=self._refused
        )
        controller.begin(session, output, start, self._time)
        if not self._typed:
            session.settle(output)

    def _copied(self) -> Range:
        """Return the range of a copy: the session, or the exchanges that are kept, up to this command."""
        copied, kept = Range("", marked=False, end=self._at, end_mark="", refused=self._refused), self._kept
        if kept is None:
            return copied
        return copied._replace(start=kept.start, until=kept.until, end_mark="" if kept.is_whole else "unfinished")


def reason_of(refusal: TargetRefused | OSError) -> str:
    """Return why a name or command was refused. Raises the error if it is a temporary problem of the machine."""
    if isinstance(refusal, TargetRefused):
        return f"{refusal.what}{f' ({refusal.hint})' if refusal.hint else ''}"
    if is_transient(refusal):
        raise refusal
    return refusal.strerror or str(refusal)


def _path(output: Output | None) -> str:
    return str(output.row.path) if output else ""
