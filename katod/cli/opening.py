"""Opens files in the user's programs, and keeps the temporary ones private.

A temporary file is in a folder of its own, with the number of this process in its name: it is removed once the program
that it was opened in has ended, or katod itself, and if that cannot be known, by a later `katod open`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Final

from katod.cli.ending import cleared_at_signals
from katod.cli.printing import say, say_as_it_is
from katod.errors import KatodError

_FOLDER: Final = re.compile(r"katod-open-(\d+)-\w+")
_SHORTEST: Final = 2.0  # seconds: a program that ends sooner has handed the file on to another one
_GRACE: Final = 60.0  # seconds in which a program that was handed a file may still have to read it
_UNSAFE: Final = re.compile(r"[^\w.-]+")


class Opened(Enum):
    """What came of opening a file."""

    READ = "the program has ended, and with it what it had to do with the file"
    HANDED_ON = "a program has, or will have, the file"
    NOT = "there is no program: the path was printed"


def opened_in(path: Path, *, web: bool) -> Opened:
    """Open a file in the editor or the browser, else on the desktop; if there is none, print its path.

    Raises KatodError if the program cannot be started or fails.
    """
    given = [os.environ.get(name, "").strip() for name in (("BROWSER",) if web else ("VISUAL", "EDITOR"))]
    command = _words(next(filter(None, given), "")) or _desktop()
    if not command:
        say_as_it_is(path)
        say(f"katod: no program was found that opens it: set {'BROWSER' if web else 'VISUAL or EDITOR'}", err=True)
        return Opened.NOT
    began = time.monotonic()
    code = _run([*command, str(path.absolute())])  # one that begins with `-` would be an option
    if code:
        raise KatodError(f"{command[0]} ended with exit code {code}", path=path)
    waited = command != _desktop() and time.monotonic() - began >= _SHORTEST
    return Opened.READ if waited else Opened.HANDED_ON


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise KatodError(f"the command {command!r} cannot be parsed: {error}") from error


def _run(command: list[str]) -> int:
    try:
        return subprocess.run(command, check=False).returncode  # noqa: S603 - the user's own program, without a shell
    except OSError as error:
        hint = "set VISUAL or EDITOR to your editor, BROWSER to your browser"
        raise KatodError(f"{command[0]} cannot be started: {error.strerror}", hint=hint) from error


def _desktop() -> list[str]:
    """Return the program that opens files on this desktop, an empty list if there is none."""
    if sys.platform == "darwin":
        return ["open"]
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return ["xdg-open"] if has_screen and shutil.which("xdg-open") else []


# -- temporary files ------------------------------------------------------------------------------


def temporary(name: str, pieces: Iterator[str], use: Callable[[Path], Opened]) -> Opened:
    """Write a private file, use it, and remove it unless it may still be read. Raises KatodError, OSError."""
    folder = Path(tempfile.mkdtemp(prefix=f"katod-open-{os.getpid()}-", dir=_base()))
    with cleared_at_signals(partial(shutil.rmtree, folder, ignore_errors=True)):
        outcome = Opened.READ
        try:
            path = folder / (_UNSAFE.sub("-", name).lstrip(".-") or "transcript")
            with open(path, "x", encoding="utf-8", errors="replace", opener=_private) as file:
                file.writelines(pieces)
            outcome = use(path)
        finally:
            if outcome is Opened.READ:
                shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def clear(grace: float = _GRACE) -> None:
    """Remove the temporary files of earlier processes, unless one is younger than `grace` and may be being opened."""
    for folder in _base().glob("katod-open-*"):
        found = _FOLDER.fullmatch(folder.name)
        with suppress(OSError):
            status = folder.lstat()
            is_own = status.st_uid == os.getuid() and folder.is_dir() and not folder.is_symlink()
            is_old = time.time() - status.st_mtime > grace
            if found and is_own and is_old and not _is_alive(int(found[1])):
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return process != os.getpid()


def _base() -> Path:
    """Return the folder for temporary files: that of the login, which is in memory, if there is one."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(given if given and os.access(given, os.W_OK | os.X_OK) else tempfile.gettempdir())
