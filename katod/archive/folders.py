"""The folders to which `katod export --all` wrote, in a private file of katod's state: `katod forget` looks there."""

import json
import os
from pathlib import Path
from typing import Final

from katod import durable
from katod.smallfile import read_small, write_small

NAME: Final = "archives.json"
_LARGEST: Final = 1024 * 1024
_MOST: Final = 256  # folders; the oldest one is forgotten first


def known_folders(state: Path) -> list[Path]:
    """Return the folders, those that were written to last first; none if the list is damaged."""
    try:
        row = json.loads(read_small(state / NAME, _LARGEST, own=True))
    except (OSError, ValueError, RecursionError):
        return []
    paths = row if isinstance(row, list) else []
    return [Path(path) for path in paths if isinstance(path, str) and os.path.isabs(path)]


def remember(state: Path, root: Path) -> None:
    """Put a folder at the beginning of the list. Raises OSError."""
    before = known_folders(state)
    if before[:1] == [root]:
        return
    durable.make_folders(state, 0o700)
    paths = [root, *(path for path in before if path != root)][:_MOST]
    write_small(state / NAME, json.dumps([str(path) for path in paths]).encode())
