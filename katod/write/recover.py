"""What to write after a crash: compares the open intent with what follows the committed length. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

_SHORTEST_TORN: Final = 16
_SHORTEST_TOLD: Final = 3  # bytes: fewer of an intent at the end of a file are not told from those of others
_NULS: Final = re.compile(rb"\0+")
_MOST_RUNS: Final = 8  # of NUL bytes that are looked at
# A shorter text may occur by chance: finding it in the middle of an edited file proves nothing.
_UNAMBIGUOUS: Final = 128


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """Truncate the file to `cut` bytes after the committed length (None: do not), then append `data`.

    `foreign` is true if the file also contains other text there.
    """

    data: bytes
    foreign: bool = False
    cut: int | None = None


def plan(following: bytes, intent: bytes, bounds: Sequence[int], *, anchored: bool) -> RecoveryPlan:
    """Decide how to complete an intent.

    `bounds` are the ends of its events within the intent. `following` is what follows the committed length, or, if the
    file was edited before it (`anchored` is false), the end of the file.
    """
    hole = _hole(following, intent, bounds)
    if hole is None:
        return _plan(following, intent, bounds, anchored=anchored)
    todo = _plan(following[:hole], intent, bounds, anchored=anchored)
    if todo.data:
        return replace(todo, cut=hole)
    if len(following) - hole in (len(intent), len(intent) + 1):  # all of it was lost: others wrote the same before it
        return replace(_rest(following[:hole], intent, hole), cut=hole)
    return RecoveryPlan(b"", foreign=True)  # the intent is whole: as far as can be told, others wrote the NUL bytes


def _plan(following: bytes, intent: bytes, bounds: Sequence[int], *, anchored: bool) -> RecoveryPlan:
    """Plan for a file without NUL bytes of a power loss at its end."""
    if anchored and intent.startswith(following):
        return RecoveryPlan(intent[len(following) :])
    if anchored and following.startswith(intent):
        return RecoveryPlan(b"", foreign=True)
    if (anchored or len(intent) >= _UNAMBIGUOUS) and intent in following:
        return RecoveryPlan(b"", foreign=True)
    done, at = _written(following, intent, bounds)
    if not anchored and done < _UNAMBIGUOUS:
        done = at = 0
    return _rest(following, intent[done:], at)


def _rest(following: bytes, rest: bytes, at: int) -> RecoveryPlan:
    """Plan for the missing events. The first may be partly written, from `at` on or at the end of the file."""
    tail = len(following) - at if rest.startswith(following[at:]) else _torn(following, rest)
    if rest and tail:
        return RecoveryPlan(rest[tail:], foreign=True)
    newline = b"" if not rest or not following or following.endswith(b"\n") else b"\n"
    return RecoveryPlan(newline + rest, foreign=True)


def _hole(following: bytes, intent: bytes, bounds: Sequence[int]) -> int | None:
    """Return where NUL bytes begin that power loss left in place of bytes of the intent, None if there are none.

    From there to the end of the file, there are only NUL bytes, or bytes of the intent in their place: a file system
    keeps any of the blocks of a write, and may cut the last ones off.
    """
    end = len(following.rstrip(b"\0"))
    window = max(0, len(following) - len(intent) - 1)
    for run in islice(_NULS.finditer(following, window, end), _MOST_RUNS):
        if _is_lost(following[: run.start()], following[run.start() :], intent, bounds):
            return run.start()
    return end if end < len(following) else None


def _is_lost(before: bytes, rest: bytes, intent: bytes, bounds: Sequence[int]) -> bool:
    """Return whether NUL bytes stand in the rest in place of what was written behind `before`.

    That was the intent, or what was missing of it, perhaps on a new line; some of it may be in `before`.
    """
    done, _ = _written(before, intent, bounds)
    for written in (intent, b"\n" + intent, intent[done:], b"\n" + intent[done:]):
        for size in {len(written) - len(rest), _torn(before, written), *range(_SHORTEST_TOLD)}:
            if 0 <= size <= len(before) and before.endswith(written[:size]) and _is_part(rest, written[size:]):
                return True
    return False


def _is_part(rest: bytes, wanted: bytes) -> bool:
    """Return whether bytes are the first of the wanted ones, with NUL bytes in place of some."""
    return len(rest) <= len(wanted) and all(here in (0, there) for here, there in zip(rest, wanted, strict=False))


def _written(following: bytes, intent: bytes, bounds: Sequence[int]) -> tuple[int, int]:
    """Return how much of the intent is written as complete events, in order, and where the last of them ends.

    Other lines may be mixed in.
    """
    begun = at = 0
    for end in bounds:
        event = intent[begun:end]
        exact = following.find(event, at)
        if exact >= 0:
            at, begun = exact + len(event), end
            continue
        here = at
        for line in filter(None, event.split(b"\n")):
            here = _line_end(following, line, here)
            if here < 0:
                return begun, at
        if here == len(following) and event.endswith(b"\n\n"):
            return begun, at  # the file ends within this event, in the blank lines after its text
        begun, at = end, here
    return begun, at


def _line_end(following: bytes, line: bytes, at: int) -> int:
    """Return where the first such complete line after `at` ends, -1 if there is none."""
    found = following.find(line + b"\n", at)
    while found > 0 and following[found - 1 : found] != b"\n":
        found = following.find(line + b"\n", found + 1)
    return found + len(line) + 1 if found >= 0 else -1


def _torn(following: bytes, intent: bytes) -> int:
    """Return how many bytes of the intent the file ends with, 0 if too few to be recognised."""
    head = intent[:_SHORTEST_TORN]
    at = following.find(head, max(0, len(following) - len(intent)))
    while at >= 0:
        if intent.startswith(following[at:]):
            return len(following) - at
        at = following.find(head, at + 1)
    sizes = range(min(len(following), len(head) - 1), _SHORTEST_TOLD - 1, -1)
    return next((size for size in sizes if following.endswith(intent[:size])), 0)
