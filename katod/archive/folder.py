"""The folder on the disk: its lock, its manifest, and its files."""

import errno
import fcntl
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

from katod import durable
from katod.archive.machine import Machine
from katod.archive.manifest import MANIFEST, Entry, Manifest, entry_line, header, project_line
from katod.archive.plan import FileLook, State
from katod.errors import AlreadyRunning, KatodError, OutputError, TargetRefused
from katod.write.safe import make_root, open_file
from katod.write.whole import FileStamp, UnfinishedFile, digest_at, drafted, head_at, remove_draft, stamp_at

DRAFT: Final = ".katod-export.tmp"
ASIDE: Final = ".katod-export.damaged-{}.jsonl"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
T = TypeVar("T")


class ExportFolder:
    """A locked folder of exports. Nothing in it changes until something has to be written."""

    def __init__(self, root: Path, fd: int, manifest_fd: int) -> None:
        self.root = root
        self.manifest = Manifest()  # until `read`
        self.aside = ""  # where a damaged manifest was copied to
        self._has_changed = False
        self._fd = fd
        self._manifest_fd = manifest_fd

    @property
    def descriptors(self) -> tuple[int, int]:
        """What is open of it, with its lock."""
        return self._fd, self._manifest_fd

    def read(self, machine: Machine | None) -> None:
        """Read the manifest, and remove what a killed run left behind. A damaged manifest is kept under another name.

        With a machine, the folder has to be its, and is from now on. Raises OutputError or OSError.
        """
        data = os.pread(self._manifest_fd, os.fstat(self._manifest_fd).st_size, 0)
        try:
            remove_draft(self._fd, DRAFT)
            self.manifest = Manifest.read(data)
        except KatodError as error:
            raise OutputError(error.what, path=self.root / MANIFEST, hint=error.hint) from error
        if machine is not None:
            self._claim(machine)
        if self.manifest.damaged:
            self._set_aside(data)
        elif self.manifest.size < len(data):  # a line without its end, which a killed run was writing
            durable.truncate(self._manifest_fd, self.manifest.size)

    def look(self, entry: Entry, *, closely: bool = False) -> FileLook:
        """Compare a file with what katod wrote; unless `closely`, it is read only if its stamp differs.

        The stamp is not enough to replace a file: there are tools that change a file and restore its time. Raises
        KatodError or OSError.
        """
        there = self.stamp(entry.name)
        if there is None:
            return FileLook("gone", None)
        if there == (entry.size, entry.mtime_ns) and (entry.edited or not closely):
            return FileLook("edited" if entry.edited else "same", there)
        return FileLook(self._compared(entry, there), there)

    def stamp(self, name: str) -> FileStamp | None:
        """Return the stamp of what has a name, None if nothing has."""
        return stamp_at(self._fd, name)

    def digest(self, parts: tuple[str, ...]) -> str:
        """Return the hash of a file; empty for what is no regular file. Raises KatodError."""
        return self._read(digest_at, parts, "")

    def head(self, parts: tuple[str, ...]) -> bytes:
        """Return the beginning of a file; empty for what is no regular file. Raises KatodError."""
        return self._read(head_at, parts, b"")

    @contextmanager
    def draft(self) -> Iterator[UnfinishedFile]:
        """Yield an empty draft, which is removed unless it is published."""
        with durable.naming(self.root / DRAFT), drafted(self._fd, DRAFT) as draft:
            yield draft

    def publish(self, draft: UnfinishedFile, entry: Entry, expected: FileStamp | None) -> None:
        """Note an entry, then give the draft its name. Raises KatodError or OSError; the entry is then taken back."""
        before = self.manifest.entries.get(entry.slot, Entry(entry.slot))
        self._append(entry_line(entry), sync=True)  # first: whichever file is there after a kill, it is known
        try:
            draft.publish(self.root, entry.parts, expected)
        except (KatodError, OSError):
            self.note(_taken_back(before, entry))
            raise
        self.manifest.entries[entry.slot] = entry._replace(before="")

    def write_aside(self, name: str, data: bytes) -> None:
        """Write a damaged manifest under another name. Raises KatodError or OSError."""
        with self.draft() as draft:
            draft.write(data)
            draft.complete()
            draft.publish(self.root, (name,), self.stamp(name))

    def note(self, entry: Entry) -> None:
        """Append an entry to the manifest. Raises OSError."""
        self._append(entry_line(entry))
        self.manifest.entries[entry.slot] = entry

    def add_project(self, path: str, folder: str) -> None:
        """Append the folder of a project to the manifest. Raises OSError."""
        self._append(project_line(path, folder))
        self.manifest.projects[path] = folder

    def drop(self, entries: Collection[Entry]) -> list[str]:
        """Take entries out of the manifest, and their projects if nothing else is of them; return the folders of those.

        That is on the disk once it is compacted.
        """
        for entry in entries:
            del self.manifest.entries[entry.slot]
        self._has_changed = True
        (folders, places), (used, known) = map(_places_of, (entries, self.manifest.entries.values()))
        folders, places = folders - used, places - known
        rows = self.manifest.projects.items()
        gone = {path: folder for path, folder in rows if folder in folders or path in places}
        for path in gone:
            del self.manifest.projects[path]
        return list(gone.values())

    def compact(self) -> None:
        """Rewrite the manifest with only the lines that count, if it changed. Raises KatodError or OSError."""
        if not self._has_changed:
            return
        with self.draft() as draft:
            with suppress(OSError):  # this file system has no locks
                fcntl.flock(draft.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # before it has the name
            for line in self.manifest.lines():
                draft.write(line)
            draft.complete()
            draft.publish(self.root, (MANIFEST,), self.stamp(MANIFEST))
            os.close(self._manifest_fd)
            self._manifest_fd = os.dup(draft.fd)
        self._has_changed = False

    def close(self) -> None:
        """Release the lock."""
        os.close(self._manifest_fd)

    def _claim(self, machine: Machine) -> None:
        """Note whose folder it is. Raises OutputError if it is another machine's."""
        is_new = self.manifest.size == 0
        try:
            self._has_changed |= self.manifest.claim(machine) and not is_new
        except KatodError as error:
            raise OutputError(error.what, path=self.root, hint=error.hint) from error

    def _compared(self, entry: Entry, there: FileStamp) -> State:
        """Compare the content of a file with what katod wrote, and note what was found."""
        digest = self.digest(entry.parts)
        if digest and digest == entry.before:
            return "older"
        found = entry._replace(size=there.size, mtime_ns=there.mtime_ns, edited=digest != entry.digest)
        if found != entry:
            self.note(found)
        return "edited" if found.edited else "same"

    def _read(self, read: Callable[[Path, tuple[str, ...]], T], parts: tuple[str, ...], nothing: T) -> T:
        try:
            return read(self.root, parts)
        except TargetRefused:
            return nothing  # a link
        except OSError as error:
            raise OutputError(f"cannot be read: {error.strerror}", path=self.root.joinpath(*parts)) from error

    def _set_aside(self, data: bytes) -> None:
        """Copy a damaged manifest to a file of its own, and go on with what could be read."""
        names = (ASIDE.format(number) for number in count(1))
        self.aside = next(name for name in names if self.stamp(name) is None)
        self.write_aside(self.aside, data)
        self._has_changed = True
        self.compact()

    def _append(self, line: bytes, *, sync: bool = False) -> None:
        """Append a line, or nothing of it. Raises OSError."""
        end = os.fstat(self._manifest_fd).st_size
        data = line if end else header(self.manifest.machine) + line
        self._has_changed = True
        with durable.naming(self.root / MANIFEST):
            written = durable.write_at(self._manifest_fd, data, end)
            if written < len(data):
                durable.truncate(self._manifest_fd, end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if sync:
                durable.sync(self._manifest_fd)


def lists_aside(root: Path) -> list[Path]:
    """Return the damaged manifests that were kept under other names."""
    return sorted(root.glob(ASIDE.format("*")))


def _taken_back(before: Entry, entry: Entry) -> Entry:
    """Return what is noted of a session whose new file failed to get its name: it may have it nevertheless."""
    if before.name == entry.name:
        return before._replace(before=entry.digest)
    return before._replace(earlier=(*before.earlier, (entry.name, entry.digest)))


def _places_of(entries: Collection[Entry]) -> tuple[set[str], set[str]]:
    """Return the folders in which the files of entries are, and the directories of their sessions."""
    return {name.split("/")[0] for entry in entries for name in entry.names}, {entry.cwd for entry in entries}


@contextmanager
def opened(root: Path, machine: Machine | None = None) -> Iterator[ExportFolder]:
    """Create a folder of exports if necessary, and lock it; with a machine, it has to be its.

    Raises AlreadyRunning or OutputError.
    """
    try:
        make_root(root)
        fd = os.open(root, _FOLDER)
    except OSError as error:
        raise OutputError(f"cannot be used: {error.strerror}", path=root) from error
    try:
        folder = ExportFolder(root, fd, _locked(root, fd))
        try:
            folder.read(machine)
            yield folder
        finally:
            folder.close()
    finally:
        os.close(fd)


def _locked(root: Path, folder: int) -> int:
    """Open the manifest, empty if there is none, and lock it. Raises AlreadyRunning or OutputError."""
    while True:
        fd = _open_manifest(root, folder)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            what = "another `katod export --all` is writing to this directory"
            raise AlreadyRunning(what, path=root, hint="wait until it is done") from None
        except OSError:
            return fd  # this file system has no locks
        if _has_name(fd, folder):
            return fd
        os.close(fd)  # another run has replaced it since


def _has_name(fd: int, folder: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(MANIFEST, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _open_manifest(root: Path, folder: int) -> int:
    try:
        for create in (False, True, False):
            with suppress(FileExistsError if create else FileNotFoundError):
                return open_file(folder, MANIFEST, create=create)
    except TargetRefused as error:
        raise OutputError(error.what, path=root / MANIFEST, hint="remove it") from error
    except OSError as error:
        raise OutputError(f"cannot be opened: {error.strerror}", path=root / MANIFEST) from error
    raise OutputError("keeps disappearing", path=root / MANIFEST)


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path is a folder or in it, whichever way they are named."""
    real, there = path.resolve(), folder.resolve()
    if real.is_relative_to(there):
        return True
    return there.exists() and any(above.exists() and above.samefile(there) for above in (real, *real.parents))


def require_allowed(folder: Path, outputs: Path, protected: tuple[Path, ...]) -> None:
    """Raise TargetRefused for a link, and for a folder that is or is in the output directory or a protected one."""
    if folder.is_symlink():
        what = "is a symbolic link"
    elif is_inside(folder, outputs):
        what = "is in the output directory, where your recordings are"
    elif any(is_inside(folder, place) for place in protected):
        what = "is in an agent's directory or katod's state directory"
    else:
        return
    raise TargetRefused(what, path=folder, hint="choose another folder")
