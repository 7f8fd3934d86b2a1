"""Whether katod is paused: a file in the state directory, which outlives restarts and the ledger."""

from pathlib import Path
from typing import Final

from katod import durable
from katod.smallfile import read_small, write_small

NAME: Final = "paused"
UNREADABLE: Final = "?"  # the time of a pause that cannot be read
_LARGEST: Final = 64


def paused_since(state: Path) -> str:
    """Return when katod was paused, an empty string if it is not. Where that cannot be read, it is paused.

    A state directory that is a file has no pause to end: what needs that directory says what is wrong with it.
    """
    try:
        return read_small(state / NAME, _LARGEST).decode("ascii", "replace").strip() or UNREADABLE
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError:
        return UNREADABLE


def pause(state: Path, time: str) -> None:
    """Note that katod is paused; on return, that is on disk. Raises OSError."""
    write_small(state / NAME, time.encode("ascii", "replace"))


def resume(state: Path) -> None:
    """Note that katod is no longer paused; on return, that is on disk. Raises OSError."""
    durable.remove(state / NAME, missing_ok=True)
    durable.sync_names(state)
