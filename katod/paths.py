"""Paths as agents wrote them, by the rules of their system: Windows or any other; and how they are shown. Pure.

A session may come from another machine. On Windows, a path has a drive or a server, either kind of slash separates its
parts, and upper and lower case are the same.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
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


def in_home(path: str, home: str) -> str:
    """Return a path with `~` for the home directory."""
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def short_paths(paths: Sequence[str], home: str) -> list[str]:
    """Return the shortest end of each path that no other one has; `~` is the home directory."""
    parts = [("~" if path == home else in_home(path, home)).split("/") for path in paths]
    ends = Counter(end for path in parts for end in _ends(path))
    return [next((end for end in _ends(path) if ends[end] == 1), "/".join(path)) for path in parts]


def _ends(parts: Sequence[str]) -> Iterator[str]:
    """Yield the ends of a path that have a name, the shortest first."""
    yield from ("/".join(parts[start:]) for start in reversed(range(len(parts))) if any(parts[start:]))
