"""The directories that hold outputs: the output directory is created and marked once, all others have to exist.

A marker tells the output directory from the empty directory that is left when its disk is not mounted. It is an empty
file with a random name.
"""

import os
import re
from pathlib import Path
from typing import Final
from uuid import uuid4

from katod import durable
from katod.errors import IS_IT_MOUNTED, OutputError, hint_for
from katod.model import signed
from katod.shell import pasted
from katod.write.safe import PRIVATE_FILE, make_root

_MARKER: Final = re.compile(r"\.katod-[0-9a-f]{16}")


def mark_root(root: Path) -> str:
    """Create the output directory and its marker unless they exist; return the marker's name. Raises OutputError."""
    try:
        make_root(root)
        found = sorted(filter(_MARKER.fullmatch, os.listdir(root)))
        return found[0] if found else _create_marker(root)
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=root, hint=hint_for(error)) from error


def write_marker(root: Path, name: str) -> None:
    """Write a lost marker again, in a directory that exists. Raises OutputError."""
    if not _MARKER.fullmatch(name):
        raise OutputError("not a marker of katod's", path=root / name)
    try:
        if not os.path.lexists(root / name):
            _write_marker(root, name)
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror}", path=root, hint=hint_for(error) or IS_IT_MOUNTED
        ) from error


def _create_marker(root: Path) -> str:
    name = f".katod-{uuid4().hex[:16]}"
    _write_marker(root, name)
    return name


def _write_marker(root: Path, name: str) -> None:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(durable.create(name, os.O_WRONLY, PRIVATE_FILE, folder=folder))
        durable.sync_names(folder)
    finally:
        os.close(folder)


def require_root(path: Path, root: Path, marker: str, *, dev: int | None = None) -> None:
    """Raise OutputError for the output at `path` if its root does not exist, or is not the one it was created in.

    A root without a marker counts as another one if it is empty and its device is not `dev`, if that is given: the
    number of a device alone may change with a restart.
    """
    if not os.path.isdir(root):
        raise OutputError(f"the directory {root} does not exist", path=path, hint=_advice(root, marker))
    if marker and not os.path.lexists(root / marker):
        what = f"{root} is not the directory that katod wrote to"
        raise OutputError(what, path=path, hint=_advice(root, marker))
    if not marker and dev is not None and _is_empty_elsewhere(path, root, dev):
        raise OutputError(f"{root} is empty and on another disk than before", path=path, hint=IS_IT_MOUNTED)


def was_deleted(root: Path, dev: int) -> bool:
    """Return whether a root that is not there was on the disk on which it would be: none is missing then."""
    there = next(folder for folder in root.parents if os.path.isdir(folder))
    return not os.path.lexists(root) and signed(os.stat(there).st_dev) == dev


def _is_empty_elsewhere(path: Path, root: Path, dev: int) -> bool:
    try:
        return signed(root.stat().st_dev) != dev and not os.listdir(root)
    except OSError as error:
        raise OutputError(f"{root} cannot be read: {error.strerror}", path=path, hint=hint_for(error)) from error


def _advice(root: Path, marker: str) -> str:
    here = pasted(str(root))
    if not marker:
        return f"{IS_IT_MOUNTED} If the directory was deleted: mkdir -p {here}"
    return f"{IS_IT_MOUNTED} To start over in an empty directory: mkdir -p {here} && touch {here}/{marker}"
