"""Searches the transcripts that katod wrote: they outlive the agents' files, and people write into them."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.errors import OutputError
from katod.formats.redact.redactor import redact
from katod.formatspec import format_of
from katod.model import Cursor
from katod.paths import name_of
from katod.record.reading import opened
from katod.search.hits import Hit
from katod.search.lines import lines_with
from katod.search.query import Query
from katod.search.spoken import redacted_words_of, speaker_of, words_of
from katod.search.transcripts import (
    Passage,
    TranscriptHead,
    about,
    jsonl_event,
    markdown_passages,
    page_about,
    page_passages,
    plain,
)  # fmt: skip
from katod.store.rows import OutputRow
from katod.tail.reader import SourceFile
from katod.write.output import OutputPath
from katod.write.reading import open_plain

_LARGEST: Final = 1024**3  # bytes; no transcript comes near
_WHOLE: Final = 16 * 1024 * 1024  # bytes of Markdown that are read at once
_PIECE: Final = 1024 * 1024
_HEAD: Final = 64  # bytes
_EVENT: Final = b'{"schema":"katod.event/'
_PAGE: Final = b"<!DOCTYPE html>"


class TranscriptFile(NamedTuple):
    """A file that katod may have written, when it last changed (ns), and what opens it; raises OutputUnreadable."""

    path: Path
    changed_ns: int
    open: Callable[[], BufferedReader]


def transcripts_below(root: Path) -> Iterator[TranscriptFile]:
    """Yield the files below a folder that may be transcripts; links are not followed, hidden files are left out."""
    yield from _below(root, root)


def _below(folder: Path, root: Path) -> Iterator[TranscriptFile]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return
    for entry in found:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _below(path, root)
        elif format_of(entry.name) is not None and entry.is_file(follow_symlinks=False):
            yield from _existing(path, partial(open_plain, OutputPath(root, path.relative_to(root).parts)))


def existing(rows: Iterable[OutputRow]) -> Iterator[TranscriptFile]:
    """Yield the outputs that exist, whether or not they can be read; in a form for machines, words are not found."""
    for row in rows:
        yield from _existing(row.path, partial(opened, row))


def _existing(path: Path, opens: Callable[[], BufferedReader]) -> Iterator[TranscriptFile]:
    spec = format_of(path.name)
    if spec is None or spec.in_chat:
        with suppress(OSError):
            yield TranscriptFile(path, path.lstat().st_mtime_ns, opens)


def search_transcript(transcript: TranscriptFile, query: Query) -> tuple[TranscriptHead, Iterable[Hit]]:
    """Return the head of a transcript, and its hits in order. Raises OutputError if it cannot be read."""
    path = transcript.path
    try:
        with transcript.open() as file:
            if file.peek(_HEAD).startswith(_EVENT):
                return _search_events(transcript, SourceFile(file.fileno(), str(path)), query)
            size = os.fstat(file.fileno()).st_size
            if size > _WHOLE and not file.peek(_HEAD).startswith(_PAGE):
                return _search_huge(transcript, file, query)
            data = file.read(min(size, _LARGEST)).replace(b"\r\n", b"\n")  # `read` reserves as much as it may take
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=path) from error
    is_page = data.startswith(_PAGE)
    if not (query.may_be_in_page(data) if is_page else query.may_be_in_text(data)):
        return TranscriptHead(), []
    text = data.decode("utf-8", "replace")
    if is_page:
        return page_about(text), _hits(page_passages(text), query, path)
    return about(text), _hits(markdown_passages([text]), query, path)


def _search_huge(
    transcript: TranscriptFile, file: BufferedReader, query: Query
) -> tuple[TranscriptHead, Iterable[Hit]]:
    """Return the same of a transcript that is too large to be kept in memory."""
    head = about(file.peek(_HEAD).decode("utf-8", "replace").replace("\r\n", "\n"))
    return head, _hits(markdown_passages(_pieces(transcript)), query, transcript.path)


def _pieces(transcript: TranscriptFile) -> Iterator[str]:
    """Yield a file in pieces of whole lines."""
    try:
        with TextIOWrapper(transcript.open(), "utf-8", "replace", newline="\n") as file:
            while lines := file.readlines(_PIECE):
                yield "".join(lines).replace("\r\n", "\n")
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=transcript.path) from error


def _hits(passages: Iterable[Passage], query: Query, path: Path) -> Iterator[Hit]:
    """Yield the passages that have all words as they are shown, or as they are written."""
    for number, (speaker, time, written, until) in enumerate(passages):
        if not query.may_be_in_text(written):
            continue
        shown = plain(written)
        if text := next((text for text in (shown, written) if query.matches(text)), ""):
            yield Hit(f"{path}:{number}", speaker, time, text, partial(redact, text), until)


def _search_events(transcript: TranscriptFile, file: SourceFile, query: Query) -> tuple[TranscriptHead, Iterable[Hit]]:
    """Return the hits among canonical events, and the session that they are of."""
    first = next((event for line in file.read(Cursor(), 1).lines[:1] if (event := jsonl_event(line.data))), None)
    if first is None:
        return TranscriptHead(), []
    agent, session, subagent, _ = first.session
    label = AGENTS[agent].label if agent in AGENTS else agent
    named = TranscriptHead(agent, session, subagent, name_of(str(first.payload.get("cwd", ""))))
    return named, _events_with(transcript, query, label)


def _events_with(transcript: TranscriptFile, query: Query, label: str) -> Iterator[Hit]:
    """Yield the events that have all words while they are read: a transcript of events may be huge."""
    try:
        with transcript.open() as file:
            for line, _ in lines_with(query, SourceFile(file.fileno(), str(transcript.path))):
                event = jsonl_event(line.data)
                if event and query.matches(text := words_of(event)):
                    redacted = partial(redacted_words_of, event)
                    yield Hit(event.id, speaker_of(event, label), event.time, text, redacted)
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=transcript.path) from error
