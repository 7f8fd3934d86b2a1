"""Searches the agents' own session files: little is decoded but hits, and nothing is kept."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.events import Event
from katod.log import EventLog
from katod.metadata import Replay, SessionMetadata
from katod.model import Cursor, Line
from katod.record.export import Stretch, replay
from katod.record.stream import NoDedup, SessionStream
from katod.search.hits import Hit
from katod.search.lines import lines_with
from katod.search.query import Query
from katod.search.spoken import redacted_words_of, speaker_of, words_of
from katod.tail.reader import SourceFile

_HEAD: Final = 64 * 1024  # bytes


def search_session(found: FoundSession, query: Query) -> Iterator[Hit]:
    """Yield the hits of one session, in its order, each once. Raises SourceError if a file of it cannot be read."""
    seen: set[str] = set()
    label = AGENTS[found.key.agent].label
    for path, identity, _ in found.files:
        for event, _ in _events(Stretch(path, identity), query):
            text = words_of(event)
            if event.id not in seen and query.matches(text):
                seen.add(event.id)
                speaker = speaker_of(event, label)
                said = partial(redacted_words_of, event)
                yield Hit(
                    event.dedup_key or event.id,
                    speaker,
                    event.time,
                    text,
                    said,
                    event=event.id if ev.is_printed(event) else "",
                )


def _events(stretch: Stretch, query: Query) -> Replay:
    """Yield the events of one source that may have all words, with what is known of the session."""
    with AGENTS[stretch.identity.key.agent].open(stretch.path) as file:
        if file.is_document:
            lines = file.read(Cursor(), 0).lines
            if any(query.may_be_in(line.data) for line in lines):
                yield from replay(stretch.identity.key, [stretch], EventLog())
        else:
            yield from _PartialReader(stretch, file).events(query)


class _PartialReader:
    """Translates the beginning of a file as a whole, and of the rest single lines.

    The beginning tells an adapter which version of the agent wrote the file, and what it has to expect there.
    """

    def __init__(self, stretch: Stretch, file: SourceFile) -> None:
        self._stretch = stretch
        self._file = file
        self._metadata = SessionMetadata(stretch.identity.key)
        self._state = b""  # of the adapter after the beginning
        self._head = 0  # where that ends

    def events(self, query: Query) -> Replay:
        """Yield the events of the lines that may have all words, and all events of the beginning if there are any."""
        for line, is_whole in lines_with(query, self._file, AGENTS[self._stretch.identity.key.agent].spills):
            events = [] if self._state else list(self._beginning())
            if line.offset >= self._head:
                events += self._translated(line, is_whole=is_whole)
            yield from ((event, self._metadata) for event in events)

    def _beginning(self) -> Iterator[Event]:
        stream = SessionStream(self._stretch.identity.key, NoDedup(), EventLog(), whole=False, gaps=True)
        batch = self._file.read(Cursor(), _HEAD)
        yield from stream.events(self._stretch, batch.lines)
        self._head = batch.cursor.offset
        self._metadata = stream.metadata
        self._state = orjson.dumps(stream.open(self._stretch).state())
        yield from stream.rest(self._stretch, None)

    def _translated(self, line: Line, *, is_whole: bool) -> Iterator[Event]:
        """Yield the events of one line, with those that an adapter would hold back until the next one."""
        stream = SessionStream(self._stretch.identity.key, NoDedup(), EventLog(), whole=False, gaps=True)
        stream.open(self._stretch, orjson.loads(self._state))
        if is_whole:
            yield from stream.events(self._stretch, [line])
        yield from stream.rest(self._stretch, None if is_whole else line)
