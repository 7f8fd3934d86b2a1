"""Deletes what katod wrote: outputs, and the folders beside them. No link is followed, and nothing else is deleted."""

import errno
import os
import re
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


def remove_output(place: OutputPath, *, really: bool = True) -> None:
    """Delete an output that katod made; nothing is done if it is gone. Unless `really`, only look whether that works.

    Raises OutputError for anything but a regular file of this user with a single link, and if its disk is not mounted.
    """
    name = place.parts[-1]
    try:
        with open_parent(place.root, place.parts, make=False, marker=place.marker) as parent:
            require_plain_file(os.stat(name, dir_fd=parent, follow_symlinks=False), name)
            if really:
                durable.remove(name, folder=parent)
                durable.sync_names(parent)
    except FileNotFoundError:
        require_root(place.path, place.root, place.marker)
    except TargetRefused as error:
        raise OutputError(error.what, path=place.path) from error
    except OSError as error:
        raise OutputError(f"cannot be deleted: {error.strerror}", path=place.path) from error


def remove_folder(place: OutputPath) -> None:
    """Delete a folder beside an output, with the attachments in it; a folder with anything else in it stays.

    Raises OutputError if that is not possible, and if its disk is not mounted.
    """
    try:
        with open_parent(place.root, place.parts, make=False, marker=place.marker) as parent:
            folder = os.open(place.parts[-1], _FOLDER, dir_fd=parent)
            try:
                _remove_assets(folder)
            finally:
                os.close(folder)
            durable.remove_folder(place.parts[-1], folder=parent)
            durable.sync_names(parent)
    except FileNotFoundError:
        require_root(place.path, place.root, place.marker)
    except TargetRefused as error:
        raise OutputError(error.what, path=place.path) from error
    except OSError as error:
        raise OutputError(f"cannot be deleted: {error.strerror}", path=place.path) from error


def remove_empty(place: OutputPath) -> None:
    """Delete a folder if nothing is in it. Raises OutputError if that is not possible, or its disk is not mounted."""
    try:
        with open_parent(place.root, place.parts, make=False, marker=place.marker) as parent:
            durable.remove_folder(place.parts[-1], folder=parent)
            durable.sync_names(parent)
    except FileNotFoundError:
        require_root(place.path, place.root, place.marker)
    except (TargetRefused, OSError) as error:
        if isinstance(error, OSError) and error.errno in _NOT_EMPTY:
            return
        what = error.what if isinstance(error, TargetRefused) else f"cannot be deleted: {error.strerror}"
        raise OutputError(what, path=place.path) from error


def _remove_assets(folder: int) -> None:
    for name in filter(_ASSET.fullmatch, os.listdir(folder)):
        with suppress(TargetRefused):
            require_plain_file(os.stat(name, dir_fd=folder, follow_symlinks=False), name)
            durable.remove(name, folder=folder)
