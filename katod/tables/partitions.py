"""Rewrites the files of one partition: rows that stay, without those that go, and those that are new. Loads pyarrow."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, Final, NamedTuple

from katod.archive.manifest import Entry
from katod.errors import OutputError, TablesError
from katod.model import SessionKey
from katod.tables.address import Partition, folder_of
from katod.tables.columns import PartWriter, PresentPart, batches_of
from katod.tables.dataset import DataSet, is_forgotten, is_going
from katod.tables.place import PartDraft, TablesPlace
from katod.tables.plan import is_left
from katod.tables.schema import OF_EVENTS, SESSIONS, TABLES, USAGE, TableSpec
from katod.tables.staging import RowChunk, RowSpool
from katod.write.whole import FileStamp

_FEW: Final = 3


class NewRows(NamedTuple):
    """What is to be noted of a session once its rows are in their files, and where these are."""

    entry: Entry
    chunks: tuple[RowChunk, ...]


class PartitionWriter:
    """Writes partitions of a data set. A file of another machine, or of no katod, stays as it is: OutputError."""

    def __init__(self, data: DataSet, place: TablesPlace) -> None:
        self._data = data
        self._place = place

    def require_own(self, partition: Partition) -> None:
        """Raise OutputError if some file of a partition is not as katod left it, and may not be replaced."""
        for table in TABLES:
            if is_left(self._data, self._place, partition, table):
                continue
            for name in self._names(partition, table):
                with self._place.opened(name) as file:
                    if file is not None:
                        self._part(table, file, name)

    def is_left(self, partition: Partition) -> bool:
        """Return whether the rows of all sessions are still in the files, as far as stamps say."""
        return all(is_left(self._data, self._place, partition, table) for table in OF_EVENTS)

    def is_there(self, partition: Partition) -> bool:
        """Return whether a partition has a file of sessions."""
        return any(self._place.stamp(name) is not None for name in self._names(partition, SESSIONS))

    def rewrite(
        self, partition: Partition, new: dict[str, NewRows], spool: RowSpool, *, is_complete: bool = True
    ) -> None:
        """Write all files of a partition but that of the usage, with these sessions. Raises OutputError or OSError.

        Until they are noted as complete, the next run writes them again: a kill loses nothing, and doubles nothing.
        """
        self._data.begin(partition, [rows.entry for rows in new.values()])
        stays = self._staying(partition, new)
        stamps: dict[TableSpec, FileStamp] = {}
        for table in OF_EVENTS:
            batches = (batch for rows in new.values() for batch in spool.batches(table, rows.chunks))
            stamp = self._write(partition, table, stays, batches)
            if stamp is None:
                self._remove(partition)
                self._data.settle(partition)
                return
            stamps[table] = stamp
        for rows in new.values():
            self._data.note(rows.entry)
        self._data.settle(partition)
        for table, stamp in stamps.items() if is_complete else ():
            self._data.end(partition, table, stamp)

    def drop(self, partition: Partition, entries: Collection[Entry]) -> None:
        """Write a partition without the rows of these sessions. Raises KatodError or OSError.

        If it was not as katod left it, the next run writes it once more, with what it lacks.
        """
        if not self.is_there(partition):
            if not self._data.was_written(partition):  # nor did the run that was killed get so far
                self._data.settle(partition)
                self._data.leave(partition)
                return
            path = self._place.address(self._data.name(partition, SESSIONS))
            raise OutputError("is no longer there", path=path)
        was_left = self.is_left(partition)
        self.require_own(partition)
        spool = RowSpool()
        try:
            self.rewrite(partition, {}, spool)
        finally:
            spool.close()
        if partition in self._data.partitions():
            self.rewrite_usage(partition, (), {str(entry.slot[0]) for entry in entries}, "")
        if not was_left:
            self._data.begin(partition)

    def drop_forgotten(self) -> None:
        """Write the partitions of sessions that were forgotten without their rows. Raises KatodError or OSError."""
        gone = [entry for entry in self._data.sessions() if is_forgotten(entry)]
        for name in sorted({entry.name for entry in gone}):
            self.drop(Partition.named(name), [entry for entry in gone if entry.name == name])

    def rewrite_usage(self, partition: Partition, rows: Iterable[dict[str, Any]], known: set[str], digest: str) -> None:
        """Write the usage of a partition; rows of sessions that are not `known` now stay as they are.

        Those of sessions without other rows go: a session may have been forgotten, and a kill come in between.
        """
        own = str(partition)
        listed = {str(entry.slot[0]) for entry in self._data.sessions() if entry.name == own and not is_going(entry)}
        stamp = self._write(partition, USAGE, (listed - known).__contains__, batches_of(USAGE, rows))
        if stamp is not None:
            self._data.end(partition, USAGE, stamp, digest)

    def present_sessions(self, name: str) -> Iterator[tuple[SessionKey, str | None]]:
        """Yield each session of a file of sessions, and its project. Raises OutputError if it is not this machine's."""
        with self._place.opened(name) as file:
            part = self._part(SESSIONS, file, name) if file is not None else None
            rows = part.values("session", "id", "subagent", "project") if part is not None else ()
            for session, name_of_it, subagent, project in rows:
                if part is not None and not (session and name_of_it):
                    raise part.not_katods()
                yield SessionKey(session.partition(":")[0], name_of_it, subagent or ""), project

    def require_own_name(self) -> None:
        """Raise TablesError if another machine has written under the name of this one: a few files tell that."""
        noted = {self._data.part(partition, SESSIONS).name for partition in self._data.partitions()}
        names = self._place.parts(folder_of(SESSIONS, self._data.machine.name))
        for name in [name for name in names if name not in noted][:_FEW]:
            with suppress(OutputError), self._place.opened(name) as file:  # another file is its partition's matter
                part = PresentPart(SESSIONS, file, self._place.address(name)) if file is not None else None
                if part is not None and part.machine.id not in ("", self._data.machine.id):
                    raise TablesError(part.whose, path=self._place.address(name), hint=part.whose_hint)

    def _part(self, table: TableSpec, file: Any, name: str) -> PresentPart:
        """Return a file that may be replaced. Raises OutputError for any other."""
        part = PresentPart(table, file, self._place.address(name))
        part.require_own(self._data.machine)
        return part

    def _staying(self, partition: Partition, without: Iterable[str]) -> Callable[[str], bool]:
        """Return what says whether the rows of a session that are in a file stay there.

        They go if there are new ones, or if the session is in another partition, or in none: a run that was killed may
        have written a part of them. While the list lacks something, what it does not name stays.
        """
        gone, own = set(without), str(partition)
        entries = list(self._data.sessions())
        here = {str(entry.slot[0]) for entry in entries if entry.name == own and not is_going(entry)} - gone
        gone |= {str(entry.slot[0]) for entry in entries} - here
        return (lambda session: session not in gone) if self._data.is_damaged else here.__contains__

    def _write(
        self, partition: Partition, table: TableSpec, stays: Callable[[str], bool], new: Iterator[Any]
    ) -> FileStamp | None:
        """Write one file and return its stamp; None for one of sessions if there is, and should be, none: it stays."""
        name = self._data.name(partition, table)
        expected = self._place.stamp(name)
        with self._place.draft() as draft:
            if not self._fill(draft, partition, table, stays, new) and table is SESSIONS and self._is_empty(partition):
                return None
            stamp = draft.publish(name, expected)
        for old in self._names(partition, table):
            if old != name and self._place.stamp(old) is not None:
                self._place.remove(old)
        return stamp

    def _is_empty(self, partition: Partition) -> bool:
        """Return whether no session is known to have rows in a partition: a file of sessions may have been deleted."""
        own = str(partition)
        return not any(entry.name == own and not is_going(entry) for entry in self._data.sessions())

    def _fill(
        self, draft: PartDraft, partition: Partition, table: TableSpec, stays: Callable[[str], bool], new: Iterator[Any]
    ) -> int:
        """Write the rows of one file, and return how many there are."""
        with PartWriter(draft.write, table, self._data.machine) as writer:
            for batch in chain(self._present(partition, table, stays), new):
                writer.take(batch)
        return writer.rows

    def _present(self, partition: Partition, table: TableSpec, stays: Callable[[str], bool]) -> Iterator[Any]:
        """Yield the rows that stay; those of a session are taken from one file."""
        passed = set[str]()
        for name in self._names(partition, table):
            here = set[str]()
            with self._place.opened(name) as file:
                part = self._part(table, file, name) if file is not None else None
                for batch in part.rows(lambda one: stays(one) and one not in passed) if part is not None else ():  # noqa: B023
                    here.update(batch.column("session").unique().to_pylist())
                    yield batch
            passed |= here

    def _names(self, partition: Partition, table: TableSpec) -> list[str]:
        """Return the names of the files that have the rows: another one, too, if the machine was called otherwise."""
        return list(
            dict.fromkeys(filter(None, (self._data.name(partition, table), self._data.part(partition, table).name)))
        )

    def _remove(self, partition: Partition) -> None:
        """Remove the files of a partition that has no session any more."""
        for table in TABLES:
            for name in self._names(partition, table):
                if self._place.stamp(name) is not None:
                    self._place.remove(name)
        self._data.leave(partition)
