"""Globs of projects, such as those of `recording.exclude`: they name directories, not spellings of directories.

A directory has many spellings: through a link, with `..`, with an accent as one character or as two, in upper or lower
case on some file systems. The user writes one in the configuration, and the agent another one in its records. Every
one of them matches, and as far as that can be known, also once the directory is gone.
"""

import os
import time
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import escape
from typing import Final, NamedTuple
from unicodedata import normalize

from katod.paths import comparable, is_windows

_MAGIC: Final = frozenset("*?[")
_ALL_BELOW: Final = "/**"
_LOOKED_AT_AGAIN: Final = 10  # seconds after which a new link among what a `*` matches is found
_Inode = tuple[int, int]


class _Glob(NamedTuple):
    """A glob: what it says, the folder that it begins with, and its parts from the first wildcard on."""

    text: str
    folder: str  # empty if it may begin anywhere, or on another system
    parts: tuple[str, ...]

    @classmethod
    def of(cls, written: str) -> "_Glob":
        """Return what a person wrote as a glob. All below a directory, `/**`, includes the directory itself."""
        text = os.path.expanduser(written).rstrip("/")
        while text.endswith(_ALL_BELOW):
            text = text.removesuffix(_ALL_BELOW).rstrip("/")
        if is_windows(text):
            return cls(text, "", ())
        parts = text.split("/")
        first = next((n for n, part in enumerate(parts) if _MAGIC & set(part)), len(parts))
        inner = tuple(part for part in parts[first:] if part not in ("", "."))
        folder = "/".join(parts[:first]) or ("/" if text.startswith("/") else "")
        return cls("/".join((*parts[:first], *inner)), folder, inner)

    def patterns(self) -> Iterator[str]:
        """Yield the patterns that stand for it: as it is written, and without the links that lead to what it names."""
        yield self.text
        yield escape(self.text)  # a directory may be called `[old]`
        if self.folder:
            folder = real_path(self.folder)
            yield "/".join((escape(folder.rstrip("/")), *self.parts))
            # All below a directory includes what the links in it lead to.
            yield from map(escape, _linked(folder, self.parts or ("*",), int(time.monotonic()) // _LOOKED_AT_AGAIN))


def is_matched(places: Iterable[str], globs: Iterable[str]) -> bool:
    """Return whether one of these directories, or one above it, is matched by a glob, however either is spelled."""
    found, written = [_Glob.of(glob) for glob in globs], set(places)
    real = set(map(real_path, written))
    spelled = set(map(_form, written | real | set(_respelled(real, found))))
    patterns = {_form(pattern) for glob in found for pattern in glob.patterns()}
    return any(fnmatchcase(one, p) or fnmatchcase(one, f"{p}/*") for one in spelled for p in patterns)


def missing_folder(glob: str) -> str:
    """Return the folder that a glob begins with if there is no such directory; an empty string if there is."""
    folder = _Glob.of(glob).folder
    # `x/..` is a directory also where there is no `x`, and an accent may be written in either form.
    forms = (folder, real_path(folder), normalize("NFC", folder), normalize("NFD", folder))
    return "" if not folder or any(map(os.path.isdir, forms)) else folder


def real_path(path: str) -> str:
    """Return a path of this machine without links and `..`, whether or not it exists; any other as it is."""
    if not os.path.isabs(path) or is_windows(path):
        return path
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # this system can have no such name
        return path


def _form(path: str) -> str:
    """Return a path in the form in which two are compared."""
    return normalize("NFC", comparable(path.rstrip("/")))


def _respelled(places: Iterable[str], globs: Iterable[_Glob]) -> Iterator[str]:
    """Yield each place as it is called below the folder of each glob that it is in, by what the file system says."""
    folders = {folder: _inode(folder) for folder in {glob.folder for glob in globs if glob.folder}}
    for place in filter(os.path.isabs, places):
        below = dict(_from_above(place))
        yield from (os.path.join(folder, below[inode]) for folder, inode in folders.items() if inode in below)


def _from_above(place: str) -> Iterator[tuple[_Inode, str]]:
    """Yield the inode of a directory, and of each one above it, with the path from there."""
    folder, rest = place, ""
    while True:
        if inode := _inode(folder):
            yield inode, rest
        above, name = os.path.split(folder)
        if above == folder:
            return
        folder, rest = above, os.path.join(name, rest).rstrip("/")


def _inode(path: str) -> _Inode | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


@lru_cache(maxsize=64)
def _linked(folder: str, parts: tuple[str, ...], _tick: int) -> tuple[str, ...]:
    """Return where the links lead that parts with wildcards match below a folder; looked up once in a tick.

    One that leads above the folder is left out: it would have the glob match what is beside it.
    """
    found = [(folder, False)]
    for part in parts:
        found = [
            (inner, through_link or is_link)
            for above, through_link in found
            for inner, is_link in _fitting(above, part)
        ]  # fmt: skip
    return tuple(path for path, through_link in found if through_link and not f"{folder}/".startswith(f"{path}/"))


def _fitting(folder: str, part: str) -> list[tuple[str, bool]]:
    """Return the directories in a folder that a part of a glob matches, without links, and whether each is a link."""
    if not _MAGIC & set(part):
        inner = os.path.join(folder, part)
        return [(real_path(inner), os.path.islink(inner))]
    try:
        with os.scandir(folder) as entries:
            fitting = [entry for entry in entries if fnmatchcase(_form(entry.name), _form(part)) and entry.is_dir()]
            return [(real_path(one.path) if one.is_symlink() else one.path, one.is_symlink()) for one in fitting]
    except (OSError, ValueError):  # it is gone, or not ours to read; or this system can have no such name
        return []
