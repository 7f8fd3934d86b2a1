"""What an edit changed: how many lines, and which. Pure."""

from collections.abc import Callable
from typing import Any

from katod.agents.tooltable import tool


def edit_size(payload: dict[str, Any]) -> tuple[int, int]:
    """Return how many lines a call adds and removes; zeros for anything but an edit."""
    if payload["family"] != "edit":
        return 0, 0
    known, given = tool(payload["name"]), payload.get("input")
    if patch := known.patch_in(given):
        added, removed = (f"\n{patch}".count(f"\n{sign}") for sign in "+-")
        return added, removed
    changes = [_changed(*change) for change in known.changes(given)]
    return sum(len(after) for _, after in changes), sum(len(before) for before, _ in changes)


def shown_size(added: int, removed: int) -> str:
    """Return `(+42 −18)`, empty if nothing changed."""  # noqa: RUF002 - the minus sign is meant
    return f"(+{added} −{removed})" if added or removed else ""  # noqa: RUF001 - the minus sign is meant


def diff(payload: dict[str, Any], say: Callable[[str], str]) -> list[str]:
    """Return the changed lines of an edit: removed ones first, each with its sign.

    `say` makes a text fit to be shown. It is given whole texts: where a key replaces another, the first and last lines
    are no part of the change, and the rest looks like no key.
    """
    known, given = tool(payload["name"]), payload.get("input")
    if patch := known.patch_in(given):
        return [line for line in say(patch).split("\n") if line.startswith(("+", "-", "@@", "*** "))]
    lines: list[str] = []
    for old, new in known.changes(given):
        before, after = _changed(say(old), say(new))
        lines += [f"-{line}" for line in before] + [f"+{line}" for line in after]
    return lines


def patched_files(patch: str) -> list[str]:
    """Return the names of the files that an `apply_patch` text changes."""
    heads = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
    lines = [line for line in patch.splitlines() if line.startswith("*** ")]
    return [line[len(head) :].strip() for line in lines for head in heads if line.startswith(head)]


def _changed(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that an edit removes and those that it adds, without unchanged lines at both ends."""
    before, after = old.splitlines(), new.splitlines()
    first = _same(before, after)
    before, after = before[first:], after[first:]
    last = _same(before[::-1], after[::-1])
    return before[: len(before) - last], after[: len(after) - last]


def _same(one: list[str], other: list[str]) -> int:
    """Count the equal lines at the beginning of both."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
