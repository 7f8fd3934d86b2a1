"""Signs of life: a small file for each session that is recorded, which status lines of agents show.

`recording/<agent>-<session>` has three lines: the PID of the daemon, the boot of the machine that it belongs to (empty
where that is not known), and what to show. After a crash the files stay, and the first two lines say that they are old.

A session that is not recorded has one, too, if the user of a recording went on there. Then there are also `left`, and
`left-<agent>-<session>` until the hook of its agent has said so once.
"""

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod.errors import safe_message
from katod.log import EventLog
from katod.model import SessionKey
from katod.smallfile import read_small
from katod.store.rows import OutputRow

# A session, its output, whether that is named, whether it can be written, and the session in which the user went on.
Seen = tuple[SessionKey, Path, bool, bool, str]
FOLDER: Final = "recording"
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
_NAME: Final = re.compile(r"\w[\w.-]{0,199}", re.ASCII)
LEFT: Final = "left"
_NOT_RECORDED: Final = "○ not recorded: type ::start"
_LONGEST: Final = 60  # characters of a file name
_LARGEST: Final = 4096
_PAUSE: Final = 30.0  # seconds after a failure


class RecordingFiles:
    """The files, kept in step with the recordings: one is written only when what it shows has changed."""

    def __init__(self, state: Path, log: EventLog) -> None:
        self._folder = state / FOLDER
        self._log = log
        self._seen: list[Seen] | None = None  # what was shown last, as it came
        self._shown: dict[str, str] | None = None  # None: what an earlier katod left is still there
        self._retry = 0.0
        self._failed = False

    def show(self, recordings: Iterable[tuple[SessionKey, OutputRow]]) -> None:
        """Show these recordings, and no others. A failure is logged once, and stops nothing."""
        seen = [(key, row.path, row.held is None, not row.problem, row.successor) for key, row in recordings]
        if seen == self._seen or (self._failed and time.monotonic() < self._retry):
            return
        wanted = _left(seen) | {name: _text(one) for one in seen if (name := _name(one[0]))}
        try:
            self._write(wanted)
        except OSError as error:
            self._seen = self._shown = None  # some may be written
            if not self._failed:
                self._log.statusfiles_failed(str(self._folder), safe_message(error))
            self._failed, self._retry = True, time.monotonic() + _PAUSE
        else:
            self._failed, self._seen, self._shown = False, seen, wanted

    def clear(self) -> None:
        """Remove all files: katod ends."""
        self._retry = 0.0
        self.show(())

    def _is_ours(self, name: str) -> bool:
        """Return whether katod wrote a file: it begins with the number of a process."""
        try:
            content = read_small(self._folder / name, _LARGEST)
        except OSError:
            return False
        return bool(_NAME.fullmatch(name.removeprefix("."))) and content.partition(b"\n")[0].isdigit()

    def _write(self, wanted: dict[str, str]) -> None:
        if self._shown is None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._shown = dict.fromkeys(filter(self._is_ours, os.listdir(self._folder)), "")
        head = f"{os.getpid()}\n{_boot()}\n"
        for name in self._shown.keys() - wanted.keys():
            (self._folder / name).unlink(missing_ok=True)
        for name, text in wanted.items() - self._shown.items():
            _replace(self._folder / name, f"{head}{text}\n".encode("utf-8", "replace"))


def remove(state: Path, keys: Iterable[SessionKey]) -> None:
    """Remove the files of sessions that are forgotten, whoever wrote them. Raises OSError."""
    for name in filter(None, map(_name, keys)):
        for path in (state / FOLDER / f"{prefix}{name}" for prefix in ("", ".", f"{LEFT}-", f".{LEFT}-")):
            path.unlink(missing_ok=True)


def _name(key: SessionKey) -> str:
    """Return the name of a session's file, empty if none is shown: for a sub-agent, or an id that is no file name."""
    name = f"{key.agent}-{key.id}"
    return name if not key.subagent and _NAME.fullmatch(name) else ""


def _left(seen: Iterable[Seen]) -> dict[str, str]:
    """Return what to show in sessions in which the users of recordings went on, and what their hook is to say."""
    keys = [SessionKey(*successor.split(":", 2)) for *_, successor in seen if successor.count(":") == 1]
    recorded = {one[0] for one in seen}
    names = [name for key in keys if key not in recorded and (name := _name(key))]
    said = [*names, *(f"{LEFT}-{name}" for name in names), *([LEFT] if names else [])]
    return dict.fromkeys(said, _NOT_RECORDED)


def _text(seen: Seen) -> str:
    """Return what to show of a recording."""
    _, path, is_named, is_written, _ = seen
    if not is_named:
        return "● rec (waiting for your first words)"
    name = "".join(letter for letter in path.name if letter.isprintable())
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return f"● {'rec' if is_written else 'parked'} {short}"


def _boot() -> str:
    try:
        return read_small(Path(BOOT_ID), 100).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}")
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.rename(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
