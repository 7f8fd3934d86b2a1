"""Recordings of other machines, in the folders that they share: what their lists mark as recorded, and nothing else.

They are printed again with the options that they were recorded with, as this machine does with its own in JSONL.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from katod.archive.archived import recorded_events
from katod.archive.parts import ArchivedSession, shared_folders
from katod.errors import KatodError
from katod.mcp.pages import shown
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.export import look_ahead
from katod.search.query import Query
from katod.search.shared import recorded_place, recorded_text
from katod.search.transcriptfiles import TranscriptFile
from katod.store.collections import Tombstones
from katod.store.ledger import Ledger


class SharedRecording:
    """What another machine recorded of a session; all of its recordings count as one, without a number."""

    number: ClassVar = 0
    is_open: ClassVar = False
    is_searched: ClassVar = True

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
        """The size of the file with its events, in bytes."""
        return self._found.size

    @property
    def changed_ns(self) -> int:
        """When the session changed on its machine."""
        return self._found.changed_ns

    @property
    def project(self) -> str:
        """The directory in which the agent worked, without secrets."""
        return shown(self._found.cwd)

    @property
    def title(self) -> str:
        """What it is called, without secrets: what was not recorded has no say."""
        return shown(self._metadata.best_title) or str(self.key)

    @property
    def own(self) -> str:
        """Nothing: what the user of that machine calls it is not shared."""
        return ""

    @property
    def since(self) -> str:
        """When it began (ISO 8601), empty if that is not known."""
        return self._metadata.started or self._metadata.time

    def place(self, query: Query) -> TranscriptFile | None:
        """Return what is searched of it: its text; None if its events certainly do not have all words."""
        return recorded_place(self._found, query)

    def text(self) -> Iterator[str]:
        """Yield it as Markdown, without secrets. Raises KatodError."""
        return recorded_text(self._found)

    @property
    def _metadata(self) -> SessionMetadata:
        """What its first recorded events say of it; nothing if they cannot be read, which is said when they are."""
        if self._about is None:
            try:
                begun = look_ahead(recorded_events(self._found))
            except KatodError:
                begun = None
            self._about = begun.metadata if begun else SessionMetadata(self.key)
        return self._about


def shared_recordings(state: Path, folders: tuple[str, ...], ledger: Ledger | None) -> list[SharedRecording]:
    """Return what other machines recorded, but for sessions that were forgotten here."""
    forgotten = ledger.tombstones if ledger and ledger.has_tombstones() else Tombstones(())
    shared = shared_folders(folders, state)
    found = shared.sessions(others=True, recorded=True, is_forgotten=forgotten.covers)
    return [SharedRecording(one) for one in found]
