"""How much the call of an edit changes in each file, as its input says. Pure."""

from typing import Any, Literal, NamedTuple

from katod.agents.fields import text_of
from katod.agents.tooltable import tool
from katod.edits.textchanges import Changes, hunks, text_changes
from katod.formats.transcript.calls import changed_lines


class FileChange(NamedTuple):
    """What is done to a file; how many lines it loses is known only of an `edit`."""

    kind: Literal["write", "edit", "delete"]
    added: int
    removed: int | None


def file_changes(payload: dict[str, Any]) -> dict[str, FileChange]:
    """Return what the call of an edit does to each file, by its path as the agent wrote it; empty if unknown."""
    if patch := tool(text_of(payload.get("name"))).patch_in(payload.get("input")):
        return _patched(patch)
    return _replaced(text_changes(payload))


def _patched(patch: str) -> dict[str, FileChange]:
    files: dict[str, FileChange] = {}
    for path, lines, is_new in hunks(patch):
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        if is_new:
            files[path] = FileChange("write" if lines else "delete", added, None)
        else:
            files[path] = _plus(files.get(path), added, removed)
    return files


def _replaced(changes: Changes) -> dict[str, FileChange]:
    files: dict[str, FileChange] = {}
    for path, found in changes.items():
        for change in found:
            before, after = changed_lines(change.old or "", change.new)
            if change.old is None:
                files[path] = FileChange("write", len(after), None)
            else:
                files[path] = _plus(files.get(path), len(after), len(before))
    return files


def _plus(before: FileChange | None, added: int, removed: int) -> FileChange:
    """Return a change with more lines; a file that was written as a whole stays so."""
    if before is None:
        return FileChange("edit", added, removed)
    return before._replace(
        added=before.added + added, removed=None if before.removed is None else before.removed + removed
    )
