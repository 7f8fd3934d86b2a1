"""The folder on the disk: its lock, its manifest, and its files."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from katod.archive.manifest import MANIFEST, Entry, Manifest, entry_line, header, project_line
from katod.archive.plan import Look
from katod.errors import AlreadyRunning, KatodError, OutputError, TargetRefused
from katod.write.safe import make_root, open_file
from katod.write.whole import Draft, Stamp, digest_at, drafted, stamp_at

_DRAFT: Final = ".katod-export.tmp"
_ASIDE: Final = ".katod-export.damaged-{}.jsonl"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class ExportFolder:
    """A locked folder of exports. Nothing in it changes until something has to be written."""

    def __init__(self, root: Path, fd: int) -> None:
        self.root = root
        self.aside = ""  # what a damaged manifest was renamed to
        self._has_changed = False
        self._fd = fd
        self._manifest_fd = _locked(root, fd)
        self.manifest = self._read()

    def look(self, entry: Entry) -> Look:
        """Compare a file with what katod wrote; it is read only if its stamp differs. Raises KatodError or OSError."""
        there = self.stamp(entry.name)
        if there is None:
            return Look("gone", None)
        if there == (entry.size, entry.mtime_ns):
            return Look("edited" if entry.edited else "same", there)
        digest = self.digest(entry.parts)
        if digest and digest == entry.before:
            return Look("older", there)
        is_edited = digest != entry.digest
        self.note(entry._replace(size=there.size, mtime_ns=there.mtime_ns, edited=is_edited))
        return Look("edited" if is_edited else "same", there)

    def stamp(self, name: str) -> Stamp | None:
        """Return the stamp of what has a name, None if nothing has."""
        return stamp_at(self._fd, name)

    def digest(self, parts: tuple[str, ...]) -> str:
        """Return the hash of a file; empty for what is no regular file. Raises KatodError."""
        try:
            return digest_at(self.root, parts)
        except TargetRefused:
            return ""  # a link
        except OSError as error:
            raise OutputError(f"cannot be read: {error.strerror}", path=self.root.joinpath(*parts)) from error

    @contextmanager
    def draft(self) -> Iterator[Draft]:
        """Yield an empty draft, which is removed unless it is published."""
        with drafted(self._fd, _DRAFT) as draft:
            yield draft

    def publish(self, draft: Draft, entry: Entry, expected: Stamp | None) -> None:
        """Note an entry, then give the draft its name. Raises KatodError or OSError; the entry is then taken back."""
        before = self.manifest.entries.get(entry.slot, Entry(entry.slot))
        self._append(entry_line(entry), sync=True)  # first: whichever file is there after a kill, it is known
        try:
            draft.publish(self.root, entry.parts, expected)
        except (KatodError, OSError):
            self.note(before._replace(before=entry.digest))  # it may have its name nevertheless
            raise
        self.manifest.entries[entry.slot] = entry._replace(before="")

    def note(self, entry: Entry) -> None:
        """Append an entry to the manifest. Raises OSError."""
        self._append(entry_line(entry))
        self.manifest.entries[entry.slot] = entry

    def add_project(self, path: str, folder: str) -> None:
        """Append the folder of a project to the manifest. Raises OSError."""
        self._append(project_line(path, folder))
        self.manifest.projects[path] = folder

    def compact(self) -> None:
        """Rewrite the manifest with only the lines that count, if it changed: the last thing to do. Raises OSError."""
        if not self._has_changed:
            return
        with self.draft() as draft:
            fcntl.flock(draft.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is locked before it has the name
            for line in self.manifest.lines():
                draft.write(line)
            draft.complete()
            draft.publish(self.root, (MANIFEST,), self.stamp(MANIFEST))

    def close(self) -> None:
        """Release the lock."""
        os.close(self._manifest_fd)

    def _read(self) -> Manifest:
        """Return the manifest without an incomplete last line; a damaged one is kept under another name."""
        data = _all_of(self._manifest_fd)
        try:
            manifest = Manifest.read(data)
        except KatodError as error:
            raise OutputError(error.what, path=self.root / MANIFEST, hint=error.hint) from error
        if manifest.damaged:
            self._set_aside()
            self._has_changed = True
        elif manifest.size < len(data):
            os.ftruncate(self._manifest_fd, manifest.size)
        return manifest

    def _set_aside(self) -> None:
        """Rename a damaged manifest, and begin another one with what could be read."""
        names = (_ASIDE.format(number) for number in count(1))
        self.aside = next(name for name in names if self.stamp(name) is None)
        os.rename(MANIFEST, self.aside, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        os.close(self._manifest_fd)
        self._manifest_fd = _locked(self.root, self._fd)

    def _append(self, line: bytes, *, sync: bool = False) -> None:
        """Append a line. Raises OSError."""
        if not self._has_changed:
            self._has_changed = True
            if not os.fstat(self._manifest_fd).st_size:
                line = header() + line
        os.write(self._manifest_fd, line)
        if sync:
            os.fsync(self._manifest_fd)


@contextmanager
def opened(root: Path) -> Iterator[ExportFolder]:
    """Create a folder of exports if necessary, and lock it. Raises AlreadyRunning or OutputError."""
    try:
        make_root(root)
        fd = os.open(root, _FOLDER)
    except OSError as error:
        raise OutputError(f"cannot be used: {error.strerror}", path=root) from error
    try:
        folder = ExportFolder(root, fd)
        try:
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
            hint = "wait until it is done"
            raise AlreadyRunning("another `katod export --all` writes to this folder", path=root, hint=hint) from None
        except OSError:
            return fd  # no locks here
        if stamp_at(folder, MANIFEST) is not None and os.path.samestat(os.fstat(fd), os.stat(MANIFEST, dir_fd=folder)):
            return fd
        os.close(fd)  # another run replaced it meanwhile


def _open_manifest(root: Path, folder: int) -> int:
    try:
        try:
            return open_file(folder, MANIFEST, create=False)
        except FileNotFoundError:
            return open_file(folder, MANIFEST, create=True)
    except FileExistsError:
        return open_file(folder, MANIFEST, create=False)
    except TargetRefused as error:
        raise OutputError(error.what, path=root / MANIFEST, hint="remove it") from error
    except OSError as error:
        raise OutputError(f"cannot be opened: {error.strerror}", path=root / MANIFEST) from error


def _all_of(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path is a folder or in it, whichever way they are named."""
    real, there = path.resolve(), folder.resolve()
    if real.is_relative_to(there):
        return True
    return there.exists() and any(above.exists() and above.samefile(there) for above in (real, *real.parents))


def require_allowed(folder: Path, outputs: Path, protected: tuple[Path, ...]) -> None:
    """Raise TargetRefused for a folder that is or is in the output directory or one of the protected ones."""
    if is_inside(folder, outputs):
        what = "is in the output directory, where your recordings are"
    elif any(is_inside(folder, place) for place in protected):
        what = "is in an agent's directory or katod's state directory"
    else:
        return
    raise TargetRefused(what, path=folder, hint="choose another folder")
