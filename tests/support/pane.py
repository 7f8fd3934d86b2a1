"""A program in a terminal of its own, and what it printed there."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from tests.support.live import until
from tests.support.world import SOURCE, World

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Pane:
    """`katod` with these arguments, or another command, in a terminal of this size, until the block ends."""

    def __init__(
        self, world: World, *arguments: str, command: list[str] | None = None, rows: int = 24, columns: int = 100
    ) -> None:
        self._command = command or [sys.executable, "-m", "katod", *arguments]
        self._world, self._arguments, self._size = world, arguments, struct.pack("HHHH", rows, columns, 0, 0)
        self.raw = ""

    def __enter__(self) -> Self:
        self._screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, self._size)
        environment = self._world.environment | {"TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            self._command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=environment,
            cwd=SOURCE,
            start_new_session=True,
        )
        os.close(terminal)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def _read(self) -> None:
        data = b""
        while True:
            try:
                piece = os.read(self._screen, 65536)
            except OSError:  # the program has ended
                return
            if not piece:
                return
            data += piece
            self.raw = data.decode(errors="replace")

    @property
    def text(self) -> str:
        """What was printed, without colours and movements."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def until(self, words: str | Iterable[str]) -> None:
        """Wait until all these words were printed."""
        for one in [words] if isinstance(words, str) else words:
            until(lambda one=one: one in self.text, f"{one!r}: {self._arguments}")  # type: ignore[misc]

    def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self) -> int:
        """Wait until the program ends, and return its exit code."""
        code = self.process.wait(60)
        self._reader.join(5)
        return code

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(5)
        os.close(self._screen)
