"""Which files a tool changed, as its result says. Pure."""

import ntpath
import posixpath
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from katod.events import went_well
from katod.paths import below, is_windows

Range = tuple[int, int]
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class ChangedFile(NamedTuple):
    """One file: its path, `add`, `update` or `delete`, and the lines that were written, numbered as they are after."""

    path: str
    change: str
    ranges: list[Range]
    after: str = ""  # the SHA-256 of the whole file after the change, if it is known


def changed_files(payload: dict[str, Any]) -> Iterator[ChangedFile]:
    """Yield the files of the payload of a result, if that went well.

    What is of another shape, or has no name, is left out.
    """
    structured = payload.get("structured")
    files = structured.get("files") if isinstance(structured, dict) and went_well(payload) else None
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and isinstance(file.get("change", ""), str) and _is_name(file.get("path")):
            after = file.get("after")
            known = after if isinstance(after, str) and _SHA256.fullmatch(after) else ""
            yield ChangedFile(file["path"], file.get("change", "update"), _ranges(file.get("ranges")), known)


def relative(path: str, cwd: str) -> str:
    """Return a path inside a directory relative to it, with slashes; any other path as it is.

    The machine of the session may be another one than this: paths are those of Windows if the directory is.
    """
    if is_windows(cwd):
        own = below(ntpath.normpath(path), cwd) or path
        return own if is_windows(own) else own.replace("\\", "/")
    rest = below(path, cwd)
    return posixpath.normpath(rest) if rest else path


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _ranges(value: Any) -> list[Range]:
    rows = value if isinstance(value, list) else []
    return [(row[0], row[1]) for row in rows if _is_range(row)]


def _is_range(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(type(line) is int and 0 < line < 2**53 for line in row)
