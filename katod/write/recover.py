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
    if anchored and (whole := _plan_anchored(behind, intent)):
        return whole
    sure = anchored or len(intent) >= _UNMISTAKABLE or behind.endswith(intent)
    if sure and intent in behind:
        return Plan(b"", foreign=True)
    done, at = _written(behind, intent, bounds)
    if not anchored and done < _UNMISTAKABLE:
        done = at = 0
    return _rest(behind, intent[done:], at)


def _plan_anchored(behind: bytes, intent: bytes) -> Plan | None:
    """Plan for an intent that begins right at the committed length; None where other bytes are among its own."""
    if intent.startswith(behind):
        return Plan(intent[len(behind) :])
    if behind.startswith(intent):
        return Plan(b"", foreign=True)
    same = _common(behind, intent)
    return Plan(intent[same:], cut=same) if _is_hole(behind, intent, same) else None


def _rest(behind: bytes, rest: bytes, at: int) -> Plan:
    """Plan for the events that are missing; what is written of the first of them begins at `at`, or ends the file."""
    tail = len(behind) - at if rest.startswith(behind[at:]) else _torn(behind, rest)
    if rest and tail:
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


def _written(behind: bytes, intent: bytes, bounds: list[int]) -> tuple[int, int]:
    """Return how much of the intent stands there as whole events, in order, and where the last of them ends.

    Other lines may stand among theirs.
    """
    begun = at = 0
    for end in bounds:
        event = intent[begun:end]
        exact = behind.find(event, at)
        if exact >= 0:
            at, begun = exact + len(event), end
            continue
        here = at
        for line in filter(None, event.split(b"\n")):
            here = _behind_line(behind, line, here)
            if here < 0:
                return begun, at
        if here == len(behind) and event.endswith(b"\n\n"):
            return begun, at  # the file ends within this event: in the blank lines behind its words
        begun, at = end, here
    return begun, at


def _behind_line(behind: bytes, line: bytes, at: int) -> int:
    """Return where a whole line ends that stands there from `at` on, -1 if it does not."""
    found = behind.find(line + b"\n", at)
    while found > 0 and behind[found - 1 : found] != b"\n":
        found = behind.find(line + b"\n", found + 1)
    return found + len(line) + 1 if found >= 0 else -1


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
