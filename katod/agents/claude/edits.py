"""Claude Code: the file that an edit changed, as the client keeps it beside the result. Pure.

`toolUseResult` of an edit has `filePath` and `structuredPatch`, a list of hunks `{newStart, lines, …}`; that of a file
written as a whole also `type` (`create`, `update`) and `content`.
"""

from typing import Any

from katod.agents.diffs import count_lines, created
from katod.agents.fields import dicts_of, int_or_none, list_of, text_of


def structured(extra: dict[str, Any]) -> dict[str, Any]:
    """Return the field `structured` of a result, empty if it changed no file."""
    path = text_of(extra.get("filePath"))
    if not path:
        return {}
    if extra.get("type") == "create" and isinstance(content := extra.get("content"), str):
        return {"structured": {"files": [created(path, content)]}}
    row: dict[str, Any] = {"path": path, "change": "update", "added": 0, "removed": 0}
    for hunk in dicts_of(extra.get("structuredPatch")):
        count_lines(map(text_of, list_of(hunk.get("lines"))), row, int_or_none(hunk.get("newStart")))
    return {"structured": {"files": [row]}} if row["added"] + row["removed"] else {}
