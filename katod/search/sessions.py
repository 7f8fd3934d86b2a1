"""Searches the agents' own session files: little is decoded but hits, and nothing is kept."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Final

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.spec import AgentSpec, Nature
from katod.discover.found import FoundSession
from katod.errors import SourceError, SourceGone
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Cursor, Identity, Line
from katod.record.export import Stretch, replay
from katod.record.stream import NoDedup, SessionStream
from katod.search.hits import Hit, RecordPlace
from katod.search.lines import lines_with
from katod.search.query import Query
from katod.search.shownparts import EventPrinter, is_unprinted, shown_by_none
from katod.search.spoken import is_said, redacted_words_of, speaker_of, words_of
from katod.tail.decode import strip_record
from katod.tail.reader import SourceFile

_HEAD: Final = 64 * 1024  # bytes
_NEAR: Final = (64 * 1024, 2 * 1024 * 1024)  # bytes beside a result in which its call is looked for, the few first
_NEXT: Final = 16 * 1024  # and that are translated, if the call has no id in the file
PartialReplay = Iterator[tuple[Event, SessionMetadata] | None]  # None: a caller can do something else now


def search_session(found: FoundSession, query: Query) -> Iterator[Hit | None]:
    """Yield the hits of one session, in its order, each once, and None now and then.

    A file that no longer exists has none. Raises SourceError at the end if a file of it cannot be read: the hits of the
    others come before that.
    """
    session = _SessionHits(query, AGENTS[found.key.agent].label)
    problem: SourceError | None = None
    for path, identity, _ in found.files:
        try:
            for event in events_with(Stretch(path, identity), query):
                yield session.take(EventPrinter(*event), path) if event is not None else None
        except SourceGone:  # agents move and delete their files
            continue
        except SourceError as error:
            problem = error
    if problem is not None:
        raise problem


class _SessionHits:
    """Makes hits of the events of a session, each once; a call that passes says whether its result is printed."""

    def __init__(self, query: Query, label: str) -> None:
        self._query = query
        self._label = label
        self._seen = set[str]()
        self._calls = dict[str, bool]()  # whether the result of each is printed for certain

    def take(self, printer: EventPrinter, path: str) -> Hit | None:
        """Return an event in this file as a hit, None if it is none."""
        event = printer.event
        if event.kind == ev.TOOL_CALL:
            self._calls[event.payload["toolCallId"]] = not is_unprinted(event)
        text = words_of(event)
        if event.id in self._seen or not self._query.matches(text):
            return None
        self._seen.add(event.id)
        speaker, is_printed = speaker_of(event, self._label), self._calls.get(printer.call)
        return Hit(
            event.dedup_key or event.id,
            speaker,
            event.time,
            text,
            partial(redacted_words_of, event),
            event=event.id if ev.is_printed(event) else "",
            is_said=is_said(speaker),
            shown_by=printer.shown_by if is_printed is not False else shown_by_none,
            call=printer.call if is_printed is None else "",
            at=RecordPlace(path, event.source.get("offset", 0)) if printer.call else None,
        )


def unprinted_in(found: FoundSession, calls: Mapping[str, RecordPlace | None]) -> frozenset[str]:
    """Return those of these calls of a session whose results `katod show` does not print, or not for certain.

    Each is looked for near its result. The others of the session were seen by the search, and are not read again.
    """
    printed = set[str]()
    for path, identity, _ in found.files:
        places = {call: at.offset for call, at in calls.items() if at is not None and at.path == path}
        if places:
            with suppress(SourceError):
                printed.update(_printed_calls(Stretch(path, identity), places))
    return frozenset(calls.keys() - printed)


def _printed_calls(stretch: Stretch, places: Mapping[str, int]) -> Iterator[str]:
    """Yield those of some calls whose results are printed for certain; of each, the offset of its result is given."""
    spec = AGENTS[stretch.identity.key.agent]
    with spec.open(stretch.path) as file:
        if _is_replayed(file, spec):
            return  # a call would have been seen
        reader = _PartialReader(stretch, file)
        for name, at in places.items():
            call = reader.call_near(name, at)
            if call is not None and not is_unprinted(call):
                yield name


def may_have_hits(found: FoundSession, query: Query) -> bool:
    """Return False if a session certainly has none, decoding nothing. Raises SourceError."""
    return any(_may_have(path, identity, query) for path, identity, _ in found.files)


def _may_have(path: str, identity: Identity, query: Query) -> bool:
    spec = AGENTS[identity.key.agent]
    if spec.is_contained(path):  # its database was asked
        return True
    with spec.open(path) as file:
        return any(_looked_for(file, query, spec))


def _looked_for(file: SourceFile, query: Query, spec: AgentSpec) -> Iterator[bool]:
    """Yield True as soon as a file may have all words, False after each part of it that does not."""
    if file.is_document:
        yield from (query.may_be_in(line.data) for line in file.read(Cursor(), 0).lines)
        return
    for found in lines_with(query, file, spec.spills):
        yield found is not None
        if found is not None:
            return


def events_with(stretch: Stretch, query: Query) -> PartialReplay:
    """Yield the events of one source that may have all words, with what is known of the session; None now and then."""
    spec = AGENTS[stretch.identity.key.agent]
    with spec.open(stretch.path) as file:
        if not _is_replayed(file, spec):
            yield from _PartialReader(stretch, file).events(query)
        else:
            is_in = False
            for found in _looked_for(file, query, spec):
                is_in = is_in or found
                yield None
            if is_in:
                yield from replay(stretch.identity.key, [stretch], EventLog())


def _is_replayed(file: SourceFile, spec: AgentSpec) -> bool:
    """Return whether a file is read as a whole: which event a line is may depend on those before it."""
    return file.is_document or spec.nature is Nature.UNTIMED or spec.repeats_calls


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

    def events(self, query: Query) -> PartialReplay:
        """Yield the events of the lines that may have all words, and all events of the beginning if there are any.

        An adapter holds an event back if a later record may say the same. That record has the same words, so it is
        among these lines, but others may be between them: what is held back waits for it until the end.
        """
        held: list[Event] = []
        for found in lines_with(query, self._file, AGENTS[self._stretch.identity.key.agent].spills):
            yield None
            if found is None:
                continue
            line, is_whole = found
            if not self._state:
                events, held = self._beginning()
                yield from ((event, self._metadata) for event in events)
            if line.offset >= self._head:
                events, waiting = self._translated(line, is_whole=is_whole)
                yield from ((event, self._metadata) for event in events)
                held = [*_unsaid(held, events), *waiting]
        yield from ((event, self._metadata) for event in held)

    def call_near(self, name: str, at: int) -> Event | None:
        """Return the call with this id whose result is at an offset, None if none of the nearest lines has it.

        Those before it count first. Those of the beginning are not looked at: a search has seen them all.
        """
        if not self._state:
            self._beginning()
        for size in _NEAR:
            begin = max(self._head, at - size)
            data = self._file.read(Cursor(begin), at - begin).data if begin < at else b""
            lines = _lines_back(data, name.encode(), begin, is_cut=begin > self._head)
            if (call := self._first_call(lines, name)) is not None:
                return call
        return self._call_of_result(at) or self._call_behind(name, at)

    def _call_behind(self, name: str, at: int) -> Event | None:
        """Return the call with this id in the lines behind its result: a client may write that first."""
        begin = max(self._head, self._file.read(Cursor(at), 1).cursor.offset)
        for size in _NEAR:
            lines = [*_lines_back(self._file.read(Cursor(begin), size).data, name.encode(), begin, is_cut=False)]
            if (call := self._first_call(reversed(lines), name)) is not None:
                return call
        return None

    def _call_of_result(self, at: int) -> Event | None:
        """Return the call of the only result at an offset; without an id, the records before it tell which that is."""
        begin = max(self._head, at - _NEXT)
        before = self._file.read(Cursor(begin), at - begin).lines[begin > self._head :] if begin < at else []
        lines = [*before, *self._file.read(Cursor(at), 1).lines[:1]]
        calls, results = dict[str, Event](), list[str]()
        for event in self._stream().events(self._stretch, lines):
            if event.kind == ev.TOOL_CALL:
                calls[event.payload["toolCallId"]] = event
            elif event.kind == ev.TOOL_RESULT and event.source.get("offset") == at:
                results.append(event.payload["toolCallId"])
        return calls.get(results[0]) if len(results) == 1 else None

    def _first_call(self, lines: Iterable[Line], name: str) -> Event | None:
        return next(filter(None, (self._call_in(line, name) for line in lines)), None)

    def _call_in(self, line: Line, name: str) -> Event | None:
        events = chain.from_iterable(self._translated(line, is_whole=True))
        calls = (event for event in events if event.kind == ev.TOOL_CALL)
        return next((call for call in calls if call.payload["toolCallId"] == name), None)

    def _beginning(self) -> tuple[list[Event], list[Event]]:
        """Return the events of the beginning, and those that the adapter holds back at its end."""
        stream = SessionStream(self._stretch.identity.key, NoDedup(), EventLog(), whole=False, gaps=True)
        batch = self._file.read(Cursor(), _HEAD)
        events = list(stream.events(self._stretch, batch.lines))
        self._head = batch.cursor.offset
        self._metadata = stream.metadata
        self._state = orjson.dumps(stream.open(self._stretch).state())
        return events, list(stream.rest(self._stretch, None))

    def _translated(self, line: Line, *, is_whole: bool) -> tuple[list[Event], list[Event]]:
        """Return the events of one line, and those that the adapter holds back."""
        stream = self._stream()
        events = list(stream.events(self._stretch, [line])) if is_whole else []
        return events, list(stream.rest(self._stretch, None if is_whole else line))

    def _stream(self) -> SessionStream:
        """Return a stream that goes on behind the beginning."""
        stream = SessionStream(self._stretch.identity.key, NoDedup(), EventLog(), whole=False, gaps=True)
        stream.open(self._stretch, orjson.loads(self._state))
        return stream


def _lines_back(data: bytes, sought: bytes, start: int, *, is_cut: bool) -> Iterator[Line]:
    """Yield the lines of some bytes that contain others, the last first, but for the first line if that is cut."""
    at = data.rfind(sought)
    while at >= 0:
        begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        if begin or not is_cut:
            yield Line(start + begin, start + end + 1, strip_record(data[begin:end], start + begin))
        at = data.rfind(sought, 0, begin)


def _unsaid(held: list[Event], events: list[Event]) -> list[Event]:
    """Return the events that were held back, without those that others say again, perhaps split at commands."""
    said = [_said(event) for event in events] if held else []
    typed = " ".join(line for kind, line in said if kind == ev.USER_MESSAGE)
    return [event for event in held if _said(event) not in (*said, (ev.USER_MESSAGE, typed))]


def _said(event: Event) -> tuple[str, str]:
    """Return the kind of an event and its words in one line; a command is a message, as it was typed."""
    if event.kind == ev.USER_COMMAND:
        return ev.USER_MESSAGE, " ".join(event.payload["line"].split())
    return event.kind, " ".join(words_of(event).split())
