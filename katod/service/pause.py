"""Whether katod is paused: a file in the state directory, which outlives restarts and the ledger."""

import os
from pathlib import Path
from typing import Final

from katod.smallfile import read_small

NAME: Final = "paused"
_LARGEST: Final = 64


def paused_since(state: Path) -> str:
    """Return when katod was paused, an empty string if it is not. Where that cannot be read, it is paused."""
    try:
        return read_small(state / NAME, _LARGEST).decode("ascii", "replace").strip() or "?"
    except FileNotFoundError:
        return ""
    except OSError:
        return "?"


def pause(state: Path, time: str) -> None:
    """Note that katod is paused; on return, that is on disk. Raises OSError."""
    part = state / f"{NAME}.part"
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        file.write(time)
        file.flush()
        os.fsync(fd)
    part.rename(state / NAME)
    _sync(state)


def resume(state: Path) -> None:
    """Note that katod is no longer paused; on return, that is on disk. Raises OSError."""
    (state / NAME).unlink(missing_ok=True)
    _sync(state)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
