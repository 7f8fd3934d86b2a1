"""What katod has of a session, and requests to record it. For the reading thread."""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from katod.discover.found import Found
from katod.errors import KatodError
from katod.model import SessionKey, Word
from katod.record.onward import onward
from katod.serve.page.sessionview import Output
from katod.service.control import Request, enqueue
from katod.service.lock import holder
from katod.service.pause import paused_since
from katod.shell import pasted_with_home
from katod.smallfile import open_regular
from katod.store.ledger import Ledger

_PIECE: Final = 64 * 1024  # bytes


def outputs_of(state: Path, key: SessionKey) -> list[Output]:
    """Return the transcripts of a session, the first one first. Raises LedgerError."""
    ledger = Ledger.read(state)
    if ledger is None:
        return []
    with closing(ledger):
        session = ledger.find_session(key)
        rows = ledger.outputs(session.id) if session else []
        return [Output(row.id, str(row.path), row.options.redact) for row in rows if row.held is None]


def pieces_of(path: str) -> Iterator[bytes]:
    """Yield the content of a transcript; nothing if it does not exist, or became a link, or anything but a file."""
    with suppress(OSError), open(open_regular(path), "rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def command_of(found: Found) -> str:
    """Return the command with which an agent goes on with a session, empty if there is none."""
    try:
        words, cwd = onward(found)
    except KatodError:
        return ""
    home = str(Path.home())
    change = f"cd {pasted_with_home(cwd, home)} && " if os.path.isabs(cwd) and os.path.isdir(cwd) else ""
    return change + " ".join(pasted_with_home(word, home) for word in words)


def halted(state: Path) -> str:
    """Return why nothing is recorded now, in few words; empty if it is."""
    if holder(state) is None:
        return "katod is not running"
    return "katod is paused" if paused_since(state) else ""


def not_running() -> str:
    """Return the message for a request to record while katod is not running."""
    from katod.service.manager import how_to_start  # noqa: PLC0415 - half a megabyte, which few servers need

    return f"katod is not running, so nothing can be recorded. In your shell, `{how_to_start()}` starts it."


def request(state: Path, key: SessionKey, word: Word) -> Path | None:
    """Ask katod to record, or to stop; return where the answer will be, None if katod is not running."""
    if holder(state) is None:
        return None
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return enqueue(state, Request((key.agent, key.id, key.subagent), word, "", moment))


def answer(path: Path) -> str | None:
    """Return an answer, empty if it was done; None if there is none yet."""
    try:
        told = path.read_text()
    except FileNotFoundError:
        return None
    path.unlink(missing_ok=True)
    return told
