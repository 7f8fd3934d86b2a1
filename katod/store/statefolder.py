"""Whether katod can work with the state directory: its disk, its owner and mode, and those of what is in it.

It only looks. SQLite says `disk I/O error` for most of this, and an error of the system does not say which file it was.
"""

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from katod.errors import IS_IT_MOUNTED, LedgerError, advice_on, hint_for
from katod.shell import pasted

_LEAST: Final = 1_000_000  # bytes: what the ledger, its log and its index need at a start
_ROOT: Final = 0
_OTHERS_WRITE: Final = 0o022
_MOST: Final = 3  # names that are listed
# What katod has there, by what it needs of it: it writes to the first in place, and replaces the others as a whole.
_WRITTEN: Final = re.compile(r"(ledger|usage)\.db(-wal|-shm|-journal)?|lock|requests|recording|tables")
_REPLACED: Final = frozenset({
    "allowed.json", "archives.damaged.json", "archives.json", "asked-rescue", "excluded.json", "home.json",
    "interrupted.json", "machine", "made-folders.json", "paused", "rescue.json", "running.json", "seen.json",
    "serve-address", "serve-token",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why katod cannot work there: which path, what is wrong with it, and what to do about it."""

    path: Path
    what: str
    hint: str


def trouble_with(state: Path) -> Trouble | None:
    """Return why katod cannot work with a state directory, or create it; None if nothing is known to prevent it."""
    try:
        os.lstat(state)
    except FileNotFoundError:
        return _of_place(state)
    except OSError as error:
        return _of_error(state, error)
    try:
        if not state.exists():
            return _of_dangling(state)
        return _of_folder(state) if state.is_dir() else None  # the error of the ledger says that it is no directory
    except OSError as error:
        return _of_error(state, error)


def is_open(state: Path) -> bool:
    """Return whether others can write to a state directory. Raises OSError."""
    return bool(stat.S_IMODE(state.stat().st_mode) & _OTHERS_WRITE)


def exposed(state: Path) -> Trouble | None:
    """Return what is wrong if others can write to a state directory: in it, katod would obey them. Raises OSError.

    An empty one is made private when katod starts: nobody else uses it.
    """
    if not is_open(state) or not os.listdir(state):
        return None
    hint = f"if nobody else uses it, run `chmod go-w {pasted(str(state))}`; else set `KATOD_STATE_DIR` to another one"
    return Trouble(state, "can be written to by others", hint)


def require_private(state: Path) -> None:
    """Raise LedgerError if others can write to a state directory: katod reads its settings there, and agents run files.

    Raises OSError.
    """
    if (trouble := exposed(state)) is not None:
        raise LedgerError(f"the state directory {trouble.what}", path=trouble.path, hint=trouble.hint)


def advice_for(ledger: str) -> str:
    """Return what to do about a ledger that cannot be written; its path is empty if it is in memory alone."""
    trouble = trouble_with(Path(ledger).parent) if ledger else None
    return "is the disk full?" if trouble is None else f"{trouble.path} {trouble.what}: {trouble.hint}"


def _of_error(path: Path, error: OSError) -> Trouble:
    return Trouble(path, f"cannot be used: {error.strerror}", hint_for(error))


def _of_dangling(link: Path) -> Trouble:
    """Return what to do about a link that leads nowhere. Without it, katod would start over while its disk is away."""
    hint = f"{IS_IT_MOUNTED} If what it leads to was deleted: rm {pasted(str(link))}"
    return Trouble(link, "is a link that leads nowhere", hint)


def _of_place(state: Path) -> Trouble | None:
    """Return why the directory cannot be created."""
    above = next(folder for folder in state.absolute().parents if os.path.lexists(folder))
    try:
        if not above.exists():
            return _of_dangling(above)
        on_disk = _of_disk(above)
    except OSError as error:
        return _of_error(above, error)
    if on_disk is not None or os.access(above, os.W_OK | os.X_OK):
        return on_disk
    return Trouble(state, f"cannot be created: {above} is not writable by you", advice_on(errno.EACCES))


def _of_folder(state: Path) -> Trouble | None:
    status = os.stat(state)
    if os.statvfs(state).f_flag & os.ST_RDONLY:
        return _of_disk(state)
    if os.geteuid() not in (_ROOT, status.st_uid):
        return Trouble(state, "belongs to another user", _take_over(state))
    if not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        what = f"is not writable by you (mode {stat.S_IMODE(status.st_mode):o})"
        return Trouble(state, what, f"chmod 700 {pasted(str(state))}")
    return exposed(state) or _of_contents(state) or _of_disk(state)


def _of_contents(state: Path) -> Trouble | None:
    """Return which of katod's files in it cannot be used, such as those that root created."""
    closed = {entry.name: entry.stat() for entry in os.scandir(state) if _is_closed(entry)}
    if not closed:
        return None
    names = sorted(closed)
    for name in names:
        if os.statvfs(state / name).f_flag & os.ST_RDONLY:
            return _of_disk(state / name)
    listed = f"{', '.join(names[:_MOST])}{', …' if len(names) > _MOST else ''}"
    if any(status.st_uid != os.geteuid() for status in closed.values()):
        return Trouble(state, f"has files of another user: {listed}", _take_over(state))
    return Trouble(state, f"has files that you cannot write: {listed}", f"chmod -R u+rwX {pasted(str(state))}")


def _is_closed(entry: "os.DirEntry[str]") -> bool:
    """Return whether an entry is katod's, there, no link, and not open to this user as katod needs it.

    What its person or a disk has there besides is no concern of katod's.
    """
    is_written = _WRITTEN.fullmatch(entry.name) is not None
    if entry.is_symlink() or not (is_written or entry.name in _REPLACED):
        return False
    wanted = os.R_OK | (os.W_OK if is_written else 0) | (os.X_OK if entry.is_dir() else 0)
    return not os.access(entry.path, wanted) and os.path.lexists(entry.path)


def _take_over(state: Path) -> str:
    return f'if katod was run with sudo: sudo chown -R "$(id -u)" {pasted(str(state))}'


def _of_disk(path: Path) -> Trouble | None:
    """Return whether the disk of a path takes nothing more."""
    disk = os.statvfs(path)
    if disk.f_flag & os.ST_RDONLY:
        return Trouble(path, "is on a read-only file system", advice_on(errno.EROFS))
    blocks, files = (disk.f_bfree, disk.f_ffree) if os.geteuid() == _ROOT else (disk.f_bavail, disk.f_favail)
    if disk.f_blocks and blocks * disk.f_frsize < _LEAST:  # a disk in memory may count none
        free = blocks * disk.f_frsize // 1000
        return Trouble(path, f"is on a full disk: {free} kB are free", advice_on(errno.ENOSPC))
    if disk.f_files and not files:
        return Trouble(path, "is on a full disk: it takes no more files", advice_on(errno.ENOSPC))
    return None
