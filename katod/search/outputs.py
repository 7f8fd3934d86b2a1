"""Searches the transcripts that katod wrote: they outlive the agents' files, and people write into them."""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Final

from katod import events as ev
from katod.agents import AGENTS
from katod.errors import OutputError
from katod.events import Event
from katod.formats.eventlines import MOST, begins_with_events, is_note
from katod.formats.redact.redactor import redact
from katod.formatspec import FORMATS, format_of
from katod.metadata import SessionMetadata
from katod.model import Cursor, Line, SessionKey
from katod.paths import name_of
from katod.search.heads import about
from katod.search.hits import Hit, TranscriptHead
from katod.search.lines import lines_with
from katod.search.markup import plain
from katod.search.pages import page_about, page_passages
from katod.search.passages import NOTE, Passage
from katod.search.query import Query
from katod.search.shownparts import EventPrinter, unprinted_calls
from katod.search.spoken import is_said, redacted_words_of, speaker_of, words_of
from katod.search.transcriptfiles import TranscriptFile
from katod.search.transcripts import jsonl_event, markdown_passages
from katod.tail.reader import SourceFile

_LARGEST: Final = 1024**3  # bytes; no transcript comes near
_WHOLE: Final = 16 * 1024 * 1024  # bytes of Markdown that are read at once
_PIECE: Final = 1024 * 1024
_HEAD: Final = 1024  # bytes
_EVENT: Final = b'{"schema":"katod.event/'
# Notes may begin with a sample, or with words about it.
_PAGE: Final = re.compile(rb"(?:\xef\xbb\xbf)?<!doctype\s+html(?:\s[^<>]*)?>\s*<[!/?a-z]", re.IGNORECASE)
_BOM: Final = "\ufeff"
_LINES: Final = ".jsonl"


def search_transcript(transcript: TranscriptFile, query: Query) -> tuple[TranscriptHead, Iterable[Hit | None]]:
    """Return the head of a transcript, and its hits in order, with None now and then.

    Raises OutputError if it cannot be read.
    """
    path = transcript.path
    try:
        with transcript.open() as file:
            if _is_of_events(path, file):
                return _search_events(transcript, SourceFile(file.fileno(), str(path)), query)
            size = os.fstat(file.fileno()).st_size
            if size > _WHOLE and not _is_page(path, file.peek(_HEAD)):
                return _search_huge(transcript, file, query)
            data = file.read(min(size, _LARGEST)).replace(b"\r\n", b"\n")  # `read` reserves as much as it may take
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=path) from error
    is_page = _is_page(path, data[:_HEAD])
    if not (query.may_be_in_page(data) if is_page else query.may_be_in_text(data)):
        return TranscriptHead(), []
    text = data.decode("utf-8", "replace")
    if is_page:
        page = text.removeprefix(_BOM)
        return page_about(page), _hits(page_passages(page), query, path, is_page=True)
    return about(text), _hits(markdown_passages([text], is_recording=transcript.key is not None), query, path)


def _is_page(path: Path, head: bytes) -> bool:
    """Return whether a file is a page of HTML: by its beginning, or by its name if it is no transcript in Markdown."""
    is_named = format_of(path.name) is FORMATS["html"] and not FORMATS["markdown"].is_printed(head)
    return is_named or _PAGE.match(head) is not None


def _search_huge(
    transcript: TranscriptFile, file: BufferedReader, query: Query
) -> tuple[TranscriptHead, Iterable[Hit | None]]:
    """Return the same of a transcript that is too large to be kept in memory."""
    head = about(file.read(_PIECE).decode("utf-8", "replace").replace("\r\n", "\n"))
    found = markdown_passages(_pieces(transcript), is_recording=transcript.key is not None)
    return head, _hits(found, query, transcript.path)


def _pieces(transcript: TranscriptFile) -> Iterator[str]:
    """Yield a file in pieces of whole lines."""
    try:
        with TextIOWrapper(transcript.open(), "utf-8", "replace", newline="\n") as file:
            while lines := file.readlines(_PIECE):
                yield "".join(lines).replace("\r\n", "\n")
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=transcript.path) from error


def _hits(passages: Iterable[Passage], query: Query, path: Path, *, is_page: bool = False) -> Iterator[Hit | None]:
    """Yield the passages that have all words in one of their forms, with None before each."""
    for number, passage in enumerate(passages):
        yield None
        if text := next(filter(query.matches, _forms(passage, query, is_page=is_page)), ""):
            redacted, speaker = partial(redact, text), passage.speaker
            yield Hit(
                f"{path}:{number}",
                speaker,
                passage.time,
                text,
                redacted,
                passage.until,
                is_said=is_said(speaker),
                written="" if is_page else passage.text,
            )


def _forms(passage: Passage, query: Query, *, is_page: bool) -> Iterator[str]:
    """Yield a passage as it is shown, as it is written, and as it was typed, as far as it may have all words there.

    A text of a page is what is shown.
    """
    if query.may_be_in_text(passage.text):
        yield from (passage.text, plain(passage.text)) if is_page else (plain(passage.text), passage.text)
    if passage.source and query.may_be_in_text(passage.source):
        yield passage.source


def _is_of_events(path: Path, file: BufferedReader) -> bool:
    """Return whether a file is a recording in JSONL; it is read from where it was."""
    head = file.peek(_HEAD)
    if head.startswith(_EVENT) or path.suffix != _LINES:
        return head.startswith(_EVENT)
    return begins_with_events(path.name, os.pread(file.fileno(), MOST, 0))


def _search_events(
    transcript: TranscriptFile, file: SourceFile, query: Query
) -> tuple[TranscriptHead, Iterable[Hit | None]]:
    """Return the hits among canonical events, and the session that they are of, as the first readable one says."""
    first = _first_event(file)
    if first is None:
        return TranscriptHead(), _hits_in(transcript, query, None)
    agent, session, subagent, _ = first.session
    return TranscriptHead(agent, session, subagent, name_of(str(first.payload.get("cwd", "")))), _hits_in(
        transcript, query, first
    )


def _first_event(file: SourceFile) -> Event | None:
    """Return the first event of a file; a person may have written above it, or damaged others."""
    cursor, more = Cursor(), True
    while more:
        batch = file.read(cursor, _PIECE)
        if (first := next(filter(None, (jsonl_event(line.data) for line in batch.lines)), None)) is not None:
            return first
        more, cursor = batch.more and batch.cursor != cursor, batch.cursor
    return None


def _hits_in(transcript: TranscriptFile, query: Query, first: Event | None) -> Iterator[Hit | None]:
    """Yield the hits in a transcript of events, the first one of which is given: in these, and in notes between them.

    Raises OutputError at the end if a line that may have the words can be read as neither.
    """
    metadata = SessionMetadata(SessionKey(*first.session[:3]) if first else SessionKey("", ""))
    if first:
        metadata.fold(first)
    damaged = 0
    for line in _lines_with(transcript, query):
        yield None
        if line is None:
            continue
        if event := jsonl_event(line.data):
            yield _event_hit(event, metadata, query)
        elif is_note(line.data):
            yield _note_hit(transcript.path, line, query)
        else:
            damaged += 1
    if damaged:
        lines = "1 line" if damaged == 1 else f"{damaged} lines"
        raise OutputError(f"{lines} that may have the words cannot be read as events", path=transcript.path)


def _event_hit(event: Event, metadata: SessionMetadata, query: Query) -> Hit | None:
    if not query.matches(text := words_of(event)):
        return None
    agent = metadata.key.agent
    label = AGENTS[agent].label if agent in AGENTS else agent
    redacted, speaker = partial(redacted_words_of, event), speaker_of(event, label)
    shown, printer = event.id if ev.is_printed(event) else "", EventPrinter(event, metadata)
    return Hit(
        event.id,
        speaker,
        event.time,
        text,
        redacted,
        event=shown,
        is_said=is_said(speaker),
        shown_by=printer.shown_by,
        call=printer.call,
    )


def _note_hit(path: Path, line: Line, query: Query) -> Hit | None:
    """Return a line of a person's between events as a hit; no command prints it with the events."""
    text = line.data.decode("utf-8", "replace")
    if not query.matches(text):
        return None
    return Hit(f"{path}:{line.offset}", NOTE, "", text, partial(redact, text), shown_by=lambda *_: None)


def may_have_all(transcript: TranscriptFile, query: Query) -> bool:
    """Return whether a transcript of events may have all words, each in any line. Raises OutputError."""
    return all(any(_lines_with(transcript, Query([group]))) for group in query.groups)


def unprinted_in(transcript: TranscriptFile, calls: Collection[str]) -> frozenset[str]:
    """Return those of these calls whose results `katod show` does not print, or not for certain."""
    try:
        lines = filter(None, _lines_with(transcript, Query([tuple(calls)])))
        return unprinted_calls(jsonl_event(line.data) for line in lines)
    except OutputError:  # it changed since it was searched
        return frozenset(calls)


def _lines_with(transcript: TranscriptFile, query: Query) -> Iterator[Line | None]:
    """Yield the lines that may have all words while they are read: a transcript of events may be huge."""
    try:
        with transcript.open() as file:
            for found in lines_with(query, SourceFile(file.fileno(), str(transcript.path))):
                yield found and found[0]
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=transcript.path) from error
