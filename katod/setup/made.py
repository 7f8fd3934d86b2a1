"""The folders that `katod setup` made, noted in the state: they go with what it put into them."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod import durable
from katod.smallfile import read_small, write_small

NAME: Final = "made-folders.json"
_LARGEST: Final = 64 * 1024


def missing(path: Path) -> list[Path]:
    """Return the folders above a file that there are not yet, the outermost one last."""
    return [folder for folder in path.parents if not os.path.lexists(folder)]


def note(state: Path, folders: list[Path]) -> None:
    """Note folders that were made, and those that the note needs; on a full disk, none is noted, and all stay."""
    made = {*folders, *missing(state / NAME)}
    with suppress(OSError):
        if folders:
            durable.make_own_folder(state)
        if new := [str(folder) for folder in made if folder.is_dir()]:
            write_small(state / NAME, json.dumps(sorted({*_noted(state), *new})).encode())


def remove_empty(state: Path) -> list[Path]:
    """Remove the folders that are noted and empty again, and return them; the others stay noted. Raises OSError."""
    noted = _noted(state)
    own = [folder for folder in noted if state.is_relative_to(folder) or Path(folder).is_relative_to(state)]
    removed = _remove([folder for folder in noted if folder not in own])
    if left := [folder for folder in noted if folder not in own and os.path.isdir(folder)]:
        write_small(state / NAME, json.dumps([*left, *own]).encode())
    elif noted:
        durable.remove(state / NAME)
        removed += _remove(own)
    return removed


def _remove(folders: list[str]) -> list[Path]:
    """Remove those that are empty, what is in a folder before it, and return them."""
    removed = []
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(folder)
            removed.append(Path(folder))
    return removed


def _noted(state: Path) -> list[str]:
    try:
        noted = json.loads(read_small(state / NAME, _LARGEST, own=True))
    except (OSError, ValueError, RecursionError):
        return []
    return [folder for folder in noted if isinstance(folder, str)] if isinstance(noted, list) else []
