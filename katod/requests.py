"""Commands from the shell: left as files in the state directory, renamed into place, taken by the daemon."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast
from uuid import uuid4

import orjson

from katod.model import Command, SessionKey

FOLDER: Final = "requests"
_SUFFIX: Final = ".request"
_ANSWER: Final = ".answer"


@dataclass(frozen=True, slots=True)
class Request:
    """One command for a session, with the time when it was asked for."""

    session: tuple[str, str, str]
    word: Literal["start", "stop", "capture", "export"]
    name: str
    time: str

    @property
    def key(self) -> SessionKey:
        """The session it is for."""
        return SessionKey(*self.session)

    @property
    def command(self) -> Command:
        """The command as the chat would have it."""
        return Command(self.word, self.name)


def leave(state: Path, request: Request) -> Path:
    """Leave a request for the daemon; returns the path where its answer will be."""
    folder = state / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = uuid4().hex
    hidden = folder / f"{name}.part"
    hidden.touch(mode=0o600)
    hidden.write_bytes(orjson.dumps(asdict(request)))
    os.rename(hidden, folder / f"{name}{_SUFFIX}")
    return folder / f"{name}{_ANSWER}"


def take(state: Path) -> Iterator[tuple[Path, Request | None]]:
    """Yield the requests that wait, oldest first; None for a file that is no request. One that is closed waits on."""
    folder = state / FOLDER
    try:
        waiting = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    except OSError:
        return
    for path in waiting:
        try:
            data = path.read_bytes()
        except OSError:
            continue
        yield path, _parse(data)


def answer(path: Path, refusal: str) -> None:
    """Answer a request (an empty refusal: done) and take it away."""
    reply = path.with_suffix(_ANSWER)
    part = path.with_suffix(".part")
    part.touch(mode=0o600)
    part.write_text(refusal)
    os.rename(part, reply)
    path.unlink(missing_ok=True)


def _parse(data: bytes) -> Request | None:
    try:
        row: dict[str, Any] = orjson.loads(data)
        agent, session, subagent = row["session"]
        word = row["word"]
        if word not in ("start", "stop", "capture", "export"):
            return None
        return Request((str(agent), str(session), str(subagent)), cast("Any", word), str(row["name"]), str(row["time"]))
    except (ValueError, KeyError, TypeError):
        return None
