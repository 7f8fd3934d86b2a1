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
from katod.formats.redact.redactor import redact
from katod.formatspec import FORMATS, format_of
from katod.metadata import SessionMetadata
from katod.model import Cursor, SessionKey
from katod.paths import name_of
from katod.search.hits import Hit, TranscriptHead
from katod.search.lines import lines_with
from katod.search.pages import page_about, page_passages
from katod.search.passages import Passage
from katod.search.query import Query
from katod.search.shownparts import EventPrinter, unprinted_calls
from katod.search.spoken import is_said, redacted_words_of, speaker_of, words_of
from katod.search.transcriptfiles import TranscriptFile
from katod.search.transcripts import about, jsonl_event, markdown_passages, plain
from katod.tail.reader import SourceFile

_LARGEST: Final = 1024**3  # bytes; no transcript comes near
_WHOLE: Final = 16 * 1024 * 1024  # bytes of Markdown that are read at once
_PIECE: Final = 1024 * 1024
_HEAD: Final = 1024  # bytes
_EVENT: Final = b'{"schema":"katod.event/'
_PAGE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<!doctype\s+html\b", re.IGNORECASE)
_BOM: Final = "\ufeff"


def search_transcript(transcript: TranscriptFile, query: Query) -> tuple[TranscriptHead, Iterable[Hit | None]]:
    """Return the head of a transcript, and its hits in order, with None now and then.

    Raises OutputError if it cannot be read.
    """
    path = transcript.path
    try:
        with transcript.open() as file:
            if file.peek(_HEAD).startswith(_EVENT):
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
    head = about(file.peek(_HEAD).decode("utf-8", "replace").replace("\r\n", "\n"))
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


def _search_events(
    transcript: TranscriptFile, file: SourceFile, query: Query
) -> tuple[TranscriptHead, Iterable[Hit | None]]:
    """Return the hits among canonical events, and the session that they are of."""
    first = next((event for line in file.read(Cursor(), 1).lines[:1] if (event := jsonl_event(line.data))), None)
    if first is None:
        return TranscriptHead(), []
    agent, session, subagent, _ = first.session
    label = AGENTS[agent].label if agent in AGENTS else agent
    named = TranscriptHead(agent, session, subagent, name_of(str(first.payload.get("cwd", ""))))
    return named, _hits_in(transcript, query, label, first)


def _hits_in(transcript: TranscriptFile, query: Query, label: str, first: Event) -> Iterator[Hit | None]:
    """Yield the hits among the events of a transcript, the first one of which is given."""
    agent, session, subagent, _ = first.session
    metadata = SessionMetadata(SessionKey(agent, session, subagent))
    metadata.fold(first)
    for event in _events_with(transcript, query):
        yield None
        if event and query.matches(text := words_of(event)):
            redacted, speaker = partial(redacted_words_of, event), speaker_of(event, label)
            shown, printer = event.id if ev.is_printed(event) else "", EventPrinter(event, metadata)
            yield Hit(
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


def unprinted_in(transcript: TranscriptFile, calls: Collection[str]) -> frozenset[str]:
    """Return those of these calls whose results `katod show` does not print, or not for certain."""
    try:
        return unprinted_calls(_events_with(transcript, Query([tuple(calls)])))
    except OutputError:  # it changed since it was searched
        return frozenset(calls)


def _events_with(transcript: TranscriptFile, query: Query) -> Iterator[Event | None]:
    """Yield the events that may have all words while they are read: a transcript of events may be huge."""
    try:
        with transcript.open() as file:
            for found in lines_with(query, SourceFile(file.fileno(), str(transcript.path))):
                yield jsonl_event(found[0].data) if found is not None else None
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=transcript.path) from error
