"""What is done before this process is ended, as by a terminal that is closed or a system that shuts down."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = (signal.SIGHUP, signal.SIGTERM)


@contextmanager
def handled(handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Have signals that end this process handled within the block, but for those that it ignores, as below nohup."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def cleared_at_signals(clear: Callable[[], object]) -> Iterator[None]:
    """Have `clear` called, which raises nothing, before a signal ends this process within the block."""

    def end(number: int, _: FrameType | None) -> None:
        clear()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    with handled(end):
        yield
