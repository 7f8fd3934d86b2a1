"""Standard input, output and error: one may be missing, and what is printed may have nowhere to go."""

import codecs
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Final, TextIO

_MODES: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}  # in the order of their descriptors


def open_missing() -> None:
    """Open `/dev/null` in place of the streams that were closed (`>&-`): else, the next file takes their number."""
    for number, (name, mode) in enumerate(_MODES.items()):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


def replace_unprintable() -> None:
    """Print `?` in place of what the encoding of the locale does not have, such as ISO-8859-1: better than nothing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors="replace")


def flush() -> None:
    """Write what was printed. Raises OSError; BrokenPipeError if nobody reads it any more."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def discard_unwritten() -> None:
    """Drop what was printed and cannot be written: Python would try again when it exits, with messages of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _redirect_to_null(stream)


def _redirect_to_null(stream: TextIO) -> None:
    with suppress(OSError, ValueError):  # it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
