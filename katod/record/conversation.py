"""One session while it is translated: its reader, and the outputs that follow it live."""

from pathlib import Path
from typing import Any

from katod.agents import AGENTS
from katod.agents.base import Origin, fingerprint
from katod.events import Event
from katod.formats.redact import REDACTED
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.ledger import Ledger, id_hash
from katod.record.recorder import Recorder
from katod.record.rows import OutputRow, SessionRow, SourceRow
from katod.record.translation import Translation


class Outlet:
    """One output on its way: its row, its recorder, and the text of the present step, event by event."""

    def __init__(self, row: OutputRow) -> None:
        self.row = row
        self.recorder = Recorder(row.format, row.options, row.ranges, row.recorder)
        self.recorder.titled = head_metadata(row)
        self.chunks: list[bytes] = []
        self.assets: list[tuple[str, str]] = []

    def take(self, event: Event, metadata: SessionMetadata) -> None:
        """Print one event."""
        self.add(self.recorder.take(event, metadata))
        if event.blobs and self.recorder.active and self.row.options.attachments == "save":
            self.assets += [(media, data) for _, media, data in event.blobs]

    def add(self, text: str) -> None:
        """Add text to the present step."""
        if text:
            self.row.redactions += text.count(REDACTED)
            self.chunks.append(text.encode("utf-8", "replace"))

    def stage(self) -> None:
        """Make what was printed in this step the open intent of the row."""
        assert self.row.intent is None, "an intent that is not written yet would be lost"
        self.row.recorder = self.recorder.state()
        self.row.intent = b"".join(self.chunks) or None
        self.row.bounds = []
        total = 0
        for chunk in self.chunks:
            total += len(chunk)
            self.row.bounds.append(total)
        self.chunks = []


class Reader:
    """A position in a session: the facts so far, the number of the next event, an adapter a source."""

    def __init__(self, session: SessionRow, log: EventLog, metadata: dict[str, Any] | None, seq: int) -> None:
        self.metadata = SessionMetadata(session.key, metadata)
        self.seq = seq
        self._log = log
        self._translations: dict[int, Translation] = {}

    def translation(self, source: SourceRow, state: dict[str, Any] | None) -> Translation:
        """Return the translation of a source, begun at the given state if it is not under way."""
        found = self._translations.get(source.id)
        if found is None:
            origin = Origin(source.identity, Path(source.path))
            found = Translation(origin, self.metadata, self._log, state)
            self._translations[source.id] = found
        return found

    def restart(self, source: SourceRow) -> None:
        """Begin a source again, at its beginning."""
        self._translations.pop(source.id, None)

    def states(self) -> dict[int, dict[str, Any]]:
        """Return the adapters' states by source."""
        return {source_id: translation.state() for source_id, translation in self._translations.items()}

    def has_pending(self) -> bool:
        """Say whether text waits for a later record."""
        return any(translation.has_pending() for translation in self._translations.values())


class Conversation:
    """A session under translation, with all its outputs: `live` are those that follow it step by step."""

    def __init__(
        self, row: SessionRow, sources: list[SourceRow], outputs: dict[int, OutputRow], ledger: Ledger, log: EventLog
    ) -> None:
        self.row = row
        self.sources = sources
        self.outputs = outputs
        self.live = [Outlet(output) for output in outputs.values() if output.open and output.behind is None]
        self.reader = Reader(row, log, row.metadata, row.seq)
        self.ready = False
        self.applied: dict[str, None] = {}  # in their order; a message may hold very many
        self.refusals: list[tuple[str, str, str]] = []
        self.unsaved: dict[int, OutputRow] = {}
        self._ledger = ledger
        self._native_ids = AGENTS[row.key.agent].nature.has_native_ids
        self._new: list[tuple[int, int, int]] = []
        self._fresh: set[int] = set()
        self._attached = 0

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self.reader.metadata

    @property
    def recording(self) -> OutputRow | None:
        """The output that the session is recorded to now, whether it follows live or on its own."""
        return next((output for output in self.outputs.values() if output.open), None)

    @property
    def present(self) -> OutputRow | None:
        """The session's present output, recorded to or not."""
        return self.outputs.get(self.row.output) if self.row.output else None

    def outlet(self, output: OutputRow) -> Outlet | None:
        """Return the live outlet of an output."""
        return next((outlet for outlet in self.live if outlet.row is output), None)

    def keep(self, output: OutputRow) -> OutputRow:
        """Have an output stored with this step."""
        self.outputs[output.id] = self.unsaved[output.id] = output
        return output

    def admit(self, event: Event, source: SourceRow) -> bool:
        """Say whether an event is seen for the first time, and remember that it was, and in which source.

        Where ids are native, a record that was written again is told by its id. Elsewhere an id is a
        position and cannot come again: what is remembered then is the words, for `realign`.
        """
        if not self._native_ids:
            self._new.append((id_hash(fingerprint(event)), self.reader.seq, source.id))
        else:
            hashed = id_hash(event.id)
            if hashed in self._fresh or self._ledger.place(self.row.id, hashed) is not None:
                return False
            self._fresh.add(hashed)
            self._new.append((hashed, self.reader.seq, source.id))
        self.reader.seq += 1
        return True

    def knows(self, event: Event) -> bool:
        """Say whether an event with an id of its own was seen before."""
        return self._ledger.place(self.row.id, id_hash(event.id)) is not None

    def pass_by(self, event: Event, source: SourceRow) -> None:
        """Note an event that was only scanned before; positions are counted, so that none is noted twice."""
        if self._native_ids:
            self.admit(event, source)
            return
        if self._attached >= self.reader.seq:
            self.admit(event, source)
        self._attached += 1

    def is_applied(self, once: str) -> bool:
        """Say whether a command has acted already, in this session or any other."""
        return once in self.applied or self._ledger.is_applied(once)

    def save(self, *, keep: bool) -> None:
        """Store what this step changed; `keep` is false while nothing of what was said may be kept."""
        self.row.metadata = self.metadata.state() if keep else None
        self.row.cwd = self.metadata.cwd or self.row.cwd
        self.row.seq = self.reader.seq
        self._ledger.save_session(self.row)
        self._ledger.add_places(self.row.id, self._new)
        self._ledger.add_applied(self.applied)
        for time, word, reason in self.refusals:
            self._ledger.add_refusal(self.row.id, time, word, reason)
        for output in self.unsaved.values():
            self._ledger.save_output(output)

    def saved(self) -> None:
        """Forget what has been stored."""
        self._new.clear()
        self._fresh.clear()
        self.applied.clear()
        self.refusals.clear()
        self.unsaved.clear()


def head_metadata(row: OutputRow) -> SessionMetadata:
    """Return the facts that an output's head shows, frozen when it was made."""
    return SessionMetadata(SessionKey(*row.head["key"]), row.head["metadata"])
