"""Searches the transcripts that katod wrote: they outlive the agents' files, and people write into them."""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.errors import OutputError
from katod.formats.redact.redactor import redact
from katod.formatspec import format_of
from katod.model import Cursor
from katod.search.hits import Hit
from katod.search.query import Query
from katod.search.sessions import lines_with
from katod.search.spoken import redacted_words_of, speaker_of, words_of
from katod.search.transcripts import (
    About,
    Passage,
    about,
    jsonl_event,
    markdown_passages,
    page_about,
    page_passages,
    plain,
)  # fmt: skip
from katod.tail.reader import SourceFile

_LARGEST: Final = 1024**3  # bytes; no transcript comes near
_WHOLE: Final = 16 * 1024 * 1024  # bytes of Markdown that are read at once
_PIECE: Final = 1024 * 1024
_HEAD: Final = 64  # bytes
_EVENT: Final = b'{"schema":"katod.event/'
_PAGE: Final = b"<!DOCTYPE html>"


class TranscriptFile(NamedTuple):
    """A file that katod may have written, and when it last changed (ns)."""

    path: Path
    changed_ns: int


def transcripts_below(folder: Path) -> Iterator[TranscriptFile]:
    """Yield the files below a folder that may be transcripts; links are not followed, hidden files are left out."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from transcripts_below(Path(entry.path))
        elif format_of(entry.name) is not None and entry.is_file(follow_symlinks=False):
            yield from existing([Path(entry.path)])


def existing(paths: Iterable[Path]) -> Iterator[TranscriptFile]:
    """Yield those of these files that exist and can be read; in a form for machines, the words are not found."""
    for path in paths:
        spec = format_of(path.name)
        if spec is not None and not spec.in_chat:
            continue
        try:
            yield TranscriptFile(path, path.lstat().st_mtime_ns)
        except OSError:
            continue


def search_transcript(path: Path, query: Query) -> tuple[About, Iterable[Hit]]:
    """Return what a transcript says of itself, and its hits in order. Raises OutputError if it cannot be read."""
    try:
        with _opened(path) as file:
            if file.peek(_HEAD).startswith(_EVENT):
                return _search_events(path, SourceFile(file.fileno(), str(path)), query)
            if os.fstat(file.fileno()).st_size > _WHOLE and not file.peek(_HEAD).startswith(_PAGE):
                return _search_huge(path, file, query)
            data = file.read(_LARGEST).replace(b"\r\n", b"\n")
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=path) from error
    is_page, lowered = data.startswith(_PAGE), data.lower()
    if not (query.may_be_in_page(lowered) if is_page else query.may_be_in_text(lowered)):
        return About(), []
    text = data.decode("utf-8", "replace")
    if is_page:
        return page_about(text), _hits(page_passages(text), query, path)
    return about(text), _hits(markdown_passages([text]), query, path)


def _search_huge(path: Path, file: BufferedReader, query: Query) -> tuple[About, Iterable[Hit]]:
    """Return the same of a transcript that is too large to be kept in memory."""
    head = about(file.peek(_HEAD).decode("utf-8", "replace").replace("\r\n", "\n"))
    return head, _hits(markdown_passages(_pieces(path)), query, path)


def _pieces(path: Path) -> Iterator[str]:
    """Yield a file in pieces of whole lines."""
    try:
        with TextIOWrapper(_opened(path), "utf-8", "replace", newline="\n") as file:
            while lines := file.readlines(_PIECE):
                yield "".join(lines).replace("\r\n", "\n")
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=path) from error


def _opened(path: Path) -> BufferedReader:
    return open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def _hits(passages: Iterable[Passage], query: Query, path: Path) -> Iterator[Hit]:
    """Yield the passages that have all words as they are shown, or as they are written."""
    for number, (speaker, time, written, until) in enumerate(passages):
        if not query.may_be_in_text(written.lower()):
            continue
        shown = plain(written)
        if text := next((text for text in (shown, written) if query.matches(text)), ""):
            yield Hit(f"{path}:{number}", speaker, time, text, partial(redact, text), until)


def _search_events(path: Path, file: SourceFile, query: Query) -> tuple[About, Iterable[Hit]]:
    """Return the hits among canonical events, and the session that they are of."""
    first = next((event for line in file.read(Cursor(), 1).lines[:1] if (event := jsonl_event(line.data))), None)
    if first is None:
        return About(), []
    agent, session, subagent, _ = first.session
    label = AGENTS[agent].label if agent in AGENTS else agent
    named = About(agent, session, subagent, Path(str(first.payload.get("cwd", ""))).name)
    return named, _events_with(path, query, label)


def _events_with(path: Path, query: Query, label: str) -> Iterator[Hit]:
    """Yield the events that have all words while they are read: a transcript of events may be huge."""
    try:
        with _opened(path) as file:
            for line, _ in lines_with(query, SourceFile(file.fileno(), str(path))):
                event = jsonl_event(line.data)
                if event and query.matches(text := words_of(event)):
                    redacted = partial(redacted_words_of, event)
                    yield Hit(event.id, speaker_of(event, label), event.time, text, redacted)
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=path) from error
