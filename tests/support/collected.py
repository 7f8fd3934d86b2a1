"""Closing what a test leaves open once nothing refers to it, in the thread that opened it.

Garbage is collected in any thread, that of a watcher too, and a connection of SQLite may be closed in its own only.
"""

import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Final

_COLLECTED: Final[deque[Callable[[], object]]] = deque()


def close_later(owner: object, close: Callable[[], object]) -> "weakref.finalize[[Callable[[], object], int], Any]":
    """Close something when its owner is collected; if another thread does so, as soon as this thread is asked."""
    close_collected()
    return weakref.finalize(owner, _close, close, threading.get_ident())


def _close(close: Callable[[], object], opened_in: int) -> None:
    if threading.get_ident() == opened_in:
        close()
    else:
        _COLLECTED.append(close)


def close_collected() -> None:
    """Close what belonged to owners that were collected."""
    while _COLLECTED:
        _COLLECTED.popleft()()
