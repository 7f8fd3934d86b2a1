"""One session while it is translated, and the outputs that follow it live."""

from collections.abc import Callable
from typing import Any, Final, cast

from katod.agents import AGENTS
from katod.discover.catalog import Catalog, Source, save_source
from katod.events import Event
from katod.formats.pictures import linked
from katod.formats.redact.redactor import REDACTED
from katod.formats.registry import open_format
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.attention import Attention
from katod.record.export import reprint
from katod.record.ranges import RangePrinter, head_metadata
from katod.record.stream import SeenInLedger, SessionStream
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, RefusalRow, SessionRow

_ATTENTION: Final = "attention"  # beside the metadata
_MOST_HELD: Final = 64 * 1024  # characters


class LiveOutput:
    """One output being printed to: its row, its printer, and the text of the current step, event by event."""

    def __init__(self, row: OutputRow) -> None:
        self.row = row
        self.printer = RangePrinter.of(row, row.printer)
        self.assets: list[tuple[str, str]] = []
        self._saves_pictures = row.options.attachments == "save" and not FORMATS[row.format].carries_pictures
        self._chunks: list[bytes] = []

    def take(self, event: Event, metadata: SessionMetadata) -> None:
        """Print one event."""
        text = self.printer.take(event, metadata)
        self.add(text)
        if event.blobs and self._saves_pictures:
            self.assets += linked(event, text)

    @property
    def waits(self) -> bool:
        """Whether the file is not made yet, because the words that name it are still to be typed."""
        return self.row.held is not None

    @property
    def holds_too_much(self) -> bool:
        """Whether so much text waits for a name that it should wait no longer."""
        return self.row.held is not None and len(self.row.held["text"]) > _MOST_HELD

    def release(self, naming: Callable[[OutputRow], None] = lambda _: None) -> None:
        """Write what waited for a name, below the head of the row that `naming` may change before."""
        held, self.row.held = self.row.held, None
        if held is not None:
            naming(self.row)
            self.printer = RangePrinter.of(self.row, self.printer.state())
            self.add(_head(self.row, held["time"]) + held["text"] if self.printer.headed else held["text"])

    def add(self, text: str) -> None:
        """Add text to the current step, or to what waits for a name: that has no head, as the title is to come."""
        held = self.row.held
        if held is not None:
            before = held["text"]
            self.row.held = held | {
                "text": before + text if before else text.removeprefix(_head(self.row, held["time"]))
            }
        elif text:
            self.row.redactions += text.count(REDACTED)
            self._chunks.append(text.encode("utf-8", "replace"))

    def stage(self) -> None:
        """Make the text printed in this step the open intent of the row."""
        if self.row.intent is not None:
            raise RuntimeError("an intent that is not written yet would be lost")
        self.row.printer = self.printer.state()
        self.row.intent = b"".join(self._chunks) or None
        self.row.bounds = []
        total = 0
        for chunk in self._chunks:
            total += len(chunk)
            self.row.bounds.append(total)
        self._chunks = []


def _head(row: OutputRow, time: str) -> str:
    """Return what the file of an output begins with."""
    return open_format(row.format, row.options).head(head_metadata(row), time)


class Changes:
    """What the current step has to store besides cursors and states."""

    def __init__(self) -> None:
        self.applied: dict[str, None] = {}  # dedup keys, in order; a message may contain very many
        self.refusals: list[tuple[str, str, str]] = []  # time, command, reason
        self.outputs: dict[int, OutputRow] = {}

    def save(self, session: SessionRow, ledger: Ledger) -> None:
        """Store the changes, within the step's transaction."""
        ledger.add_applied(self.applied)
        for time, word, reason in self.refusals:
            ledger.add_refusal(RefusalRow(0, session.key, time, word, reason))
        for output in self.outputs.values():
            ledger.save_output(output)


class ActiveSession:
    """A session under translation, with all its outputs; those in `live` follow it step by step."""

    def __init__(
        self, row: SessionRow, sources: list[Source], outputs: dict[int, OutputRow], ledger: Ledger, log: EventLog
    ) -> None:
        self.row = row
        self.sources = sources
        self.outputs = outputs
        self.live = [LiveOutput(output) for output in outputs.values() if output.open and output.behind is None]
        self.stream = SessionStream(row.key, SeenInLedger(row, ledger), log, row.metadata)
        self.attention = Attention(row.key, (row.metadata or {}).get(_ATTENTION))
        for source in sources:
            self.stream.open(source, source.state)
        self.backfilled = False  # whether the stream has reached the cursors of all sources
        self.changes = Changes()

    @property
    def metadata(self) -> SessionMetadata:
        """What is known about the session so far."""
        return self.stream.metadata

    @property
    def seen(self) -> SeenInLedger:
        """What its stream has seen."""
        return cast("SeenInLedger", self.stream.seen)

    @property
    def recording(self) -> OutputRow | None:
        """The output that the session is being recorded to, whether it follows live or is catching up."""
        return next((output for output in self.outputs.values() if output.open), None)

    @property
    def present(self) -> OutputRow | None:
        """The session's current output, recorded to or not."""
        return self.outputs.get(self.row.output) if self.row.output else None

    @property
    def is_read(self) -> bool:
        """Whether all of its sources were read to their ends."""
        return self.backfilled and all(source.read is not None for source in self.sources)

    @property
    def is_wanted(self) -> bool:
        """Whether translation has to continue: the session is recorded, may be soon, or has text held back."""
        return bool(self.recording or self.row.auto == "wanted" or self.stream.has_pending())

    def add_source(self, source: Source) -> None:
        """Add a source that was found after the session was loaded."""
        if source not in self.sources:
            self.sources.append(source)
            self.backfilled = False

    def live_output(self, output: OutputRow) -> LiveOutput | None:
        """Return the live output for a row, None if it is catching up or closed."""
        return next((live for live in self.live if live.row is output), None)

    def keep(self, output: OutputRow) -> OutputRow:
        """Mark an output to be stored with this step."""
        self.outputs[output.id] = self.changes.outputs[output.id] = output
        return output

    def save(self, ledger: Ledger) -> None:
        """Store the step, including its intents. If the session is not recorded, no content of it is kept."""
        keep = self.recording is not None
        for source in self.sources:
            translation = self.stream.open(source)
            source.state = translation.state() if keep else None
            source.version = translation.version if keep else None
            save_source(source, ledger)
        for output in self.live:
            output.stage()
            self.keep(output.row)
        self.row.metadata = self.metadata.state() | {_ATTENTION: self.attention.kept()} if keep else None
        self.row.cwd = self.metadata.cwd or self.row.cwd
        ledger.save_session(self.row)
        self.seen.save()
        self.changes.save(self.row, ledger)

    def saved(self) -> None:
        """Forget what the ledger now has."""
        self.seen.saved()
        self.changes = Changes()


class ActiveSessions:
    """The sessions being translated, loaded from the ledger and dropped again."""

    def __init__(self, ledger: Ledger, catalog: Catalog, log: EventLog) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._log = log
        self._active: dict[int, ActiveSession] = {}
        self.failed: set[int] = set()  # sessions whose last step raised: they are loaded from the ledger again
        self.failed_between: set[int] = set()  # those that failed outside of a step, and have to be stepped
        self.to_resume: dict[
            int, str
        ] = {}  # those whose recording goes on, and since when, once they are read to the end

    def get(self, session_id: int) -> ActiveSession | None:
        """Return an active session, None if it is not active."""
        return self._active.get(session_id)

    def all(self) -> list[ActiveSession]:
        """Return every active session."""
        return list(self._active.values())

    def load(self, session_id: int, following: dict[int, OutputRow]) -> ActiveSession:
        """Activate a session from the ledger's state, or from its beginning.

        `following` are the outputs that are catching up: their rows are in use, so they are shared.
        """
        self.failed.discard(session_id)
        row = self._ledger.session(session_id)
        sources = self._catalog.of_session(session_id)
        if not self._restore(row, sources):
            row.metadata = None
        outputs = {output.id: following.get(output.id, output) for output in self._ledger.outputs(session_id)}
        reprinted = [output for output in outputs.values() if self._reprint(output, row.key, sources)]
        session = self._active[session_id] = ActiveSession(row, sources, outputs, self._ledger, self._log)
        for output in reprinted:
            session.keep(output)
        return session

    def _restore(self, row: SessionRow, sources: list[Source]) -> bool:
        """Restore the states of the sources from the ledger; return whether they can be used together."""
        version = AGENTS[row.key.agent].adapter.version
        stored = self._ledger.sources_of(row.id)
        usable = row.metadata is not None and all(
            kept.version == version and kept.translated == source.cursor.offset == kept.cursor.offset
            for source, kept in zip(sources, stored, strict=True)
        )
        for source, kept in zip(sources, stored, strict=True):
            source.state, source.translated = (kept.state, kept.translated) if usable else (None, 0)
        return usable

    def _reprint(self, output: OutputRow, key: SessionKey, sources: list[Source]) -> bool:
        """After an upgrade that prints other text, recompute the state of an output's format; return whether it was."""
        version = FORMATS[output.format].version
        if output.version == version:
            return False
        state: dict[str, Any] = output.printer or {}
        output.version = version
        output.printer = state | {"format": reprint(output, key, sources, self._log)}
        return True

    def release(self, session: ActiveSession) -> None:
        """Stop translating a session that is no longer recorded."""
        if not session.is_wanted:
            self._active.pop(session.row.id, None)
            for source in session.sources:
                source.forget_translation()

    def forget(self, session_id: int) -> None:
        """Forget a session that the ledger no longer has."""
        self._active.pop(session_id, None)
        self.failed.discard(session_id)
        self.failed_between.discard(session_id)
        self.to_resume.pop(session_id, None)

    def drop(self, session_id: int) -> ActiveSession | None:
        """Drop an active session whose step failed; its sources return to the ledger's state."""
        session = self._active.pop(session_id, None)
        if session is not None:
            for row in self._ledger.sources_of(session_id):
                source = self._catalog.sources[row.id]
                source.rewind(row)
                source.read, source.near_misses = None, []  # so that a step that fails again counts none twice
        return session
