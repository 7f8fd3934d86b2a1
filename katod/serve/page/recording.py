"""The recordings of a session: its transcripts, and requests to record it. For the reading thread."""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from katod.errors import KatodError, OutputUnreadable
from katod.model import PersonalWord, SessionKey, Word
from katod.record.reading import located, opened
from katod.record.resumecommand import resume_command_from
from katod.serve.index.entry import SessionEntry
from katod.serve.index.sessions import described
from katod.serve.page.sessionview import OutputLink
from katod.service.control import Request, enqueue
from katod.service.lock import holder
from katod.service.pause import paused_since
from katod.shell import pasted_with_home
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow

_PIECE: Final = 64 * 1024  # bytes


def outputs_of(state: Path, key: SessionKey) -> list[OutputLink]:
    """Return the transcripts of a session, the first one first. Raises LedgerError."""
    return [OutputLink(row.id, str(row.path), row.options.redact) for row in _rows(state, key)]


def _rows(state: Path, key: SessionKey) -> list[OutputRow]:
    ledger = Ledger.read(state)
    if ledger is None:
        return []
    with closing(ledger):
        session = ledger.find_session(key)
        rows = located(ledger.outputs(session.id)) if session else []
        return [row for row in rows if row.held is None]


def output_of(state: Path, key: SessionKey, number: str) -> OutputRow | None:
    """Return the transcript of a session that has this number, None if it has none. Raises LedgerError."""
    return next((row for row in _rows(state, key) if str(row.id) == number), None)


def refusal_of(row: OutputRow) -> str:
    """Return the reason why a transcript cannot be shown, empty if it can."""
    try:
        opened(row).close()
    except OutputUnreadable as error:
        return f"{error}. {error.hint}".removesuffix(". ")
    return ""


def pieces_of(row: OutputRow) -> Iterator[bytes]:
    """Yield the content of a transcript; nothing if it is not what katod wrote, and no more if it cannot be read."""
    with suppress(OSError, OutputUnreadable), opened(row) as file:
        while piece := file.read(_PIECE):
            yield piece


def command_of(entry: SessionEntry) -> str:
    """Return the shell command that resumes a session in its agent, empty if there is none."""
    try:
        words, cwd = resume_command_from(entry, described(entry))
    except KatodError:
        return ""
    home = str(Path.home())
    change = f"cd {pasted_with_home(cwd, home)} && " if os.path.isabs(cwd) and os.path.isdir(cwd) else ""
    return change + " ".join(pasted_with_home(word, home) for word in words)


def halted(state: Path) -> str:
    """Return the reason why nothing is recorded now, in few words; empty if there is none."""
    if holder(state) is None:
        return "katod is not running"
    return "katod is paused" if paused_since(state) else ""


def not_running() -> str:
    """Return the message for a request while katod is not running."""
    from katod.service.manager import how_to_start  # noqa: PLC0415 - half a megabyte, which few servers need

    return f"katod is not running, so it cannot do that. In your shell, `{how_to_start()}` starts it."


def request(
    state: Path, key: SessionKey, word: Word | PersonalWord, words: str = "", question: str = ""
) -> Path | None:
    """Ask katod to record a session, to stop, to keep an exchange, or what the user says of the session.

    Return where the answer will be, None if katod is not running.
    """
    if holder(state) is None:
        return None
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return enqueue(state, Request((key.agent, key.id, key.subagent), word, words, moment, question=question))


def answer(path: Path) -> str | None:
    """Return an answer, empty if it was done; None if there is none yet."""
    try:
        message = path.read_text("utf-8")
    except FileNotFoundError:
        return None
    path.unlink(missing_ok=True)
    return message
