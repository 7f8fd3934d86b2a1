"""Writes what a plan says: reads the sessions, and rewrites their partitions. Loads formats and pyarrow."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from katod.archive.excluded import Exclusion
from katod.archive.manifest import Entry
from katod.archive.plan import Task
from katod.archive.tally import has_less
from katod.archive.update import Result, line_of, require_disk
from katod.errors import KatodError, OutputError, SourceGone, TablesError
from katod.model import SessionKey
from katod.tables.address import Partition, folder_of, partition_of
from katod.tables.dataset import DataSet, asked_by_now, is_going
from katod.tables.partitions import NewRows, PartitionWriter
from katod.tables.place import TablesPlace
from katod.tables.plan import TablesPlan, is_left
from katod.tables.schema import SESSIONS, USAGE
from katod.tables.staging import RowSpool, StagedRows, StagedSession, staged
from katod.tables.usagerows import Row, digest_of
from katod.usage.collect import Forgotten

ROOM: Final = 512 * 1024 * 1024  # bytes of rows on the disk before they are put into their files
_LESS: Final = "has less now than was exported: its rows stay as they were"


class TablesWriter:
    """Brings the files of a data set up to date."""

    def __init__(
        self,
        data: DataSet,
        place: TablesPlace,
        plan: TablesPlan,
        exclusion: Exclusion,
        result: Result,
        *,
        hide: bool,
        forgotten: Forgotten,
    ) -> None:
        """Prepare it; `forgotten` returns which of some sessions were forgotten."""
        self._data = data
        self._place = place
        self._plan = plan
        self._exclusion = exclusion
        self._result = result
        self._hide = hide
        self._forgotten = forgotten
        self._partitions = PartitionWriter(data, place)
        self._spool = RowSpool()
        self._new: dict[Partition, dict[str, NewRows]] = defaultdict(dict)
        self._whole = set[Partition]()  # that have all rows, although it is noted that they are about to be written
        self._refused = set[Partition]()
        self._unusable: dict[Partition, OutputError] = {}  # that is said if they are to be written
        self._unread = Counter(_lacking(plan))
        self._cwds: dict[SessionKey, str] = {}

    def write(self, tasks: Iterable[tuple[int, Task]], read: Callable[[int], StagedRows | None]) -> None:
        """Write the rows of sessions; `read` returns what was read of one before its turn, by its number.

        Raises TablesError if the data set cannot be used, OutputError if the disk is full.
        """
        try:
            self._partitions.require_own_name()
            if not self._data.is_complete:
                self._recover()
            self._take_out()
            for number, task in tasks:
                self._take(task, read(number))
                if self._spool.size > ROOM:
                    self._flush()
            self._flush()
            for partition in self._left_over():
                self._rewrite(partition)
        finally:
            self._spool.close()

    def write_usage(self, rows: dict[SessionKey, list[Row]], known: set[str]) -> None:
        """Write the usage of each partition in which it is not what it was; of sessions that are not `known`, it stays.

        Raises as `write` does.
        """
        found: dict[Partition, list[Row]] = defaultdict(list)
        for key in sorted(rows):
            entry = self._data.session(key)
            if entry is not None and entry.name:
                found[Partition.named(entry.name)] += rows[key]
        for partition in sorted(self._data.partitions() - self._refused - self._unusable.keys()):
            digest = digest_of(found[partition])
            is_same = is_left(self._data, self._place, partition, USAGE)
            if is_same and self._data.part(partition, USAGE).digest == digest:
                continue
            with self._guarding(partition):
                self._partitions.require_own(partition)
                self._partitions.rewrite_usage(partition, found[partition], known, digest)

    def _recover(self) -> None:
        """Note the sessions that the present files have, if what was known of them is lost."""
        for name in self._place.parts(folder_of(SESSIONS, self._data.machine.name)):
            partition = partition_of(name)
            if partition is None:
                continue
            try:
                for key, project in self._partitions.present_sessions(name):
                    if self._data.session(key) is None:
                        self._data.note(Entry(self._data.slot(key), name=str(partition), cwd=project or ""))
                self._plan.stale.add(partition)
            except OutputError as error:
                self._unusable[partition] = error
        self._forget_recovered()
        if not self._unusable:
            self._data.complete()

    def _forget_recovered(self) -> None:
        """Have the rows go of sessions that are gone and were forgotten: the list could not say that there are some."""
        found = {entry.slot[0]: entry.name for entry in self._data.sessions() if entry.name and not entry.made}
        gone = found.keys() - self._plan.there
        forgotten = self._forgotten({one for key in gone for one in (key, key._replace(subagent=""))})
        lost = [key for key in gone if key in forgotten or key._replace(subagent="") in forgotten]
        for key in lost:
            self._note_change(Partition.named(found[key]))
        self._data.forget(lost)

    def _take_out(self) -> None:
        """Note of which sessions the rows have to go; it is done when their partitions are written."""
        gone = [*self._plan.without, *self._recovered()]
        for entry in gone:
            self._take_away(entry)

    def _take_away(self, entry: Entry) -> None:
        """Note that the rows of a session have to go."""
        self._note_change(Partition.named(entry.name))
        if not is_going(entry):
            self._data.exclude(entry)

    def _note_change(self, partition: Partition) -> None:
        """Note that a partition has to be written without some of its rows, although it was left complete."""
        self._plan.stale.add(partition)
        if self._partitions.is_left(partition):
            self._whole.add(partition)
            self._data.begin(partition)

    def _recovered(self) -> list[Entry]:
        """Return the sessions of excluded projects that were found in the files."""
        entries = [entry for entry in self._data.sessions() if entry.name and not entry.made]
        return [entry for entry in entries if self._exclusion.covers(entry.slot, entry.cwd)]

    def _take(self, task: Task, read: StagedRows | None) -> None:
        """Read a session, unless it was read, and keep its rows until its partition is written."""
        if task.entry is not None and task.entry.name:
            self._unread[Partition.named(task.entry.name)] -= 1
        try:
            read = read or staged(task, hide=self._hide)
            assert read.file is not None
            with read.file:
                self._keep(task, read)
        except SourceGone:
            return  # its agent has deleted it since it was found
        except (KatodError, OSError) as error:
            self._result.fail(task.found, error)
            if (before := self._data.known(task.found.key)) is not None:
                self._data.note(before._replace(made=""))  # so that it is tried again, whatever becomes of its rows

    def _keep(self, task: Task, read: StagedRows) -> None:
        key, said = task.found.key, read.value
        before = self._data.known(key)
        self._cwds[key] = said.cwd
        self._data.started[key] = said.parent
        if said.problem:
            self._result.notes.append(f"{key}: {said.problem}")
        if self._is_excluded(key, said):
            self._result.count("excluded")
            if before is not None and before.name:
                self._take_away(before._replace(cwd=said.cwd))
            else:
                self._data.note(Entry(task.slot, cwd=said.cwd))
            return
        partition = Partition(key.agent, said.month)
        entry = Entry(
            task.slot, task.made, task.sources, str(partition), said=said.lasting, cwd=said.cwd, parent=said.parent
        )
        if self._stays(task, entry, before, said):
            return
        if before is not None and before.name not in ("", entry.name):
            self._note_change(Partition.named(before.name))
        self._new[partition][str(key)] = NewRows(entry, self._spool.take(read))

    def _is_excluded(self, key: SessionKey, said: StagedSession) -> bool:
        if self._exclusion.covers(self._data.slot(key), said.cwd, looking=True):
            return True
        return self._exclusion.excludes(self._cwds.get(key._replace(subagent=""), ""))

    def _stays(self, task: Task, entry: Entry, before: Entry | None, said: StagedSession) -> bool:
        """Note a session whose rows stay as they are, or that has none; return whether it is such a one."""
        has_rows = before is not None and bool(before.name)
        is_less = before is not None and self._has_file(before) and has_less(entry._replace(said=said.said), before)
        if not said.is_empty and not is_less:
            return False
        if is_less:
            self._result.notes.append(f"{task.found.key} {_LESS}")
        self._result.count("left alone" if is_less else "unchanged" if has_rows else "empty")
        self._data.note((before or Entry(task.slot))._replace(made=task.made, sources=task.sources))
        return True

    def _has_file(self, before: Entry) -> bool:
        """Return whether it is known what was said in the rows of a session, and they are still there."""
        if not before.name or not before.said:
            return False
        partition = Partition.named(before.name)
        return partition not in self._plan.stale or self._partitions.is_there(partition)

    def _flush(self) -> None:
        """Put all rows that wait into their files."""
        while self._new:
            self._rewrite(min(self._new))
        self._spool.clear()

    def _left_over(self) -> list[Partition]:
        """Return the partitions that have to be written although no session of theirs is new."""
        left = (partition for partition in self._plan.stale - self._refused if not self._partitions.is_left(partition))
        return sorted(left)

    def _rewrite(self, partition: Partition) -> None:
        """Write a partition. If its files are not as they were left, so are its other sessions."""
        with self._guarding(partition):
            if partition in self._unusable:
                raise self._unusable[partition]
            if partition not in self._whole and not self._partitions.is_left(partition):
                self._partitions.require_own(partition)
                self._read_rest(partition)
            gone = asked_by_now(self._data)  # what is forgotten from now on goes at the end of the run
            waiting = self._new.pop(partition, {})
            new = {name: rows for name, rows in waiting.items() if rows.entry.slot[0] not in gone}
            is_new = {name: self._data.known(rows.entry.slot[0]) for name, rows in new.items()}
            is_complete = self._unread[partition] <= 0
            self._partitions.rewrite(partition, new, self._spool, is_complete=is_complete)
            for before in is_new.values():
                self._result.count("updated" if before is not None and before.name else "wrote")

    def _read_rest(self, partition: Partition) -> None:
        for task in self._plan.left.pop(partition, ()):
            self._result.counts["unchanged"] -= 1
            self._take(task, None)

    @contextmanager
    def _guarding(self, partition: Partition) -> Iterator[None]:
        """Note what keeps a partition from being written, and go on with the others."""
        try:
            yield
        except TablesError:
            raise
        except (KatodError, OSError) as error:
            require_disk(error)
            self._refused.add(partition)
            self._result.counts["failed"] += len(self._new.pop(partition, {}))
            self._result.failures.append(line_of(error))


def _lacking(plan: TablesPlan) -> Iterator[Partition]:
    """Yield the partition of each session that is read as its rows may be gone: until then, it is not complete."""
    for task in plan.tasks:
        partition = Partition.named(task.entry.name) if task.entry is not None and task.entry.name else None
        if partition is not None and partition in plan.stale:
            yield partition
