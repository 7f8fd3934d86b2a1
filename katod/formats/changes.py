"""Which files a tool changed, as its result says. Pure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

Range = tuple[int, int]


class ChangedFile(NamedTuple):
    """One file: its path, `add`, `update` or `delete`, and the lines that were written, numbered as they are after."""

    path: str
    change: str
    ranges: list[Range]


def changed_files(payload: dict[str, Any]) -> Iterator[ChangedFile]:
    """Yield the files of the payload of a result; none of a call that failed. What is of another shape is left out."""
    structured = payload.get("structured")
    files = structured.get("files") if isinstance(structured, dict) and not payload.get("isError") else None
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and isinstance(file.get("path"), str) and isinstance(file.get("change", ""), str):
            yield ChangedFile(file["path"], file.get("change", "update"), _ranges(file.get("ranges")))


def _ranges(value: Any) -> list[Range]:
    rows = value if isinstance(value, list) else []
    return [(row[0], row[1]) for row in rows if _is_range(row)]


def _is_range(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(type(line) is int and 0 < line < 2**53 for line in row)
