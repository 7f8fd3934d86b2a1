"""Deletes what katod wrote: outputs, and the folders beside them. No link is followed, and nothing else is deleted."""

import errno
import os
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from katod import durable
from katod.errors import OutputError, TargetRefused
from katod.write.output import OutputPath
from katod.write.root import require_root
from katod.write.safe import open_parent, require_plain_file

_ASSET: Final = re.compile(r"[0-9a-f]{16}(\.[0-9A-Za-z]{1,16})?")  # `formats.transcript.pictures.asset_name`
_NOT_EMPTY: Final = (errno.ENOTEMPTY, errno.EEXIST)
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_output(place: OutputPath) -> None:
    """Delete an output that katod made; nothing is done if it is gone.

    Raises OutputError for anything but a regular file of this user with a single link, and if its disk is not mounted.
    """
    _in_parent(place, _remove_file)


def why_not_removed(place: OutputPath) -> str:
    """Return why an output cannot be deleted, an empty string if it can, or is gone."""
    try:
        _in_parent(place, _require_plain)
    except OutputError as error:
        return error.what
    return ""


def remove_folder(place: OutputPath) -> None:
    """Delete a folder beside an output, with the attachments in it; a folder with anything else in it stays.

    Raises OutputError if that is not possible, and if its disk is not mounted.
    """
    _in_parent(place, _remove_folder)


def remove_empty(place: OutputPath) -> None:
    """Delete a folder if nothing is in it. Raises OutputError if that is not possible, or its disk is not mounted."""
    _in_parent(place, _remove_empty)


def _in_parent(place: OutputPath, act: Callable[[str, int], None]) -> None:
    """Do something with the name of a file or folder, and the open folder that it is in; nothing if it is gone.

    Raises OutputError.
    """
    try:
        with open_parent(place.root, place.parts, make=False, marker=place.marker) as parent:
            act(place.parts[-1], parent)
    except FileNotFoundError:
        require_root(place.path, place.root, place.marker)
    except TargetRefused as error:
        raise OutputError(error.what, path=place.path) from error
    except OSError as error:
        raise OutputError(f"cannot be deleted: {error.strerror}", path=place.path) from error


def _require_plain(name: str, parent: int) -> None:
    require_plain_file(os.stat(name, dir_fd=parent, follow_symlinks=False), name)


def _remove_file(name: str, parent: int) -> None:
    _require_plain(name, parent)
    durable.remove(name, folder=parent)
    durable.sync_names(parent)


def _remove_folder(name: str, parent: int) -> None:
    folder = os.open(name, _FOLDER, dir_fd=parent)
    try:
        _remove_assets(folder)
    finally:
        os.close(folder)
    durable.remove_folder(name, folder=parent)
    durable.sync_names(parent)


def _remove_empty(name: str, parent: int) -> None:
    try:
        durable.remove_folder(name, folder=parent)
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
    else:
        durable.sync_names(parent)


def _remove_assets(folder: int) -> None:
    for name in filter(_ASSET.fullmatch, os.listdir(folder)):
        with suppress(TargetRefused):
            _require_plain(name, folder)
            durable.remove(name, folder=folder)
