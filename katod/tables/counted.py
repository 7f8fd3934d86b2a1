"""What all sessions used, as rows: counted as `katod usage` does, with those whose agents have deleted their files."""

from collections.abc import Collection, Iterator
from pathlib import Path

from katod.archive.excluded import Exclusion
from katod.discover.found import FoundSession
from katod.formats.redact.redactor import redact
from katod.model import SessionKey
from katod.tables.dataset import DataSet, is_forgotten
from katod.tables.usagerows import Row, sessions_of, usage_rows
from katod.usage.overall import CollectedUsage, collected


def counted_usage(data: DataSet, found: Collection[FoundSession], state: Path, zone: str) -> CollectedUsage:
    """Count what the sessions used. For a process of one thread. Raises LedgerError.

    What is read is kept with what is known of the data set: longer than the sessions are there, so that an answer in
    two of them goes on to count once.
    """
    *_, used = collected(found, state, zone, ahead=True, kept_in=data.state, gone=list(_gone(data, found)))
    assert used is not None
    return used


def _gone(data: DataSet, found: Collection[FoundSession]) -> Iterator[tuple[SessionKey, str]]:
    """Yield the files of sessions in the data set that are not there any more."""
    there = {path for session in found for path, _, _ in session.files}
    for entry in data.sessions():
        if entry.name and not is_forgotten(entry):
            yield from ((entry.slot[0], str(path)) for path, *_ in entry.sources if path not in there)


class CountedRows:
    """The rows of what was counted, of the sessions that are in the data set by now."""

    def __init__(self, data: DataSet, used: CollectedUsage, exclusion: Exclusion, *, hide: bool) -> None:
        self._data = data
        self._used = used
        self._exclusion = exclusion
        self._hide = hide
        hashes = used.collector.hashes
        self._projects = {hashes.of(cwd): cwd for cwd in {entry.cwd for entry in data.sessions()}}

    @property
    def known(self) -> set[str]:
        """The sessions that were counted, also if nothing counts for them."""
        names = self._used.collector.names()
        return {str(key) for name in names for key in (name, name._replace(subagent=""))}

    def rows(self) -> dict[SessionKey, list[Row]]:
        """Return the rows of each session."""
        used = self._used
        sessions = sessions_of(used.sources, used.collector.names(), self._is_known)
        cells = [cell for cell in used.cells if not self._exclusion.excludes(self._project(cell.project))]
        return usage_rows(cells, sessions, self._shown)

    def _is_known(self, key: SessionKey) -> bool:
        entry = self._data.session(key)
        return entry is not None and bool(entry.name)

    def _project(self, project: bytes) -> str:
        if project not in self._projects:
            self._projects[project] = self._used.collector.project(project)
        return self._projects[project]

    def _shown(self, project: bytes) -> str:
        name = self._project(project)
        return redact(name) if self._hide else name
