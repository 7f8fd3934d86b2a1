"""The folders to which `katod export --all` wrote, in a private file of katod's state: `katod forget` looks there."""

import json
import os
from pathlib import Path
from typing import Final

from katod import durable
from katod.smallfile import locked, read_small, write_small

NAME: Final = "archives.json"
ASIDE: Final = "archives.damaged.json"  # what it was called once it could not be read
_LARGEST: Final = 1024 * 1024
_MOST: Final = 256  # folders; the oldest one is forgotten first


def known_folders(state: Path) -> list[Path]:
    """Return the folders, those that were written to last first; of a damaged list, those that can be read."""
    return _read(state)[0]


def damaged_list(state: Path) -> Path | None:
    """Return the list, or what it was before an export began another one, if it does not name all folders any more."""
    aside = state / ASIDE
    return aside if os.path.lexists(aside) else None if _read(state)[1] else state / NAME


def remember(state: Path, root: Path) -> None:
    """Put a folder at the beginning of the list, which several exports may do at once. Raises OSError.

    A damaged list is kept under another name: until its person removes it, copies may be in folders that nobody knows.
    """
    if known_folders(state)[:1] == [root]:
        return
    durable.make_own_folder(state)
    with locked(state):
        known, is_whole = _read(state)
        if not is_whole and not os.path.lexists(state / ASIDE):
            durable.rename(state / NAME, state / ASIDE)
        paths = [root, *(path for path in known if path != root)][:_MOST]
        write_small(state / NAME, json.dumps([str(path) for path in paths]).encode())


def _read(state: Path) -> tuple[list[Path], bool]:
    """Return the folders in the list, and whether all that was in it could be read."""
    try:
        row = json.loads(read_small(state / NAME, _LARGEST, own=True))
    except (FileNotFoundError, NotADirectoryError):
        return [], True
    except (OSError, ValueError, RecursionError):
        return [], False
    if not isinstance(row, list):
        return [], False
    paths = [Path(path) for path in row if isinstance(path, str) and os.path.isabs(path)]
    return paths, len(paths) == len(row)
