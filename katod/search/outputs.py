"""Searches the transcripts that katod wrote: they outlive the agents' files, and people write into them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.errors import OutputError
from katod.model import FORMAT_OF
from katod.search.query import Query
from katod.search.sessions import Hit
from katod.search.spoken import speaker_of, words_of
from katod.search.transcripts import About, Passage, about, jsonl_event, markdown_passages, page_passages, plain

_LARGEST: Final = 1024**3  # bytes; no transcript comes near
_EVENT: Final = b'{"schema":"katod.event/'
_PAGE: Final = b"<!DOCTYPE html>"


class Transcript(NamedTuple):
    """A file that katod may have written, and when it last changed (ns)."""

    path: Path
    changed_ns: int


def transcripts_below(folder: Path) -> Iterator[Transcript]:
    """Yield the files below a folder that may be transcripts; links are not followed, hidden files are left out."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from transcripts_below(Path(entry.path))
        elif entry.name.endswith(tuple(FORMAT_OF)) and entry.is_file(follow_symlinks=False):
            yield from existing([Path(entry.path)])


def existing(paths: Iterable[Path]) -> Iterator[Transcript]:
    """Yield those of these files that exist."""
    for path in paths:
        try:
            yield Transcript(path, path.lstat().st_mtime_ns)
        except OSError:
            continue


def search_transcript(path: Path, query: Query) -> tuple[About, list[Hit]]:
    """Return what a transcript says of itself, and its hits in order. Raises OutputError if it cannot be read."""
    data = _content(path)
    if data.startswith(_EVENT):
        return _search_events(data, query)
    is_page = data.startswith(_PAGE)
    if not is_page and not query.may_be_in_text(data.lower()):
        return About(), []
    text = data.decode("utf-8", "replace")
    return about(text), list(_hits(page_passages(text) if is_page else markdown_passages(text), query, path))


def _content(path: Path) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            return file.read(_LARGEST)
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}", path=path) from error


def _hits(passages: Iterable[Passage], query: Query, path: Path) -> Iterator[Hit]:
    """Yield the passages that have all words as they are shown, or as they are written."""
    for number, (speaker, time, written) in enumerate(passages):
        shown = plain(written)
        if text := next((text for text in (shown, written) if query.matches(text)), ""):
            yield Hit(f"{path}:{number}", speaker, time, text)


def _search_events(data: bytes, query: Query) -> tuple[About, list[Hit]]:
    """Return the hits among canonical events, and the session that they are of."""
    first = jsonl_event(data[: data.find(b"\n")])
    if first is None:
        return About(), []
    hits = []
    label = AGENTS[first.session.agent].label if first.session.agent in AGENTS else first.session.agent
    for begin, end in query.lines(data.lower()):
        event = jsonl_event(data[begin:end])
        if event and query.matches(text := words_of(event)):
            hits.append(Hit(event.id, speaker_of(event, label), event.time, text))
    cwd = first.payload.get("cwd", "")
    return About(first.session.agent, first.session.id, first.session.subagent, Path(str(cwd)).name), hits
