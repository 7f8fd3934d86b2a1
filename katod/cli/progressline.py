"""A line on a terminal that says what a command is doing, if that takes long. It is gone when the command is done."""

import os
import sys
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

import click

from katod.cli.layout import cut, one_text
from katod.cli.printing import width_of

_AFTER: Final = 0.5  # seconds, also between two of them
_ERASE: Final = "\r\x1b[K"


class ProgressLine:
    """Shows a line on standard error after half a second, and again each half second; nothing if that is no terminal.

    The line is drawn by a thread: a command may be busy with one large file.
    """

    def __init__(self, said: Callable[[], str]) -> None:
        """Show what `said` returns, which another thread calls."""
        self._said = said
        self._done = Event()
        self._thread = Thread(target=self._draw, name="katod-sign-of-life", daemon=True)
        self._width = (width_of(err=True) or 0) if os.environ.get("TERM") != "dumb" else 0
        self._is_drawn = False

    def __enter__(self) -> Self:
        if self._width:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._width:
            self._thread.join()
        if self._is_drawn:
            self._write(_ERASE)

    def _draw(self) -> None:
        while not self._done.wait(_AFTER):
            self._is_drawn = True
            self._write(f"{_ERASE}{cut(one_text(self._said()), self._width - 1)}")

    def _write(self, text: str) -> None:
        click.echo(text, file=sys.stderr, nl=False, color=True)
        sys.stderr.flush()
