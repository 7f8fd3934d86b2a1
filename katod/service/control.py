"""Requests from the shell to the daemon: files in the state directory, renamed into place, each answered by a file."""

import errno
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args
from uuid import uuid4

import orjson

from katod import durable
from katod.model import MOST_EXCHANGES, Command, PersonalWord, SessionKey, Word, changed_ns
from katod.smallfile import create_small, read_small

FOLDER: Final = "requests"
# What is requested, but cannot be typed in a chat: to append what is missing of an output, to forget a session, to keep
# what the user says of one, to take for history what a file has that is about to appear; for no session, to pause and
# to resume.
RequestWord = Literal["restore", "forget", "expect", "pause", "resume"] | PersonalWord
RESTORE: Final = "restore"
WITH_OUTPUTS: Final = "outputs"
_WORDS: Final = frozenset({*get_args(Word), "restore", "forget", "expect", "pause", "resume", *get_args(PersonalWord)})
_SUFFIX: Final = ".request"
_ANSWER: Final = ".answer"
_LARGEST: Final = 64 * 1024
_STALE: Final = 60  # seconds, after which nobody waits for an answer
_WRITTEN_BY: Final = re.compile(r"[0-9a-f]+\.([0-9]{1,9})\.part")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Request:
    """One command for a session, and when it was requested; to keep exchanges, how many, or which one.

    To restore an output, `name` is its number; to forget a session with its transcripts, it is WITH_OUTPUTS; to rename
    a session, it is the title, and to label it, the words; to expect a file, its size and path, with a colon between.
    """

    session: tuple[str, str, str]
    word: Word | RequestWord
    name: str
    time: str
    count: int = 1
    question: str = ""

    @property
    def key(self) -> SessionKey:
        """The session it is for."""
        return SessionKey(*self.session)

    @property
    def command(self) -> Command | None:
        """The command, as if typed in the chat; None for what cannot be typed there."""
        if self.word not in get_args(Word):
            return None
        return Command(cast("Word", self.word), self.name, count=self.count, question=self.question)

    @property
    def saying(self) -> PersonalWord | None:
        """What the user says of the session, None for anything else."""
        return cast("PersonalWord", self.word) if self.word in get_args(PersonalWord) else None


def enqueue(state: Path, request: Request) -> Path:
    """Leave a request for the daemon; return the path where the answer will appear."""
    folder = state / FOLDER
    durable.make_own_folder(state)
    durable.make_folders(folder, 0o700)
    name = uuid4().hex
    hidden = folder / f"{name}.{os.getpid()}.part"
    create_small(hidden, orjson.dumps(asdict(request)), 0o600)
    durable.rename(hidden, folder / f"{name}{_SUFFIX}")
    durable.sync_names(folder)
    return folder / f"{name}{_ANSWER}"


class Inbox:
    """The daemon's end: pending requests, and answers that could not be written yet."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER
        self._answers: dict[Path, str] = {}

    def make(self) -> Path:
        """Create the folder for requests, and return it."""
        durable.make_folders(self._folder, 0o700)
        return self._folder

    def poll(self) -> Iterator[tuple[Path, Request]]:
        """Yield the requests to be answered, oldest first. An unreadable file is left for the next poll."""
        for path, data in _waiting(self._folder):
            if path in self._answers:
                self.answer(path, self._answers.pop(path))
            elif (request := _parse(data)) is None:
                self.answer(path, "not a valid request")
            else:
                yield path, request

    def clean(self) -> None:
        """Remove answers, and parts of requests, that nobody waits for any more: they name sessions and files."""
        oldest = time.time() - _STALE
        for path in (*self._folder.glob(f"*{_ANSWER}"), *self._folder.glob("*.part")):
            with suppress(OSError):
                if path.lstat().st_mtime < oldest or _is_left(path):
                    durable.remove(path)

    def answer(self, path: Path, refusal: str) -> None:
        """Answer a request (an empty refusal means done) and remove it; if that fails, the next poll tries again."""
        part = path.with_suffix(".part")
        try:
            durable.remove(part, missing_ok=True)
            create_small(part, refusal.encode("utf-8", "replace"), 0o600)
            durable.rename(part, path.with_suffix(_ANSWER))
            durable.remove(path, missing_ok=True)
        except OSError:
            self._answers[path] = refusal


def _is_left(path: Path) -> bool:
    """Return whether this is a part of a request whose process has ended before it was complete."""
    written_by = _WRITTEN_BY.fullmatch(path.name)
    if written_by is None:
        return False
    try:
        os.kill(int(written_by[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _waiting(folder: Path) -> Iterator[tuple[Path, bytes]]:
    try:
        waiting = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: changed_ns(path.stat()))
    except OSError:
        return
    for path in waiting:
        try:
            data = read_small(path, _LARGEST)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EFBIG):
                continue
            data = b""  # not a request at all
        yield path, data


def _parse(data: bytes) -> Request | None:
    try:
        row: dict[str, Any] = orjson.loads(data)
        agent, session, subagent = row["session"]
        word = row["word"]
        if word not in _WORDS or (word == RESTORE and not _NUMBER.fullmatch(str(row["name"]))):
            return None
        key, count = (str(agent), str(session), str(subagent)), row.get("count", 1)
        if type(count) is not int or not 1 <= count <= MOST_EXCHANGES:
            return None
        question = str(row.get("question", ""))
        return Request(key, cast("Any", word), str(row["name"]), str(row["time"]), count, question)
    except (ValueError, KeyError, TypeError):
        return None
