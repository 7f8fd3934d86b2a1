"""The text of lines that a call writes, as far as its input says exactly which lines of the file these are. Pure."""

from hashlib import sha256
from typing import Any, Final

from katod.agents.fields import dict_of, text_of
from katod.agents.tooltable import ToolEntry, tool
from katod.formats.records.changes import Range

_MOST_CALLS: Final = 64
_LARGEST: Final = 256 * 1024  # characters of one text
_ADDED: Final = "*** Add File: "


class Written:
    """The texts of the calls whose results have not come yet; of too many, the oldest are forgotten."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, list[str]]] = {}

    def call(self, payload: dict[str, Any]) -> None:
        """Take up a call: what it writes, by the name of the file, which is empty for a part of one."""
        call, given = text_of(payload.get("toolCallId")), payload.get("input")
        if payload.get("family") != "edit" or not call:
            return
        known = tool(text_of(payload.get("name")))
        patch = known.patch_in(given)
        texts = _added(patch) if patch else _given(known, given)
        if texts and sum(len(line) for lines in texts.values() for line in lines) <= _LARGEST:
            self._calls[call] = texts
            if len(self._calls) > _MOST_CALLS:
                del self._calls[next(iter(self._calls))]

    def take(self, call: str) -> dict[str, list[str]]:
        """Return what a call wrote, and forget it."""
        return self._calls.pop(call, {})


def hashes(texts: dict[str, list[str]], path: str, ranges: list[Range]) -> list[str]:
    """Return the SHA-256 of the lines of each range, without the last line end; empty where they are not known."""
    for name, lines in texts.items():
        if name and (path == name or path.endswith(("/" + name, "\\" + name))):
            return [_hash(lines[first - 1 : last]) if first <= last <= len(lines) else "" for first, last in ranges]
    part = texts.get("", [])
    is_all = bool(part) and len(ranges) == 1 and ranges[0][1] - ranges[0][0] + 1 == len(part)
    return [_hash(part)] if is_all else [""] * len(ranges)


def _hash(lines: list[str]) -> str:
    return sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def _added(patch: str) -> dict[str, list[str]]:
    """Return the files that a patch adds; which of equal lines an update adds, only the client's own diff says."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in patch.split("\n"):
        if line.startswith("*** "):
            lines = found.setdefault(line[len(_ADDED) :].strip(), []) if line.startswith(_ADDED) else []
        elif line.startswith("+"):
            lines.append(line[1:])
    return found


def _given(known: ToolEntry, given: Any) -> dict[str, list[str]]:
    """Return a file that is written as a whole, or the lines that replace others."""
    changes = known.changes(given)
    if len(changes) != 1:
        return {}
    [(old, new)] = changes
    if old or any(key in dict_of(given) for key in known.old):
        part = _replaced(old.split("\n"), new.split("\n"))
        return {"": part} if part else {}
    path = next((text for key in known.about if (text := text_of(dict_of(given).get(key)))), "")
    return {path: new.removesuffix("\n").split("\n")} if path and new else {}


def _replaced(old: list[str], new: list[str]) -> list[str]:
    """Return the lines that a replacement adds, empty if a diff might show it in another way.

    It begins and ends with lines that stay, so that these are whole. No line is removed and added again, and what is
    added neither ends like the line before it nor begins like the line after it.
    """
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = zip(reversed(old[first:]), reversed(new[first:]), strict=False)
    last = next((n for n, (a, b) in enumerate(rest) if a != b), min(len(old), len(new)) - first)
    removed, added = old[first : len(old) - last], new[first : len(new) - last]
    if not (first and last and added) or not set(removed).isdisjoint(added):
        return []
    return [] if added[-1] == new[first - 1] or added[0] == new[len(new) - last] else added
