"""Obeys commands: from what was typed (or asked from the shell) to ranges and outputs."""

from collections.abc import Callable
from typing import Literal

from katod.agents.base import SPAWNED
from katod.command.machine import Action, Standing, decide
from katod.command.split import command_of
from katod.errors import TargetRefused
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Command, Range, SessionKey, Target
from katod.record.catalog import Catalog
from katod.record.conversation import Conversation, Outlet
from katod.record.copies import is_copy, typed_ns
from katod.record.ledger import Ledger
from katod.record.outputs import Outputs
from katod.record.rows import OutputRow, SessionRow, SourceRow
from katod.write.safe import is_passing


class Desk:
    """Where commands are carried out, in memory and in the ledger's open transaction; no file is written here."""

    def __init__(
        self, outputs: Outputs, log: EventLog, notify: Callable[[str, str], None],
        follow: Callable[[OutputRow], None], catalog: Catalog,
    ) -> None:  # fmt: skip
        self._outputs = outputs
        self._log = log
        self._notify = notify
        self._follow = follow
        self._catalog = catalog

    def obey(self, conversation: Conversation, source: SourceRow, event: Event) -> None:
        """Carry out one typed command, once and for all; a refusal is kept where the person looks."""
        if conversation.is_applied(event.dedup_key):
            return
        conversation.applied[event.dedup_key] = None
        if event.source.get("offset", 0) < (source.baseline or 0) or _too_old(event, source):
            return
        if is_copy(event, source, self._catalog):
            return
        self.carry_out(conversation, command_of(event), event.id, time=event.time)

    def carry_out(self, conversation: Conversation, command: Command, at: str, *, time: str, typed: bool = True) -> str:
        """Carry out a command at an event (behind it when it was not typed); returns why it was refused, or nothing."""
        session = str(conversation.row.key)
        try:
            self._act(conversation, command, at, time, typed=typed)
        except TargetRefused as refusal:
            reason = f"{refusal.what}{f' ({refusal.hint})' if refusal.hint else ''}"
            conversation.refusals.append((time, command.word, reason))
            self._log.command_refused(command.word, session, reason)
            self._notify("katod: refused", f"::{command.word} was refused: {reason}")
            return f"{refusal.path}: {reason}" if refusal.path else reason
        except OSError as error:
            if is_passing(error):  # the step is undone, and the command is carried out when it is done again
                raise
            conversation.refusals.append((time, command.word, error.strerror or str(error)))
            self._log.command_refused(command.word, session, error.strerror or str(error))
            return error.strerror or str(error)
        self._log.command_applied(command.word, session)
        return ""

    def begin_unasked(self, conversation: Conversation) -> None:
        """Begin a recording by rule, once the session's project and first words are known and nobody was quicker."""
        metadata, row = conversation.metadata, conversation.row
        if conversation.recording is not None:
            row.auto = "no"  # a command was typed before: two recordings of one session would be one too many
            return
        if not metadata.title or not metadata.cwd:
            return
        try:
            target = self._unasked_target(row, metadata)
        except (TargetRefused, OSError) as error:
            if isinstance(error, OSError) and is_passing(error):
                raise
            reason = error.what if isinstance(error, TargetRefused) else error.strerror or str(error)
            conversation.refusals.append((metadata.time, "start", f"recording by rule: {reason}"))
            self._log.command_refused("start", str(row.key), reason)
            target = None
        row.auto = "no" if target is None else "yes"
        if target is not None:
            output = self._outputs.make(row, target, metadata)
            row.output = output.id
            self._from_beginning(conversation, output, Range(start=""))

    def _unasked_target(self, row: SessionRow, metadata: SessionMetadata) -> Target | None:
        """Return where a session is recorded by rule, None if it is not: sub-agents go where their parent goes."""
        rules = self._outputs.rules
        if rules.excludes(metadata.cwd):
            return None
        spawned = row.key.subagent or (row.key.id if metadata.origin == SPAWNED else "")
        if not spawned:
            return self._outputs.generated(metadata) if rules.automatic(metadata.cwd) else None
        parent = self._outputs.recorded(SessionKey(row.key.agent, row.key.id if row.key.subagent else metadata.parent))
        if parent is None or not rules.settings.recording.subagents:
            return None
        return self._outputs.of_subagent(parent, spawned)

    def wants(self, session: SessionRow, ledger: Ledger) -> bool:
        """Say whether a session that was just found may be recorded by rule; decided once."""
        if session.auto == "":
            recording = self._outputs.rules.settings.recording
            session.auto = "wanted" if recording.auto or recording.subagents else "no"
            ledger.save_session(session)
        return session.auto == "wanted"

    def end_excluded(self, conversation: Conversation) -> None:
        """End what is recorded of a project that the settings exclude."""
        output = conversation.recording
        if output is not None and self._outputs.rules.excludes(conversation.metadata.cwd):
            last = conversation.metadata
            self._end(conversation, output, last.last, time=last.time, mark="excluded")
            self._settle(conversation, output)

    def _act(self, conversation: Conversation, command: Command, at: str, time: str, *, typed: bool) -> None:
        metadata, row = conversation.metadata, conversation.row
        if command.word != "stop" and self._outputs.rules.excludes(metadata.cwd or row.cwd):
            raise TargetRefused("this project is excluded by the configuration")
        target = self._outputs.named(command.name, metadata) if command.name else None
        recording = conversation.recording
        present = conversation.present
        standing = Standing(str(recording.path) if recording else "", str(present.path) if present else "")
        action = decide(command, standing, str(target.path) if target else "")
        output = self._output(conversation, action, target, present)
        if command.word == "stop":
            row.auto = "off"
        if action.end and recording:
            self._end(conversation, recording, at, time="" if typed else time)
            if not typed:
                self._settle(conversation, recording)
        if output is None:
            return
        if action.copy:
            self._from_beginning(conversation, output, Range("", marked=False, end=at, end_mark=""))
            return
        row.output = output.id
        if action.begin == "beginning":
            mark_at = at if typed else ""
            self._from_beginning(conversation, output, Range("", mark_at=mark_at, switches=command.switches))
            return
        start = Range(at, inclusive=typed, start_time="" if typed else time, switches=command.switches)
        self._begin(conversation, output, start)
        if not typed:
            self._settle(conversation, output)

    def _output(
        self, conversation: Conversation, action: Action, target: Target | None, present: OutputRow | None
    ) -> OutputRow | None:
        """Return the output that an action writes to, made where it is new; raises TargetRefused."""
        if action.target == "none":
            return None
        if action.target == "present":
            return present
        chosen = target or self._outputs.generated(conversation.metadata)
        fresh = action.copy or action.begin == "beginning"
        own = self._outputs.claim(conversation.row, chosen, fresh=fresh)
        if own is not None:
            return conversation.outputs[own.id]
        return conversation.keep(self._outputs.make(conversation.row, chosen, conversation.metadata))

    def _begin(self, conversation: Conversation, output: OutputRow, begun: Range) -> None:
        """Open a range at this point of the session."""
        output.ranges.append(begun)
        conversation.keep(output)
        if output.behind is None and conversation.outlet(output) is None:
            conversation.live.append(Outlet(output))
        self._tell(conversation, output)

    def _from_beginning(self, conversation: Conversation, output: OutputRow, begun: Range) -> None:
        """Open a range at the beginning of the session: the output reads on its own until it is here."""
        output.ranges.append(begun)
        output.behind = {}
        conversation.keep(output)
        self._follow(output)
        if not begun.end:
            self._tell(conversation, output)

    def _end(
        self, conversation: Conversation, output: OutputRow, at: str, *, time: str = "",
        mark: Literal["stopped", "excluded"] = "stopped",
    ) -> None:  # fmt: skip
        """Close the open range of an output."""
        ended = output.ranges[-1]
        ended.end, ended.end_time, ended.end_mark = at or "?", time, mark  # "?": behind what is not known any more
        conversation.keep(output)
        self._log.recording_ended(str(conversation.row.key), str(output.path))
        self._notify("katod: stopped", output.path.name)

    def _settle(self, conversation: Conversation, output: OutputRow) -> None:
        """Print the marks of ranges that end or begin behind the last event, which has passed already."""
        outlet = conversation.outlet(output)
        if outlet is not None:
            outlet.add(outlet.recorder.settle(conversation.metadata.last, conversation.metadata))

    def _tell(self, conversation: Conversation, output: OutputRow) -> None:
        self._log.recording_began(str(conversation.row.key), str(output.path))
        self._notify("katod: recording", output.path.name)


def _too_old(event: Event, source: SourceRow) -> bool:
    """Say whether a command in a rewritten file was typed before the rewrite; without a time it was."""
    return source.after_ns > 0 and typed_ns(event, 0) <= source.after_ns
