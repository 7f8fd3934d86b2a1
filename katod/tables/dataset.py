"""What katod knows of a data set, in its own state: which rows were made of what, and how their files were left.

It is the list of an export folder (`archive`), with its lock: an entry for each session, whose name is its partition,
and one for each file. Nothing in it changes until something has to be written.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Final

import orjson

from katod import durable
from katod.archive.drop import is_damaged
from katod.archive.folder import ExportFolder, opened
from katod.archive.machine import Machine
from katod.archive.manifest import MANIFEST, Entry, Slot
from katod.errors import AlreadyRunning, OutputError
from katod.model import SessionKey
from katod.record.spawned import with_started
from katod.smallfile import read_small, write_small
from katod.store.usagecache import forget_usage
from katod.tables.address import Partition
from katod.tables.schema import TABLES, VERSION, TableSpec
from katod.write.whole import FileStamp

FOLDER: Final = "tables"  # in katod's state
_ADDRESS: Final = "address"
_TO_FORGET: Final = "to-forget-{}.json"  # each request is a file: what is asked for while others are done stays
_INCOMPLETE: Final = "incomplete"  # there until what the list lacks was looked up in the files
_LARGEST: Final = 1024 * 1024
_FORM: Final = "tables"
# What the entry of a session is made of whose rows have to go, and are still in the files of its partition.
_FORGOTTEN: Final = "forgotten"
_EXCLUDED: Final = "excluded"
_BEGUN: Final = "begun"  # of one whose first rows were being written when katod was killed: some files may have them
_MADE: Final = str(VERSION)
_PRIVATE: Final = 0o700


class DataSet:
    """A locked data set. The rows of a session are in the partition that its entry names, whatever a file says."""

    def __init__(self, address: str, machine: Machine, folder: ExportFolder) -> None:
        self.address = address
        self.machine = machine
        self.folder = folder
        self.damaged_requests: list[Path] = []  # of sessions to be forgotten
        self.started: dict[SessionKey, str] = {}  # what was read since it was locked, and whose agent started each
        self._entries = folder.manifest.entries

    @property
    def state(self) -> Path:
        """The directory of what katod knows of it."""
        return self.folder.root

    @property
    def is_complete(self) -> bool:
        """Whether what is known is all that was ever noted: not if that is lost, or a part of it was damaged."""
        return not self.is_damaged and any(not key.agent for key, _ in self._entries)

    @property
    def is_damaged(self) -> bool:
        """Whether the list was lost or damaged, and what it lacks was not looked up in the files since."""
        return (self.state / _INCOMPLETE).exists()

    @staticmethod
    def slot(key: SessionKey) -> Slot:
        """Return where the entry of a session is."""
        return key, _FORM

    def session(self, key: SessionKey) -> Entry | None:
        """Return the entry of a session."""
        return self._entries.get((key, _FORM))

    def known(self, key: SessionKey) -> Entry | None:
        """Return what is known of a session, nothing if it was forgotten, or if its rows were never complete."""
        entry = self.session(key)
        return None if entry is None or entry.made in (_FORGOTTEN, _BEGUN) else entry

    def sessions(self) -> Iterator[Entry]:
        """Yield the entries of all sessions."""
        yield from (entry for (key, _), entry in self._entries.items() if key.agent)

    def partitions(self) -> set[Partition]:
        """Return the partitions of which there are files."""
        return {Partition.named(key.id) for key, _ in self._entries if not key.agent}

    def part(self, partition: Partition, table: TableSpec) -> Entry:
        """Return the entry of a file; an empty one if there is none."""
        slot = SessionKey("", str(partition)), table.name
        return self._entries.get(slot) or Entry(slot)

    def name(self, partition: Partition, table: TableSpec) -> str:
        """Return the name of a file."""
        return partition.part(table, self.machine.name)

    def is_noted(self, partition: Partition, table: TableSpec) -> bool:
        """Return whether a file was left complete, under its present name and as this version writes it."""
        entry = self.part(partition, table)
        return entry.made == _MADE and entry.name == self.name(partition, table)

    def stamp(self, partition: Partition, table: TableSpec) -> FileStamp:
        """Return the stamp of a file as it was left."""
        entry = self.part(partition, table)
        return FileStamp(entry.size, entry.mtime_ns)

    def note(self, entry: Entry) -> None:
        """Note what is known of a session. Raises OSError."""
        self.folder.note(entry)

    def begin(self, partition: Partition, new: Iterable[Entry] = ()) -> None:
        """Note that the files of a partition are about to be written: until they are noted, none counts as complete.

        Nor are the rows of a `new` session, until it is noted: what its agent deletes by then goes from the files, too.
        """
        for table in TABLES:
            entry = self.part(partition, table)
            self.folder.note(entry._replace(made="", name=entry.name or self.name(partition, table)))
        for entry in new:
            if self.session(entry.slot[0]) is None:
                self.folder.note(Entry(entry.slot, _BEGUN, name=entry.name, cwd=entry.cwd))

    def was_written(self, partition: Partition) -> bool:
        """Return whether a file of a partition was ever complete."""
        return any(self.part(partition, table).size for table in TABLES)

    def begun(self) -> set[Partition]:
        """Return the partitions that were about to be written, and are not complete."""
        return {one for one in self.partitions() if any(not self.part(one, table).made for table in TABLES)}

    def end(self, partition: Partition, table: TableSpec, stamp: FileStamp, digest: str = "") -> None:
        """Note a complete file; `digest` is that of its rows, if they are compared with new ones."""
        name = self.name(partition, table)
        entry = self.part(partition, table)._replace(made=_MADE, name=name, digest=digest)
        self.folder.note(entry._replace(size=stamp.size, mtime_ns=stamp.mtime_ns))

    def leave(self, partition: Partition) -> None:
        """Note that a partition has no files any more."""
        parts = [self.part(partition, table) for table in TABLES]
        self.folder.drop([entry for entry in parts if entry.slot in self._entries])

    def drop_all(self) -> None:
        """Note that there are no files any more. Raises OutputError or OSError."""
        self.folder.drop(list(self._entries.values()))
        self.save()
        self.complete()

    def forget(self, keys: Collection[SessionKey]) -> None:
        """Note that the rows of sessions have to go; until they are gone, that is all that is known of them.

        Raises OutputError or OSError.
        """
        for key in keys:
            if (entry := self.session(key)) is not None and entry.name:
                self.folder.note(Entry(entry.slot, _FORGOTTEN, name=entry.name))
        self.save()
        forget_usage(self.state, keys)

    def exclude(self, entry: Entry) -> None:
        """Note that the rows of a session have to go, as its project is excluded."""
        self.folder.note(Entry(entry.slot, _EXCLUDED, name=entry.name, cwd=entry.cwd))

    def settle(self, partition: Partition) -> None:
        """Note that the files of a partition are without the rows that had to go."""
        gone = [entry for entry in self.sessions() if is_going(entry) and entry.name == str(partition)]
        self.folder.drop([entry for entry in gone if entry.made != _EXCLUDED])
        for entry in gone:
            if entry.made == _EXCLUDED:
                self.folder.note(Entry(entry.slot, cwd=entry.cwd))

    def complete(self) -> None:
        """Note that the list has all sessions that are in the files. Raises OSError."""
        durable.remove(self.state / _INCOMPLETE, missing_ok=True)

    def save(self) -> None:
        """Rewrite the list with only the lines that count. Raises OutputError."""
        try:
            self.folder.compact()
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=self.state / MANIFEST) from error


def is_going(entry: Entry) -> bool:
    """Return whether the rows of a session have to go from the files that have some."""
    return entry.made in (_FORGOTTEN, _EXCLUDED, _BEGUN)


def is_forgotten(entry: Entry) -> bool:
    """Return whether the rows of a session have to go as it was forgotten."""
    return entry.made == _FORGOTTEN


@contextmanager
def opened_set(state: Path, address: str, machine: Machine) -> Iterator[DataSet]:
    """Lock what is known of a data set, nothing at first. Raises AlreadyRunning, OutputError or OSError."""
    root = _root(state, address)
    try:
        durable.make_own_folder(state)
        durable.make_folders(root, _PRIVATE)
        if is_list_damaged(root):
            write_small(root / _INCOMPLETE, b"")  # first: the list is mended when it is opened
        if _address_in(root) != address:
            write_small(root / _ADDRESS, address.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=root) from error
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(opened(root))
        except AlreadyRunning as error:
            raise AlreadyRunning("another katod is writing this data set", path=address, hint=error.hint) from None
        data = DataSet(address, machine, folder)
        forget_asked(data)
        yield data


def ask_to_forget(state: Path, address: str, keys: Iterable[SessionKey]) -> None:
    """Have the rows of sessions and of their sub-agents go: with the lock, whoever has it or gets it next notes that.

    Raises OSError.
    """
    root, data = _root(state, address), orjson.dumps(sorted(keys), default=list)
    asked = blake2b(data, digest_size=8).hexdigest()
    for part in root.glob(f"{_TO_FORGET.format(f'{asked}-*')}.part"):  # of a katod that was killed while it asked this
        durable.remove(part, missing_ok=True)
    write_small(root / _TO_FORGET.format(f"{asked}-{token_hex(8)}"), data)


def forget_asked(data: DataSet) -> bool:
    """Note which sessions were asked to be forgotten: nothing else is known of them then. Return whether any were.

    A request is removed once it was noted; one that cannot be read stays. Raises OutputError or OSError.
    """
    asked = _requests(data.state)
    data.damaged_requests = [path for path, keys in asked.items() if keys is None]
    done = {path: keys for path, keys in asked.items() if keys is not None}
    if not done:
        return False
    known = {entry.slot[0]: "" for entry in data.sessions()}
    data.forget(with_started({key for keys in done.values() for key in keys}, known | data.started))
    for path in done:
        durable.remove(path, missing_ok=True)
    return True


def asked_by_now(data: DataSet) -> set[SessionKey]:
    """Return which sessions were asked to be forgotten, if that was not noted yet. Nothing is changed."""
    return with_started((key for asked in _requests(data.state).values() for key in asked or ()), data.started)


def _requests(state: Path) -> dict[Path, list[SessionKey] | None]:
    return {path: _asked(path) for path in sorted(state.glob(_TO_FORGET.format("*")))}


def _asked(path: Path) -> list[SessionKey] | None:
    """Return the sessions of a request, None if it is damaged."""
    try:
        keys = [SessionKey(*row) for row in orjson.loads(read_small(path, _LARGEST, own=True))]
    except (OSError, ValueError, TypeError):
        return None
    return keys if all(isinstance(part, str) for key in keys for part in key) else None


def _root(state: Path, address: str) -> Path:
    return state / FOLDER / blake2b(address.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def known_sets(state: Path) -> list[tuple[str, Path]]:
    """Return the address of each data set that katod wrote, and where what is known of it is."""
    try:
        names = sorted(path.name for path in (state / FOLDER).iterdir())
    except OSError:
        return []
    roots = [state / FOLDER / name for name in names]
    return [(address, root) for root in roots if (address := _address_in(root))]


def is_list_damaged(root: Path) -> bool:
    """Return whether a data set was written whose list is missing or damaged, or has not all that is in its files."""
    if not _address_in(root):
        return False
    return (root / _INCOMPLETE).exists() or is_damaged(root)


def _address_in(root: Path) -> str:
    with suppress(OSError):
        return read_small(root / _ADDRESS, _LARGEST, own=True).decode("utf-8", "surrogateescape")
    return ""
