"""Counts what katod's code asks of the machine, in a process of its own."""

import json
import os
import re
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from katod.formats.redact import engine
from tests.support.world import in_new_process

_SEARCHES: Final = frozenset({"search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
_FILTERED: Final = engine.search.__code__  # its engine is no regular expression of Python's
_IO: Final = Path("/proc/self/io")
_PAGE: Final = 1024


class Cost(NamedTuple):
    """What was counted. The first two are exact; the others depend a little on times, and on versions of libraries."""

    decoded: int  # JSON texts
    opened: int  # files below the home, but for the ledger's: SQLite opens those
    searched: int  # passes of a regular expression over a text that katod's code asks for, and of the secrets' filter
    read: int  # bytes, from files and pipes
    memory: int  # KiB that Python's objects take at once

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(*(mine - its for mine, its in zip(self, other, strict=True)))


class Counter:
    """Counts from `start` to `stop`."""

    def __init__(self, home: Path) -> None:
        self._home = f"{home}/"
        self._counts = {"decoded": 0, "opened": 0, "searched": 0}
        self._is_on = False
        self._read = 0
        sys.addaudithook(self._audit)  # there is no way to remove one: this is for processes that end soon

    def start(self) -> None:
        """Count from now on."""
        tracemalloc.start()
        self._read = _bytes_read()
        self._is_on = True
        sys.setprofile(self._profile)

    def stop(self) -> Cost:
        """Return what was counted."""
        sys.setprofile(None)
        self._is_on = False
        read = _bytes_read() - self._read
        peak = tracemalloc.get_traced_memory()[1] // _PAGE
        tracemalloc.stop()
        return Cost(**self._counts, read=read, memory=peak)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self._is_on and isinstance(arguments[0], str | bytes | os.PathLike):
            name = os.fsdecode(arguments[0])
            self._counts["opened"] += not name.startswith("/") or name.startswith(self._home)

    def _profile(self, frame: Any, event: str, called: Any) -> None:
        if event == "call" and frame.f_code is _FILTERED:
            self._counts["searched"] += 1
        if frame.f_globals.get("__name__") == "re" and frame.f_back is not None:
            frame = frame.f_back  # one of its functions, which searches for its caller
        if event != "c_call" or not frame.f_globals.get("__name__", "").startswith("katod"):
            return
        if called is orjson.loads:
            self._counts["decoded"] += 1
        elif isinstance(getattr(called, "__self__", None), re.Pattern) and called.__name__ in _SEARCHES:
            self._counts["searched"] += 1


def cost_of(home: Path, act: Callable[[], object]) -> Cost:
    """Return what a function costs, in a process that has done nothing else with this home."""
    reader, writer = os.pipe()

    def counted() -> None:
        counter = Counter(home)
        counter.start()
        act()
        os.write(writer, json.dumps(counter.stop()).encode())

    try:
        in_new_process(counted)
        return Cost(*json.loads(os.read(reader, 4096)))
    finally:
        os.close(reader)
        os.close(writer)


def _bytes_read() -> int:
    return int(_IO.read_text().split()[1]) if _IO.exists() else 0
