"""What to write after a crash: the open intent against what stands behind the committed length. Pure."""

from dataclasses import dataclass
from typing import Final

_TELLING: Final = 16
# A shorter text may well have been said before: found in the middle of an edited file it proves nothing.
_UNMISTAKABLE: Final = 128


@dataclass(frozen=True, slots=True)
class Plan:
    """Cut the file to `cut` bytes behind the committed length (None: do not), then append `data`."""

    data: bytes
    how: str
    cut: int | None = None


def plan(behind: bytes, intent: bytes, bounds: list[int], *, anchored: bool = True) -> Plan:
    """Decide how an intent is completed (design, section 7).

    `bounds` are the ends of its events within the intent. `behind` is what stands behind the committed
    length; when the file was edited before it, the end of the file (`anchored` is false).
    """
    if anchored:
        if intent.startswith(behind):
            return Plan(intent[len(behind) :], "completed")
        if behind.startswith(intent):
            return Plan(b"", "already written, more stands behind it")
        same = _common(behind, intent)
        if not behind[same:].strip(b"\0"):
            return Plan(intent[same:], "NUL bytes were cut off", cut=same)
    sure = anchored or len(intent) >= _UNMISTAKABLE or behind.endswith(intent)
    if sure and intent in behind:
        return Plan(b"", "already written among other text")
    if tail := _torn(behind, intent):
        return Plan(intent[tail:], "completed behind other text")
    ends = [end for end in reversed(bounds) if anchored or end >= _UNMISTAKABLE]
    whole = next((end for end in ends if intent[:end] in behind), 0)
    newline = b"" if not behind or behind.endswith(b"\n") else b"\n"
    return Plan(newline + intent[whole:], "continued behind other text")


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
