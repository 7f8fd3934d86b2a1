"""Recordings of other machines, in the folders that they share: what their lists mark as recorded, and nothing else."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from katod.archive.archived import recorded_file
from katod.archive.manifest import WHOLE
from katod.archive.parts import ArchivedSession, shared_folders
from katod.errors import KatodError
from katod.formats.redact.redactor import redact
from katod.formatspec import FORMATS, MARKDOWN
from katod.mcp.pages import shown
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.export import look_ahead, read_katod, render_all
from katod.search.transcriptfiles import TranscriptFile
from katod.store.collections import Tombstones
from katod.store.ledger import Ledger

_OPTIONS: Final = Options(tools="summary", redact=True, attachments="name")


class SharedRecording:
    """What another machine recorded of a session; all of its recordings count as one, without a number."""

    number: ClassVar = 0
    is_open: ClassVar = False

    def __init__(self, found: ArchivedSession) -> None:
        self._found = found
        self._about: SessionMetadata | None = None

    @property
    def key(self) -> SessionKey:
        """Its session."""
        return self._found.key

    @property
    def machine(self) -> str:
        """The name of the machine."""
        return shown(self._found.machine)

    @property
    def size(self) -> int:
        """The size of its file, in bytes."""
        return self._found.file_size

    @property
    def changed_ns(self) -> int:
        """When its file was written."""
        return self._found.changed_ns

    @property
    def project(self) -> str:
        """The directory in which the agent worked, without secrets."""
        return shown(self._found.cwd)

    @property
    def title(self) -> str:
        """What it is called, without secrets: what was not recorded has no say."""
        named = self._found.path.stem if self._found.recorded == WHOLE else str(self.key)
        return shown(self._metadata.best_title) or named

    @property
    def since(self) -> str:
        """When it began (ISO 8601), empty if that is not known."""
        return self._metadata.started or self._metadata.time

    @property
    def searched(self) -> TranscriptFile | None:
        """What is searched of it, None if it has a form in which no words are found."""
        if not FORMATS[self._found.form].in_chat:
            return None
        return TranscriptFile(self._found.path, self.changed_ns, partial(recorded_file, self._found))

    def text(self) -> Iterator[str]:
        """Yield it as Markdown, without secrets. Raises KatodError."""
        with recorded_file(self._found) as lines:
            if self._found.has_events:
                yield from render_all(read_katod(lines, self._found.path), MARKDOWN, _OPTIONS)
                return
            yield redact(lines.read().decode("utf-8", "replace"))

    @property
    def _metadata(self) -> SessionMetadata:
        """What its first recorded events say of it; nothing if they cannot be read."""
        if self._about is None:
            self._about = SessionMetadata(self.key)
            try:
                with recorded_file(self._found) as lines:
                    begun = look_ahead(read_katod(lines, self._found.path)) if self._found.has_events else None
                self._about = begun.metadata if begun else self._about
            except (KatodError, OSError):
                pass  # why it cannot be read is said when it is
        return self._about


def shared_recordings(state: Path, folders: tuple[str, ...], ledger: Ledger | None) -> list[SharedRecording]:
    """Return what other machines recorded, but for sessions that were forgotten here."""
    forgotten = ledger.tombstones if ledger and ledger.has_tombstones() else Tombstones(())
    found = shared_folders(folders, state).sessions(others=True)
    return [SharedRecording(one) for one in found if one.recorded and not forgotten.covers(one.key)]
