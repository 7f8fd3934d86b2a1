"""Which version of katod runs: an upgrade changes the program on the disk, but not the process."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod import __version__
from katod.smallfile import read_small

NAME: Final = "running.json"
_LARGEST: Final = 1024


def note(state: Path) -> None:
    """Note that this process is the katod that runs, and its version; where that cannot be noted, it is not known.

    It is needed only as long as the process is there, so it need not be on the disk.
    """
    with suppress(OSError):
        (state / NAME).write_text(json.dumps({"pid": os.getpid(), "version": __version__}))


def running_version(state: Path, pid: int | None) -> str:
    """Return the version of the katod that runs as this process, empty if that is not known."""
    try:
        row = json.loads(read_small(state / NAME, _LARGEST, own=True))
        return str(row["version"]) if pid and row["pid"] == pid else ""
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ""
