"""The folders to which `katod export --all` wrote, in a private file of katod's state: `katod forget` looks there."""

import json
import os
from pathlib import Path
from typing import Final

from katod import durable
from katod.smallfile import locked, read_small, write_small

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
    """Put a folder at the beginning of the list, which several exports may do at once. Raises OSError."""
    if known_folders(state)[:1] == [root]:
        return
    durable.make_folders(state, 0o700)
    with locked(state):
        paths = [root, *(path for path in known_folders(state) if path != root)][:_MOST]
        write_small(state / NAME, json.dumps([str(path) for path in paths]).encode())
