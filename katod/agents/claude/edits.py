"""Claude Code: what a call changed, as the client keeps it beside the result. Pure.

`toolUseResult` of an edit has `filePath` and `structuredPatch`, a list of hunks `{newStart, lines, …}`; that of a file
written as a whole also `type` (`create`, `update`) and `content`. `originalFile` is what the file was, or null.
`gitOperation` of a command says what it did to the repository: `commit {sha, kind, branch}`, `branch {ref, action}`.
"""

from hashlib import sha256
from typing import Any, Final

from katod.agents.diffs import count_lines, created
from katod.agents.fields import dict_of, dicts_of, int_or_none, list_of, text_of, texts_in

_GIT: Final = {"commit": ("sha", "kind", "branch"), "branch": ("ref", "action")}


def structured(extra: dict[str, Any]) -> dict[str, Any]:
    """Return the field `structured` of a result, empty if it changed no file."""
    path = text_of(extra.get("filePath"))
    if not path:
        return {}
    content = extra.get("content")
    if extra.get("type") == "create" and isinstance(content, str):
        return {"files": [created(path, content) | {"after": _hash(content)}]}
    row: dict[str, Any] = {"path": path, "change": "update", "added": 0, "removed": 0}
    for hunk in dicts_of(extra.get("structuredPatch")):
        count_lines(map(text_of, list_of(hunk.get("lines"))), row, int_or_none(hunk.get("newStart")))
    row |= {name: _hash(whole) for name, whole in _wholes(extra, content) if isinstance(whole, str)}
    return {"files": [row]} if row["added"] + row["removed"] else {}


def _wholes(extra: dict[str, Any], content: Any) -> tuple[tuple[str, Any], ...]:
    """Return the whole file before and after, as far as the client keeps it."""
    return ("before", extra.get("originalFile")), ("after", content if extra.get("type") == "update" else None)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def git_operation(extra: dict[str, Any]) -> dict[str, Any]:
    """Return what a command did to the repository, empty if nothing is recorded."""
    done = dict_of(extra.get("gitOperation"))
    rows = {name: texts_in({key: dict_of(done.get(name)).get(key) for key in keys}) for name, keys in _GIT.items()}
    return {name: row for name, row in rows.items() if row}
