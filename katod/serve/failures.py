"""Unexpected failures in the log: the session, the error type and the line in katod's source, no content."""

import traceback
from typing import Final

from katod.log import EventLog
from katod.model import SessionKey

_OWN: Final = "katod"


def note(log: EventLog, error: BaseException, key: SessionKey | None = None) -> None:
    """Log a failure with one session, or with all of them."""
    log.serve_failed(str(key or ""), type(error).__name__, _raised_at(error))


def _raised_at(error: BaseException) -> str:
    """Return the module and the line of katod where an error was raised, or passed through; empty if there is none."""
    own = [(str(frame.f_globals.get("__name__")), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return next((f"{name}:{line}" for name, line in reversed(own) if name.partition(".")[0] == _OWN), "")
