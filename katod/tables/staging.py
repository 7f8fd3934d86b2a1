"""The rows of sessions before they are in their files: read here or in another process, kept in one file on the disk.

At no time are more rows in memory than one batch of each table, however large a session is. Loads formats and pyarrow.
"""

from collections.abc import Iterator
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple

from katod import events as ev
from katod.archive.plan import Task
from katod.archive.tally import TextTally
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.processes import Done
from katod.record.export import Stretch, Tally, replay
from katod.record.spawned import spawner_of
from katod.tables.columns import RowBuffer, batch_of, serialized
from katod.tables.rows import SessionRows
from katod.tables.schema import OF_EVENTS, TableSpec

_PIECE: Final = 1024 * 1024


class RowChunk(NamedTuple):
    """Rows of one table: where they are in the file that has them."""

    table: str
    begin: int
    size: int


class StagedSession(NamedTuple):
    """A session that was read: the month in which it began, what was said, and its rows. Empty: it has none.

    `lasting` is what was said without what waits for a later record, such as a queued prompt: that may get another id.
    """

    month: str
    said: str
    lasting: str
    cwd: str
    parent: str
    is_empty: bool
    problem: str
    chunks: tuple[RowChunk, ...]


StagedRows = Done[StagedSession]


def staged(task: Task, *, hide: bool) -> StagedRows:
    """Read a session. Raises KatodError or OSError."""
    file = TemporaryFile()  # noqa: SIM115 - whoever takes it closes it
    try:
        read = _Stage(task, file, hide=hide).read()
        file.seek(0)  # and all of it is written: another process may have the file next
        return Done(read, file)
    except BaseException:
        file.close()
        raise


class _Stage:
    """Reads one session, and writes its rows to a file."""

    def __init__(self, task: Task, file: IO[bytes], *, hide: bool) -> None:
        self._task = task
        self._file = file
        self._rows = SessionRows(task.found.key, hide=hide)
        self._buffers = {table.name: RowBuffer(table) for table in OF_EVENTS}
        self._chunks: list[RowChunk] = []

    def read(self) -> StagedSession:
        """Read all of it. Raises KatodError or OSError."""
        key, tally, said, has_usage = self._task.found.key, Tally(), TextTally(self._task.found.key), False
        metadata = SessionMetadata(key)
        stretches = [Stretch(path, identity) for path, identity, _ in self._task.found.files]
        events = replay(key, stretches, EventLog(), said=self._task.found.said, provisional=said.provisional)
        for event, metadata in said.over(tally.over(events)):
            has_usage = has_usage or event.kind == ev.USAGE
            self._add_all(self._rows.take(event, metadata))
        self._add_all(self._rows.finish(metadata))
        for name, buffer in self._buffers.items():
            self._keep(name, buffer.batch())
        is_empty = not (tally.spoken or tally.unknown or has_usage)
        chunks, parent = () if is_empty else tuple(self._chunks), spawner_of(metadata.start)
        month, cwd = self._rows.month, metadata.cwd
        return StagedSession(month, said.text, said.lasting, cwd, parent, is_empty, tally.problem, chunks)

    def _add_all(self, rows: Iterator[tuple[TableSpec, dict[str, Any]]]) -> None:
        for table, row in rows:
            self._keep(table.name, self._buffers[table.name].add(row))

    def _keep(self, name: str, batch: Any) -> None:
        if batch is not None:
            data = serialized(batch)
            self._chunks.append(RowChunk(name, self._file.tell(), len(data)))
            self._file.write(data)


class RowSpool:
    """The rows of many sessions, in a temporary file without a name."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - close() does it
        self.size = 0

    def take(self, read: StagedRows) -> tuple[RowChunk, ...]:
        """Add the rows of a session, and return where they are. Raises OSError if the disk is full."""
        assert read.file is not None
        begin = self._file.seek(0, 2)
        copyfileobj(read.file, self._file, _PIECE)
        self.size = self._file.tell()
        return tuple(chunk._replace(begin=chunk.begin + begin) for chunk in read.value.chunks)

    def batches(self, table: TableSpec, chunks: tuple[RowChunk, ...]) -> Iterator[Any]:
        """Yield the rows of a table."""
        for chunk in chunks:
            if chunk.table == table.name:
                self._file.seek(chunk.begin)
                yield batch_of(self._file.read(chunk.size), table)

    def clear(self) -> None:
        """Drop all rows."""
        self._file.seek(0)
        self._file.truncate()
        self.size = 0

    def close(self) -> None:
        """Give the space on the disk free."""
        self._file.close()
