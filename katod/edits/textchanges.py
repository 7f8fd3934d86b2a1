"""Which text of which file the call of an edit replaces by which, as its input says. Pure."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from katod.agents.fields import dict_of, text_of
from katod.agents.tooltable import Keys, ToolEntry, tool

_UPDATE: Final = "*** Update File: "
_ADD: Final = "*** Add File: "
_DELETE: Final = "*** Delete File: "
_MOVE: Final = "*** Move to: "
_HUNK: Final = "@@"
_END: Final = "*** End"
_EVERYWHERE: Final = ("replace_all", "replaceAll")


class TextChange(NamedTuple):
    """Text that is replaced by another; `old` is None for a file that is written as a whole."""

    old: str | None
    new: str
    everywhere: bool = False


Changes = dict[str, list[TextChange]]


def text_changes(payload: dict[str, Any]) -> Changes:
    """Return what the call of an edit does to each file, by its path as the agent wrote it; empty if unknown."""
    known, given = tool(text_of(payload.get("name"))), payload.get("input")
    if patch := known.patch_in(given):
        return _patched(patch)
    files: Changes = {}
    for path, change in _replaced(known, dict_of(given)):
        files.setdefault(path, []).append(change)
    return files


def _replaced(known: ToolEntry, given: dict[str, Any]) -> Iterator[tuple[str, TextChange]]:
    """Yield the file and the text of each edit; text that replaces none is all of a file, or else is not understood."""
    for number, row in enumerate(map(dict_of, known.rows(given))):
        path = _first(row, known.file) if known.file else _first(given, known.about)
        if path and _has(row, known.new) and (_first(row, known.old) or not (number or _has(row, known.part))):
            everywhere = any((given | row).get(name) is True for name in _EVERYWHERE)
            yield path, TextChange(_first(row, known.old) or None, _first(row, known.new), everywhere)


def _has(row: dict[str, Any], keys: Keys) -> bool:
    return any(row.get(key) is not None for key in keys)


def _first(row: dict[str, Any], keys: Keys) -> str:
    return next((text for key in keys if (text := text_of(row.get(key)))), "")


def _patched(patch: str) -> Changes:
    """Return the changes of an `apply_patch` text: of each hunk, the lines before and after it."""
    files: Changes = {}
    for path, hunk, is_new in hunks(patch):
        new = "\n".join(line[1:] for line in hunk if line[:1] != "-")
        old = "\n".join(line[1:] for line in hunk if line[:1] != "+")
        if is_new or old != new:
            files.setdefault(path, []).append(TextChange(None if is_new else old, new))
    return files


def hunks(patch: str) -> Iterator[tuple[str, list[str], bool]]:
    """Yield the hunks of a patch: the name of the file after it, the lines, and whether these are all of the file."""
    path, is_new, hunk = "", False, list[str]()
    for line in [*patch.split("\n"), _END]:
        head = next((head for head in (_UPDATE, _ADD, _DELETE, _MOVE, _HUNK, _END) if line.startswith(head)), "")
        if not head:
            hunk += [line] if path and not line.startswith("*** ") else []
            continue
        if hunk:
            yield path, hunk, is_new
            hunk = []
        if head not in (_HUNK, _END):
            path, is_new = line[len(head) :].strip(), head == _ADD
        if head == _DELETE:
            yield path, [], True
