"""Every error that katod raises on purpose.

KatodError
├── ConfigError          the configuration file is invalid or cannot be read
├── SelectionError       an argument matches no session, recording or file, or more than one
│   ├── NoSuchSession    it matches none whose files are on this machine
│   └── NothingHere      there is no session in this directory
├── SourceError          a session file cannot be read
│   ├── SourceGone       the session file no longer exists
│   ├── AgentFailed      katod's own code for the agent failed on it
│   ├── SourceUnusable   its content cannot be read, however often it is tried
│   └── SourceChanged    the bytes before the cursor changed
├── TargetRefused        a name from the chat or the shell leads where katod does not write
├── OutputError          an output cannot be written; its recording is parked
│   ├── OutputReplaced   an output was replaced or removed while katod wrote to it
│   └── OutputUnreadable an output is not shown: it is gone, or no longer the file that katod wrote
├── LedgerError          the ledger cannot be used
│   ├── LedgerDamaged    the ledger contains data that katod did not write
│   └── LedgerUnreleased the ledger was written by a version of katod that was never released
├── StateLost            the state directory was removed or replaced while katod was running
├── DeliveryError        a destination (a homeserver or a collector) cannot be reached, or accepts data only later
│   ├── DeliveryRefused  it never accepts this request
│   └── DeliveryStopped  it accepts nothing until the settings change
├── ServiceError         the service manager is missing, or refuses
├── SealError            a record, a signature or a key cannot be used, or they do not belong together
├── GitError             a repository cannot be read
│   └── GitFailed        `git` reports an error
├── ServeError           sessions cannot be served like this
├── PricesError          a table of prices cannot be read
├── SetupError           a file of an agent cannot be changed safely
├── TablesError          a data set cannot be used: its extra, its address, its bucket
├── RescueError          a session cannot be saved from deletion, or what was saved of it cannot be used
└── AlreadyRunning       another katod uses this state directory, or this directory of exports

A message says what happened and to which file; `hint` says what to do about it.
"""

import errno
from pathlib import Path
from typing import Final

IS_IT_MOUNTED: Final = "is the disk mounted?"
_FULL: Final = "free some space on its disk"
_LOST: Final = (errno.ENODEV, errno.ENXIO, errno.ENOTCONN, errno.ESTALE, errno.EHOSTDOWN, errno.ETIMEDOUT)
_WHAT_TO_DO: Final = {
    errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EROFS: "make its disk writable",
    errno.EACCES: "check its owner and mode, and those of its folder", errno.EIO: "check its disk",
    errno.EPERM: "check its owner, mode and attributes, and those of its folder",
    errno.EFBIG: "its disk, or the limit of the process, does not allow a larger file: record to another one",
    errno.ENAMETOOLONG: "choose a shorter name", errno.ENFILE: "close some programs",
    errno.EMFILE: "raise the limit of open files (ulimit -n)", **dict.fromkeys(_LOST, IS_IT_MOUNTED),
}  # fmt: skip
INTERNAL: Final = "internal error: "  # what katod's own failures begin with, where the ledger has them


class KatodError(Exception):
    """Base class: `str(error)` is one complete line, `hint` says what to do (may be empty)."""

    def __init__(self, what: str, *, path: Path | str | None = None, hint: str = "") -> None:
        self.what = what
        self.path = path
        self.hint = hint
        super().__init__(f"{path}: {what}" if path is not None else what)


class ConfigError(KatodError):
    """The configuration file is invalid or cannot be read; `path` names it."""


class SelectionError(KatodError):
    """An argument matches no session, recording or file, or more than one."""


class NoSuchSession(SelectionError):
    """An argument matches no session whose files are on this machine; `key` is that of one that was."""

    def __init__(self, what: str, *, key: str = "", hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.key = key


class NothingHere(SelectionError):
    """There is no session in this directory, and no other one was chosen."""


class SourceError(KatodError):
    """A session file cannot be opened or read."""


class SourceGone(SourceError):
    """The session file no longer exists. Agents delete their files, so this is normal."""


class AgentFailed(SourceError):
    """katod's own code for the agent failed on what it found: only this session is affected."""


class SourceUnusable(SourceError):
    """The content cannot be read, however often it is tried: it is tried again when the file changes."""


class SourceChanged(SourceError):
    """The bytes before the cursor changed: the file was truncated, rewritten or replaced."""


class TargetRefused(KatodError):
    """katod does not write to this path."""


class OutputError(KatodError):
    """An output cannot be written. Nothing is lost: the recording is parked and retried."""


class OutputReplaced(OutputError):
    """An output was replaced or removed while katod wrote to it, as editors do: bytes may be in the old file."""


class OutputUnreadable(OutputError):
    """An output is not shown: it is gone, cannot be opened, or is no longer the file that katod wrote.

    `is_gone` says that there is nothing at its path.
    """

    def __init__(self, what: str, *, path: Path | str, hint: str = "", is_gone: bool = False) -> None:
        super().__init__(what, path=path, hint=hint)
        self.is_gone = is_gone


class LedgerError(KatodError):
    """The ledger cannot be used: it is unreadable, from a newer katod, or its directory is not safe."""


class LedgerDamaged(LedgerError):
    """The ledger, or its write-ahead log, contains data that katod did not write."""


class LedgerUnreleased(LedgerError):
    """The ledger was written by a version of katod that was never released."""


class StateLost(KatodError):
    """The lock or the ledger is no longer the file that the running katod opened: it must not go on."""


class DeliveryError(KatodError):
    """A homeserver or a collector cannot be reached, or accepts nothing now; the same request is made again.

    `wait` is how many seconds the server asked to wait, None if it did not say.
    """

    def __init__(self, what: str, *, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class DeliveryRefused(DeliveryError):
    """The destination refuses this request, and would refuse it again; `status` is that of its answer."""

    def __init__(self, what: str, *, status: int) -> None:
        super().__init__(what)
        self.status = status


class DeliveryStopped(DeliveryError):
    """Nothing can be sent to a destination, until this changes there or in the settings."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


class ServiceError(KatodError):
    """The service manager is not there, refuses, or has a file for katod that katod did not write."""


class SealError(KatodError):
    """A record, a signature or a key cannot be used, or they do not belong together."""


class GitError(KatodError):
    """A repository cannot be read, or `git` does not answer in time."""


class GitFailed(GitError):
    """`git` reports that it cannot do what it was asked for."""


class ServeError(KatodError):
    """Sessions cannot be served: an extra, a token, an address or a choice is missing or cannot be used."""


class PricesError(KatodError):
    """A table of prices cannot be read."""


class TablesError(KatodError):
    """A data set cannot be used as a whole: an extra is missing, or an address, a bucket or the network is at fault."""


class SetupError(KatodError):
    """A file of an agent cannot be read, is not what it should be, or cannot be changed safely; nothing was changed."""


class RescueError(KatodError):
    """A session cannot be saved from deletion, or what was saved of it is damaged or cannot be put back."""


class AlreadyRunning(KatodError):
    """Another katod holds the lock of the state directory, or of a directory of exports."""


def with_extra(name: str) -> str:
    """Return the hint for an extra that is not installed."""
    return f"install katod again, with '.[fast,{name}]' in place of '.[fast]'"


def failure_of(error: Exception) -> str:
    """Return the message for an unexpected error."""
    return error.what if isinstance(error, AgentFailed) else f"{INTERNAL}{safe_message(error)}"


def hint_for(error: OSError) -> str:
    """Return what to do about a file that cannot be written, or read; empty if the message says it all."""
    return advice_on(error.errno or 0)


def advice_on(number: int) -> str:
    """Return what `hint_for` does, for the number of an error."""
    return _WHAT_TO_DO.get(number, "")


def safe_message(error: Exception) -> str:
    """Return the safe part of an error: the system's message, otherwise only its type."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
