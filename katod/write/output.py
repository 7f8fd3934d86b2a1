"""Appending to one output: look at it, append all, sync. It is opened for each append and closed again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple

from katod.errors import OutputError, TargetRefused
from katod.write.recover import plan
from katod.write.safe import open_file, open_parent

TAIL_SIZE: Final = 1024
NEAR_TAIL_SIZE: Final = 64
_LOOK_BACK: Final = 16 * 1024 * 1024
_LOOK_AROUND: Final = 2 * 1024 * 1024
# fdatasync is not offered everywhere (macOS): there fsync does the same and more.
_sync = getattr(os, "fdatasync", os.fsync)


class Place(NamedTuple):
    """Where an output lies: below `root`, through `parts`."""

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)


class Known(NamedTuple):
    """An output as katod left it: device, inode, size, hashes of its end (`_tail`). Inode 0: never made."""

    dev: int = 0
    ino: int = 0
    size: int = 0
    tail: str = ""


Change = Literal["same", "edited", "gone"]


class Look(NamedTuple):
    """What became of an output since, and whether it ends in the middle of a line."""

    change: Change
    known: Known


def look(place: Place, known: Known) -> Look:
    """Compare an output with what is known of it; raises OutputError when it cannot be opened.

    An edited one is adopted: the look's `known` is what it is now.
    """
    if not known.ino:
        return Look("same", known)
    try:
        with _opened(place, create=False) as fd:
            return _compare(fd, known)
    except FileNotFoundError:
        return Look("gone", Known())


def make(place: Place) -> Known:
    """Make an output, or take an empty file that has its name already; raises OutputError for any other file.

    The ledger knows it by its inode before anything is written to it: what stands there after a crash is then known
    to be katod's, however little of it, and whoever wrote there since.
    """
    try:
        with _opened(place, create=True) as fd:
            return _known(fd)
    except FileExistsError:
        return _take_empty(place)


def append(place: Place, data: bytes) -> Known:
    """Append all of `data` and sync it to the disk; returns the output as it is now.

    What stands there beyond what is known is left alone: the data goes behind it. Raises OutputError.
    """
    try:
        with _opened(place, create=False) as fd:
            if _ends_mid_line(fd):
                data = b"\n" + data
            _write(fd, data, place.path)
            return _known(fd)
    except FileNotFoundError:
        raise _away(place) from None


def complete(place: Place, known: Known, intent: bytes, bounds: list[int]) -> tuple[Known, bool]:
    """Bring an intent to its end that may have been written in part.

    Returns the output as it is now, and whether someone else's text stands there, too. Raises OutputError.
    """
    try:
        with _opened(place, create=False) as fd:
            size = os.fstat(fd).st_size
            start = _committed_end(fd, size, known)
            anchored = start is not None
            start = max(0, size - _LOOK_BACK) if start is None else start
            behind = os.pread(fd, size - start, start)
            if not behind and _ends_mid_line(fd):
                intent = b"\n" + intent  # behind a line that someone else left open
            todo = plan(behind, intent, bounds, anchored=anchored)
            if todo.cut is not None:
                os.ftruncate(fd, start + todo.cut)
            _write(fd, todo.data, place.path)
            return _known(fd), todo.foreign
    except FileNotFoundError:
        raise _away(place) from None


def save_asset(place: Place, folder: str, name: str, content: bytes) -> None:
    """Save an attachment beside an output under its hash; one that a crash cut short is completed.

    Raises OutputError.
    """
    there = Place(place.root, (*place.parts[:-1], folder, name))
    try:
        with _opened(there, create=True) as fd:
            _write(fd, content, there.path)
    except FileExistsError:
        with _opened(there, create=False) as fd:
            _write(fd, content[os.fstat(fd).st_size :], there.path)


def _take_empty(place: Place) -> Known:
    """Take an empty file that has the name already; any other was made by someone else."""
    try:
        with _opened(place, create=False) as fd:
            if os.fstat(fd).st_size:
                raise OutputError("another file now has this name", path=place.path, hint="move or rename it")
            return _known(fd)
    except FileNotFoundError:
        raise _away(place) from None


def _committed_end(fd: int, size: int, known: Known) -> int | None:
    """Return where what was committed ends now, None where it cannot be told.

    An edit further up moves it: then it is found by its last bytes; where the edit was close, by the very last ones or
    by its last line, if nothing else in the file ends like that.
    """
    if size >= known.size and _is_tail(fd, known.size, known.tail):
        return known.size
    begin = max(0, size - _LOOK_AROUND)
    data = os.pread(fd, size - begin, begin)
    far, near, line = [*known.tail.split("."), "", ""][:3]
    found = list(islice(_ends_like(data, far, min(known.size, TAIL_SIZE)), 1))
    for close in (_ends_like(data, near, min(known.size, NEAR_TAIL_SIZE)), _lines_like(data, line)):
        found = found or list(islice(close, 2))
        if len(found) == 1:
            return begin + found[0]
    return None


def _ends_like(data: bytes, digest: str, length: int) -> Iterator[int]:
    """Yield the ends of lines whose last bytes, with what stands before them, have this hash: the last one first."""
    for end in _ends(data):
        if end >= length > 0 and _digest(data[end - length : end]) == digest:
            yield end


def _lines_like(data: bytes, digest: str) -> Iterator[int]:
    """Yield the ends of lines with this hash."""
    at = 0
    for line in data.splitlines(keepends=True):
        at += len(line)
        if line.strip() and _digest(line.strip()) == digest:
            yield at


def _ends(data: bytes) -> Iterator[int]:
    """Yield where lines end, the last one first; before a newline, too: katod may have ended what others left open."""
    at = len(data)
    if not data.endswith(b"\n"):
        yield at
    while (at := data.rfind(b"\n", 0, at)) >= 0:
        yield at + 1
        if at and data[at - 1 : at] != b"\n":
            yield at


def _away(place: Place) -> OutputError:
    return OutputError("no longer exists", path=place.path)


@contextmanager
def _opened(place: Place, *, create: bool) -> Iterator[int]:
    """Open an output; that it is there or not passes, all else that fails is an OutputError that names the path."""
    try:
        with open_parent(place.root, place.parts, make=create) as parent:
            fd = open_file(parent, place.parts[-1], create=create)
            try:
                if create:
                    os.fsync(parent)
                yield fd
            finally:
                os.close(fd)
    except FileNotFoundError:
        if create:
            raise OutputError("its folder no longer exists", path=place.path, hint="is the disk mounted?") from None
        raise
    except FileExistsError:
        raise
    except TargetRefused as error:
        raise OutputError(error.what, path=place.path, hint="katod writes only to plain files of yours") from error
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=place.path) from error


def _compare(fd: int, known: Known) -> Look:
    status = os.fstat(fd)
    now = Known(status.st_dev, status.st_ino, status.st_size, known.tail)
    if now == known and _is_tail(fd, known.size, known.tail):
        return Look("same", known)
    return Look("edited", _known(fd))


def _ends_mid_line(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


def _known(fd: int) -> Known:
    status = os.fstat(fd)
    return Known(status.st_dev, status.st_ino, status.st_size, _tail(fd, status.st_size))


def _tail(fd: int, size: int) -> str:
    """Hash the last 1024 bytes, the last 64, and the last line with anything in it."""
    length = min(size, TAIL_SIZE)
    data = os.pread(fd, length, size - length)
    line = data.rstrip().rpartition(b"\n")[2].strip()
    return ".".join(map(_digest, (data, data[-NEAR_TAIL_SIZE:], line)))


def _is_tail(fd: int, size: int, tail: str) -> bool:
    return _tail(fd, size).startswith(tail)  # an older katod kept fewer hashes


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def _write(fd: int, data: bytes, path: Path) -> None:
    """Write all and sync: a write may be short (quota, a full disk, a signal)."""
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written <= 0:
            raise OutputError("cannot be written: the system accepted 0 bytes", path=path, hint="is the disk full?")
        view = view[written:]
    _sync(fd)
