"""What to write after a crash: the open intent against what stands behind the committed length. Pure."""

from dataclasses import dataclass
from typing import Final

_TELLING: Final = 16
# A shorter text may well have been said before: found in the middle of an edited file it proves nothing.
_UNMISTAKABLE: Final = 128


@dataclass(frozen=True, slots=True)
class Plan:
    """Cut the file to `cut` bytes behind the committed length (None: do not), then append `data`.

    `foreign` says that someone else's text stands there, too.
    """

    data: bytes
    foreign: bool = False
    cut: int | None = None


def plan(behind: bytes, intent: bytes, bounds: list[int], *, anchored: bool = True) -> Plan:
    """Decide how an intent is completed (design, section 7).

    `bounds` are the ends of its events within the intent. `behind` is what stands behind the committed
    length; when the file was edited before it, the end of the file (`anchored` is false).
    """
    if anchored:
        if intent.startswith(behind):
            return Plan(intent[len(behind) :])
        if behind.startswith(intent):
            return Plan(b"", foreign=True)
        same = _common(behind, intent)
        if _is_hole(behind, intent, same):
            return Plan(intent[same:], cut=same)
    elif behind.endswith(intent):
        return Plan(b"", foreign=True)
    done = _written(behind, intent, bounds)
    if not anchored and done < min(_UNMISTAKABLE, len(intent)):
        done = 0
    rest = intent[done:]
    if rest and (tail := _torn(behind, rest)):
        return Plan(rest[tail:], foreign=True)
    newline = b"" if not rest or not behind or behind.endswith(b"\n") else b"\n"
    return Plan(newline + rest, foreign=True)


def _is_hole(behind: bytes, intent: bytes, same: int) -> bool:
    """Say whether power loss left NUL bytes, from `same` on, where bytes of the intent should be."""
    rest = behind[same:]
    if not rest.startswith(b"\0"):
        return False
    wanted = intent[same : len(behind)]
    return not rest.strip(b"\0") or (
        len(rest) == len(wanted) and all(here in (0, there) for here, there in zip(rest, wanted, strict=True))
    )


def _written(behind: bytes, intent: bytes, bounds: list[int]) -> int:
    """Return how much of the intent stands there as whole events, in order, other lines among theirs or not."""
    there = behind.split(b"\n")
    there.pop()  # what stands behind the last newline is no whole line
    begun = at = 0
    for end in bounds:
        for line in filter(None, intent[begun:end].split(b"\n")):
            try:
                at = there.index(line, at) + 1
            except ValueError:
                return begun
        begun = end
    return begun


def _common(left: bytes, right: bytes) -> int:
    size = min(len(left), len(right))
    if left[:size] == right[:size]:
        return size
    low, high = 0, size
    while low < high - 1:
        middle = (low + high) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle
    return low


def _torn(behind: bytes, intent: bytes) -> int:
    """Return how much of the intent the file ends with, 0 if nothing that could be told apart."""
    head = intent[:_TELLING]
    at = behind.find(head, max(0, len(behind) - len(intent)))
    while at >= 0:
        if intent.startswith(behind[at:]):
            return len(behind) - at
        at = behind.find(head, at + 1)
    sizes = range(min(len(behind), len(head) - 1), 2, -1)
    return next((size for size in sizes if behind.endswith(intent[:size])), 0)
