"""Every error that katod raises on purpose.

KatodError
├── ConfigError          the configuration file cannot be used
├── SelectionError       no session, recording or file is meant by what was typed
├── SourceError          a session file cannot be read
│   ├── SourceGone       the session file is not there (any more)
│   └── SourceChanged    the bytes before the cursor are not those that were read
├── TargetRefused        a name given in the chat or the shell leads where katod does not write
├── OutputError          an output cannot be written now: the recording is parked
├── LedgerError          the ledger cannot be used
│   ├── LedgerDamaged    the ledger holds what katod did not write
│   └── LedgerUnreleased the ledger was written by a version of katod that was never released
└── AlreadyRunning       another katod holds the state directory

Each message says what happened and to which file; `hint` says what the person can do.
"""

from pathlib import Path


class KatodError(Exception):
    """Base of all: `str(error)` is one line that stands alone, `hint` the way out (may be empty)."""

    def __init__(self, what: str, *, path: Path | str | None = None, hint: str = "") -> None:
        self.what = what
        self.path = path
        self.hint = hint
        super().__init__(f"{path}: {what}" if path is not None else what)


class ConfigError(KatodError):
    """The configuration cannot be used; the path names the file."""


class SelectionError(KatodError):
    """What was typed names no session, recording or file, or more than one."""


class SourceError(KatodError):
    """A session file cannot be opened or read."""


class SourceGone(SourceError):
    """The session file is not there (any more): agents delete them, so this is normal."""


class SourceChanged(SourceError):
    """The bytes before the cursor changed: the file was truncated, rewritten or replaced."""


class TargetRefused(KatodError):
    """The path is not one that katod may write to."""


class OutputError(KatodError):
    """Writing failed; nothing is lost, the recording is parked and tried again."""


class LedgerError(KatodError):
    """The ledger is newer than this katod, or its directory cannot hold it safely."""


class LedgerDamaged(LedgerError):
    """The ledger, or its log, holds what katod did not write."""


class LedgerUnreleased(LedgerError):
    """The ledger was written by a version of katod that was never released."""


class AlreadyRunning(KatodError):
    """The state directory is locked by another katod."""


def safe_message(error: Exception) -> str:
    """Return what may be shown of any error: what the machine says, of all else only the name."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
