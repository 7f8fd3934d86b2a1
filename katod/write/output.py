"""Appending to one output: inspect, append everything, sync. The file is opened for each append, then closed."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import ENOSPC
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Final, Literal, NamedTuple

from katod import durable
from katod.errors import OutputError, OutputReplaced, TargetRefused, advice_on, hint_for
from katod.model import signed
from katod.shell import pasted
from katod.write.recover import plan
from katod.write.root import require_root
from katod.write.safe import open_file, open_parent

TAIL_SIZE: Final = 1024
NEAR_TAIL_SIZE: Final = 64
_CLAIMS: Final = range(400_000_000, 1_000_000_000, 2)  # times between 1982 and 2001, as coarse as FAT stores them
_LOOK_BACK: Final = 16 * 1024 * 1024
_LOOK_AROUND: Final = 2 * 1024 * 1024
_LOOK_WITHIN: Final = 16 * 1024  # where lines are looked into
_HEAD: Final = 1024 * 1024  # bytes: the first event of a transcript in JSONL may be long


class OutputPath(NamedTuple):
    """Where an output is: below `root`, through `parts`. `marker` is the file that must be in the root, if any."""

    root: Path
    parts: tuple[str, ...]
    marker: str = ""

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)


class FileFingerprint(NamedTuple):
    """An output as katod left it: device, inode, size, hashes of its end (`_tail`). Inode 0: not created yet."""

    dev: int = 0
    ino: int = 0
    size: int = 0
    tail: str = ""


# `reverted`: edited, and what katod wrote last is nowhere in it, as after an editor saved an older copy.
# `replaced`: a different file has the name.
Change = Literal["same", "edited", "reverted", "gone", "replaced"]
ABSENT: Final = ("gone", "replaced")  # there is nothing to write to
Named = Callable[[bytes], bool]  # whether the first bytes of a file name the session of an output


class Comparison(NamedTuple):
    """How an output changed since katod last wrote it, and its state."""

    change: Change
    known: FileFingerprint


def detect_change(place: OutputPath, known: FileFingerprint, names_session: Named) -> Comparison:
    """Compare an output with its known state. Raises OutputError if it cannot be opened, or its disk is not mounted.

    What is there is adopted if `is_output` knows it: `known` is its present state.
    """
    if not known.ino:
        return Comparison("same", known)
    try:
        with _opened(place, create=False) as fd:
            return _compare_open(fd, known, names_session)
    except FileNotFoundError:
        require_root(place.path, place.root, place.marker, dev=known.dev)
        return Comparison("gone", FileFingerprint())


def make(place: OutputPath, owner: int) -> FileFingerprint:
    """Create an output, or claim an empty file with that name. Raises OutputError if any other file has the name.

    The ledger stores the inode before anything is written. After a crash the content is therefore known to be katod's,
    however little was written, and whoever else wrote to the file. `owner`, from `owner_number`, tells other katods
    that an empty file is taken.
    """
    try:
        with _opened(place, create=True) as fd:
            return _claim(fd, place, owner)
    except FileExistsError:
        pass
    try:
        with _opened(place, create=False) as fd:
            return _claim(fd, place, owner)
    except FileNotFoundError:
        raise _gone(place) from None


def owner_number(name: str) -> int:
    """Return the number of the katod whose ledger has this name: a time in seconds before there was a katod."""
    return _CLAIMS[int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) % len(_CLAIMS)]


def _claim(fd: int, place: OutputPath, owner: int) -> FileFingerprint:
    """Claim an empty file, for which its modification time is used: nothing may be written to it yet."""
    _lock(fd)  # until it is closed, so that only one katod claims it
    status = os.fstat(fd)
    _require_empty(status, place, is_claimed=_is_claimed(status, owner))
    os.utime(fd, (owner, owner))
    return _known(fd)


def _require_empty(status: os.stat_result, place: OutputPath, *, is_claimed: bool = False) -> None:
    if status.st_size or is_claimed:
        raise OutputError("a different file already exists here", path=place.path, hint="move or rename it")


def _lock(fd: int) -> None:
    """Lock a file, where its file system can. Raises OSError if another program has locked it."""
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        pass  # no locks here


def _is_claimed(status: os.stat_result, owner: int) -> bool:
    """Return whether another katod is about to write to an empty file."""
    return int(status.st_mtime) in _CLAIMS and int(status.st_mtime) != owner


def append(place: OutputPath, data: bytes) -> FileFingerprint:
    """Append all of `data` and sync it to disk; return the state of the output afterwards.

    Whatever else the file contains is left alone: the data is written after it. Raises OutputError; OutputReplaced if
    the name does not lead to this file by then.
    """
    try:
        with _opened(place, create=False, writes=True) as fd:
            if _is_mid_line(fd, os.fstat(fd).st_size):
                data = b"\n" + data
            _write(fd, data, place.path)
            return _known(fd)
    except FileNotFoundError:
        raise _gone(place) from None


def complete(
    place: OutputPath, known: FileFingerprint, intent: bytes, bounds: Sequence[int]
) -> tuple[FileFingerprint, bool]:
    """Complete an intent that may have been partly written.

    Returns the output's state afterwards, and whether the file also contains other text. Raises OutputError;
    OutputReplaced if the name does not lead to this file by then.
    """
    try:
        with _opened(place, create=False, writes=True) as fd:
            size = os.fstat(fd).st_size
            start = _committed_end(fd, size, known, intent)
            anchored = start is not None
            start = max(0, size - _LOOK_BACK) if start is None else start
            following = os.pread(fd, size - start, start)
            if anchored and following[:1] in (b"", b"\n", b"\0") and _is_mid_line(fd, start):
                # After a line that another program left unterminated, `append` began with a line end; it may be lost.
                intent, bounds = b"\n" + intent, [end + 1 for end in bounds]
            todo = plan(following, intent, bounds, anchored=anchored)
            if todo.cut is not None:
                durable.truncate(fd, start + todo.cut)
            _write(fd, todo.data, place.path)
            return _known(fd), todo.foreign
    except FileNotFoundError:
        raise _gone(place) from None


def ends_as_known(place: OutputPath, known: FileFingerprint, intent: bytes, *, edited: bool) -> bool:
    """Return whether a file has what katod wrote last; if that is nothing, whether it begins as the intent does.

    An `edited` file may have it anywhere, any other one only where it was written. Raises OutputError if it cannot be
    opened.
    """
    try:
        with _opened(place, create=False) as fd:
            size = os.fstat(fd).st_size
            if not known.size:
                begun = os.pread(fd, len(intent), 0)
                return bool(begun) and intent.startswith(begun)  # an empty file may be anybody's: inodes are reused
            there = size >= known.size and _is_tail(fd, known.size, known.tail)
            return there or (edited and not _is_reverted(fd, size, known))
    except FileNotFoundError:
        raise _gone(place) from None


def has_nothing_else(place: OutputPath, known: FileFingerprint, intent: bytes) -> bool:
    """Return whether an output has what katod wrote to it, as far as it got with an intent, and no more.

    Only the size and the end of what it wrote before are compared. Another file with the same bytes does not count.
    Raises OutputError if it cannot be opened, or its disk is not mounted.
    """
    try:
        with _opened(place, create=False) as fd:
            return _has_nothing_else(fd, known, intent)
    except FileNotFoundError:
        require_root(place.path, place.root, place.marker, dev=known.dev)
        return False


def _has_nothing_else(fd: int, known: FileFingerprint, intent: bytes) -> bool:
    status = os.fstat(fd)
    more = status.st_size - known.size
    if signed(status.st_ino) != known.ino or not 0 <= more <= len(intent) + 1:
        return False
    following = os.pread(fd, more, known.size)
    if following[:1] == b"\n" and _is_mid_line(fd, known.size):
        intent = b"\n" + intent  # as `append` does
    return intent.startswith(following) and _is_tail(fd, known.size, known.tail)


def is_output(fd: int, known: FileFingerprint, names_session: Named) -> bool:
    """Return whether an open file is the output: by its inode, by its last bytes, wherever they are, or by its session.

    The very last bytes alone are not enough: sessions end alike, above all as lines of JSON. `names_session` judges the
    first bytes of a file that was edited so much that its last bytes do not tell.
    """
    status = os.fstat(fd)
    if signed(status.st_ino) == known.ino:
        return True
    _, data = _last_bytes(fd, status.st_size)
    far, length = _hashes(known)[0], min(known.size, TAIL_SIZE)
    for text in dict.fromkeys((data, data.replace(b"\r\n", b"\n"))):  # editors may change all line ends
        if next(_ends_like(text, far, length), None) is not None:
            return True
    return names_session(os.pread(fd, _HEAD, 0))


def has_words_of(place: OutputPath, known: FileFingerprint, names_session: Named) -> bool:
    """Return whether the file with the name of an output is it by what is in it, or is empty and has its inode.

    The inode alone says nothing: it may be that of a file which was deleted. Raises OutputError; FileNotFoundError.
    """
    with _opened(place, create=False) as fd:
        status = os.fstat(fd)
        if not status.st_size or not known.size:
            return signed(status.st_ino) == known.ino
        return not _is_reverted(fd, status.st_size, known) or names_session(os.pread(fd, _HEAD, 0))


def require_no_other(place: OutputPath) -> None:
    """Raise OutputError if a file has the name of an output, unless it is empty; also if that cannot be seen."""
    with suppress(FileNotFoundError), _opened(place, create=False) as fd:
        _require_empty(os.fstat(fd), place)


def save_asset(place: OutputPath, folder: str, name: str, content: bytes) -> None:
    """Save an attachment beside an output under its hash, or complete one that a crash or a full disk cut short.

    One that a person changed, such as to a smaller one, stays as it is. Raises OutputError.
    """
    there = place._replace(parts=(*place.parts[:-1], folder, name))
    try:
        with _opened(there, create=True) as fd:
            _write(fd, content, there.path)
    except FileExistsError:
        with _opened(there, create=False) as fd:
            begun = os.pread(fd, len(content), 0)
            if content.startswith(begun):
                _write(fd, content[len(begun) :], there.path)


def _committed_end(fd: int, size: int, known: FileFingerprint, intent: bytes) -> int | None:
    """Return where the committed text ends now, None if that cannot be determined.

    An edit further up shifts it. It is then found by the hash of its last bytes; if the edit was close to the end, by
    the hash of its very last bytes or its last line, provided that nothing else in the file ends the same way. The last
    one of several such lines is where it ended if the intent follows it.
    """
    if size >= known.size and _is_tail(fd, known.size, known.tail):
        return known.size
    begin, data = _last_bytes(fd, size)
    far, near, line = _hashes(known)
    found = list(islice(_ends_like(data, far, min(known.size, TAIL_SIZE)), 1))
    short = min(known.size, NEAR_TAIL_SIZE)
    for close in (_ends_like(data, near, short), _lines_like(data, line), _anywhere_like(data, near, short)):
        found = found or list(islice(close, 2))
        if len(found) == 1:
            return begin + found[0]
    last = max(_lines_like(data, line), default=0)
    return begin + last if last and data.startswith(intent, last) else None


def _is_reverted(fd: int, size: int, known: FileFingerprint) -> bool:
    """Return whether the last bytes that katod wrote are nowhere in the file. A line alone could be there by chance."""
    if not known.size or (size >= known.size and _is_tail(fd, known.size, known.tail)):
        return False
    _, data = _last_bytes(fd, size)
    far, near, _ = _hashes(known)
    ends = chain(
        _ends_like(data, far, min(known.size, TAIL_SIZE)), _ends_like(data, near, min(known.size, NEAR_TAIL_SIZE))
    )
    return next(ends, None) is None


def _last_bytes(fd: int, size: int) -> tuple[int, bytes]:
    """Return where the part of a file begins that is looked at, and that part: its end."""
    begin = max(0, size - _LOOK_AROUND)
    return begin, os.pread(fd, size - begin, begin)


def _hashes(known: FileFingerprint) -> list[str]:
    """Return the hashes of an output's end, empty for those that an older version did not store."""
    return [*known.tail.split("."), "", ""][:3]


def _ends_like(data: bytes, digest: str, length: int) -> Iterator[int]:
    """Yield, from the end, each line end where the `length` bytes before it have this hash."""
    for end in _ends(data):
        if end >= length > 0 and _digest(data[end - length : end]) == digest:
            yield end


def _anywhere_like(data: bytes, digest: str, length: int) -> Iterator[int]:
    """Yield each place where the `length` bytes before it have this hash, near the end: also within a line.

    So a line that one program left open is found to which another one added.
    """
    for end in range(len(data), max(length, len(data) - _LOOK_WITHIN, 1) - 1, -1):
        if _digest(data[end - length : end]) == digest:
            yield end


def _lines_like(data: bytes, digest: str) -> Iterator[int]:
    """Yield the ends of lines with this hash."""
    at = 0
    for line in data.splitlines(keepends=True):
        at += len(line)
        if line.strip() and _digest(line.strip()) == digest:
            yield at


def _ends(data: bytes) -> Iterator[int]:
    """Yield the ends of lines, last first, and of the last one without newline too: katod may have added that."""
    at = len(data)
    if not data.endswith(b"\n"):
        yield at
    while (at := data.rfind(b"\n", 0, at)) >= 0:
        yield at + 1
        if at and data[at - 1 : at] != b"\n":
            yield at


def _gone(place: OutputPath) -> OutputReplaced:
    return OutputReplaced("no longer exists", path=place.path)


@contextmanager
def _opened(place: OutputPath, *, create: bool, writes: bool = False) -> Iterator[int]:
    """Open an output. Whether it exists passes through; any other failure becomes an OutputError with the path.

    `writes` checks afterwards that the name still leads to this file.
    """
    try:
        with open_parent(place.root, place.parts, make=create, marker=place.marker) as parent:
            fd = open_file(parent, place.parts[-1], create=create)
            try:
                if create:
                    durable.sync_names(parent)
                yield fd
                if writes:
                    _require_name(parent, place, fd)
            finally:
                os.close(fd)
    except FileNotFoundError:
        require_root(place.path, place.root, place.marker)
        if create:
            hint = f"to create it again: mkdir -p {pasted(str(place.path.parent))}"
            raise OutputError("its directory no longer exists", path=place.path, hint=hint) from None
        raise
    except FileExistsError:
        raise
    except TargetRefused as error:
        raise OutputError(error.what, path=place.path, hint="katod writes only to regular files you own") from error
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=place.path, hint=hint_for(error)) from error


def _require_name(parent: int, place: OutputPath, fd: int) -> None:
    """Raise OutputReplaced unless the output's name leads to the open file."""
    there = os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False)
    if not os.path.samestat(there, os.fstat(fd)):
        raise OutputReplaced("was replaced while katod wrote to it", path=place.path)


def _compare_open(fd: int, known: FileFingerprint, names_session: Named) -> Comparison:
    status = os.fstat(fd)
    if status.st_size == known.size and _is_tail(fd, known.size, known.tail):
        # Whatever the device is called now: its number may change with a restart. The same bytes in another file are
        # what a backup, a synchronisation or `git stash` puts back.
        return Comparison("same", known if signed(status.st_ino) == known.ino else _known(fd))
    if not is_output(fd, known, names_session):
        # An empty file is nobody's: the output is begun again in it.
        return Comparison("replaced" if status.st_size else "gone", FileFingerprint())
    return Comparison("reverted" if _is_reverted(fd, status.st_size, known) else "edited", _known(fd))


def _is_mid_line(fd: int, at: int) -> bool:
    """Return whether an offset of a file is within a line."""
    return at > 0 and os.pread(fd, 1, at - 1) != b"\n"


def _known(fd: int) -> FileFingerprint:
    status = os.fstat(fd)
    return FileFingerprint(signed(status.st_dev), signed(status.st_ino), status.st_size, _tail(fd, status.st_size))


def _tail(fd: int, size: int) -> str:
    """Hash the last 1024 bytes, the last 64 bytes, and the last line that is not blank."""
    length = min(size, TAIL_SIZE)
    data = os.pread(fd, length, size - length)
    line = data.rstrip().rpartition(b"\n")[2].strip()
    return ".".join(map(_digest, (data, data[-NEAR_TAIL_SIZE:], line)))


def _is_tail(fd: int, size: int, tail: str) -> bool:
    return _tail(fd, size).startswith(tail)  # older versions stored fewer hashes


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def _write(fd: int, data: bytes, path: Path) -> None:
    """Write everything and sync. A write may be short: quota, full disk, signal."""
    view = memoryview(data)
    while view:
        written = durable.write(fd, view)
        if written <= 0:
            raise OutputError("cannot be written: write returned 0 bytes", path=path, hint=advice_on(ENOSPC))
        view = view[written:]
    durable.sync(fd)
