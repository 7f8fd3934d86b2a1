"""Codex: the files that a patch changed, as the client records it once it has applied the patch.

`changes` of `patch_apply_end` and of a `FileChange` item maps each path to `{type: "update", unified_diff, move_path}`
or to `{type: "add" | "delete", content}`.
"""

from typing import Any, Final

from katod.agents.diffs import created, ranges_of
from katod.agents.fields import dict_of, text_of

MOST_FILES: Final = 32  # remembered until the result of the call arrives
_MOST_RANGES: Final = 200
_LONGEST_PATH: Final = 400
_HEADS: Final = {"add": "*** Add File: ", "delete": "*** Delete File: ", "update": "*** Update File: "}
_SIGNS: Final = {"add": "+", "delete": "-"}


def files_of(changes: Any) -> list[dict[str, Any]]:
    """Return path, change, numbers of added and removed lines, and ranges of added ones of the first 32 files."""
    rows = [_file(path, dict_of(change)) for path, change in list(dict_of(changes).items())[:MOST_FILES]]
    known = 0
    for row in rows:
        known += len(row.get("ranges", ()))
        if known > _MOST_RANGES:
            row.pop("ranges", None)
    return rows


def patch_of(changes: Any) -> str:
    """Return the changes in the form of the input of `apply_patch`."""
    return "\n".join("\n".join(_section(path, dict_of(change))) for path, change in dict_of(changes).items())


def _file(path: str, change: dict[str, Any]) -> dict[str, Any]:
    lines = _lines(change)
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    row: dict[str, Any] = {"path": path[:_LONGEST_PATH], "change": _kind(change), "added": added, "removed": removed}
    row |= _ranges(change)
    moved = text_of(change.get("move_path"))
    return row | ({"movedTo": moved[:_LONGEST_PATH]} if moved else {})


def _ranges(change: dict[str, Any]) -> dict[str, Any]:
    if _kind(change) == "update":
        return ranges_of(text_of(change.get("unified_diff")))
    known = created("", text_of(change.get("content"))) if _kind(change) == "add" else {}
    return {"ranges": known["ranges"]} if "ranges" in known else {}


def _section(path: str, change: dict[str, Any]) -> list[str]:
    moved = text_of(change.get("move_path"))
    head = [f"{_HEADS[_kind(change)]}{path}"] + ([f"*** Move to: {moved}"] if moved else [])
    return head + _lines(change)


def _kind(change: dict[str, Any]) -> str:
    kind = text_of(change.get("type"))
    return kind if kind in _HEADS else "update"


def _lines(change: dict[str, Any]) -> list[str]:
    """Return the lines of a diff: those of a new or deleted file are its content."""
    sign = _SIGNS.get(_kind(change))
    if sign is None:
        return text_of(change.get("unified_diff")).splitlines()
    return [sign + line for line in text_of(change.get("content")).splitlines()]
