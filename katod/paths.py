"""Paths as agents wrote them, by the rules of their system: Windows or any other. Pure.

A session may come from another machine. On Windows, a path has a drive or a server, either kind of slash separates its
parts, and upper and lower case are the same.
"""

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

_WINDOWS: Final = re.compile(r"[A-Za-z]:(?:[\\/]|\Z)|\\\\\w")


def is_windows(path: str) -> bool:
    """Return whether a path is an absolute one of Windows: it begins with a drive or a server."""
    return _WINDOWS.match(path) is not None


def name_of(path: str) -> str:
    """Return the last part of a path, empty if it has none."""
    return PureWindowsPath(path).name if is_windows(path) else PurePosixPath(path).name


def below(path: str, folder: str) -> str | None:
    """Return the rest of a path below an absolute folder, empty for the folder itself, None if it is not in it."""
    if is_windows(folder):
        return _below_on_windows(path, folder)
    folder = folder.rstrip("/")
    if not folder:
        return None
    if path.rstrip("/") == folder:
        return ""
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def _below_on_windows(path: str, folder: str) -> str | None:
    inner, outer = PureWindowsPath(path), PureWindowsPath(folder)
    if not inner.is_relative_to(outer):
        return None
    return "" if inner == outer else str(inner.relative_to(outer))


def comparable(path: str) -> str:
    """Return a path in a form that is the same for all its spellings: of Windows, with slashes and in lower case."""
    return PureWindowsPath(path).as_posix().lower() if is_windows(path) else path
