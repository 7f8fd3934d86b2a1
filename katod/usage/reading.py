"""Reads tokens and costs of a session file. Where its agent allows it, only lines that may have some are decoded."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.agents.spec import SPAWNED
from katod.errors import AgentFailed
from katod.events import Event
from katod.formats.eventlines import is_event
from katod.formats.text.when import When, utc
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import START, Cursor, Identity, Line
from katod.record.export import Stretch, replay
from katod.tail.decode import decode, strip_record
from katod.tail.reader import Batch, SourceFile
from katod.usage.source import SourceUsage

_CHUNK: Final = 1024 * 1024  # bytes
_USAGE, _START = (f'"kind":"{kind}"'.encode() for kind in (ev.USAGE, ev.SESSION_START))
_HEAD: Final = 64 * 1024  # bytes in which a session says where it works


class SourceHead(NamedTuple):
    """What a source says of its session: the directory, its id, and the session that it goes on from or works for."""

    project: str = ""
    session: str = ""  # its path may have only a part of it
    parent: str = ""
    is_spawned: bool = False

    @classmethod
    def of(cls, metadata: SessionMetadata, name: str = "") -> "SourceHead":
        """Return what is known of a session; `name` is what it calls itself, if not like its path."""
        start = metadata.start
        return cls(start.cwd, name or start.session, start.parent, start.origin == SPAWNED)


class UsageReader:
    """Reads sources. `key_of` makes a key of the name of an answer; days are those of a time zone."""

    def __init__(self, zone: str, key_of: Callable[[str], int]) -> None:
        self._zone = When(zone)
        self._key_of = key_of
        self._days: dict[str, int] = {}

    def read(
        self, path: str, identity: Identity, changed_ns: int, usage: SourceUsage, start: Cursor = START
    ) -> tuple[SourceHead, Cursor]:
        """Add what a source has after a cursor to its usage; return its head, and where reading may resume.

        Raises SourceChanged if what is before the cursor is not what was read, SourceError if it cannot be read.
        """
        spec, source = AGENTS[identity.key.agent], _UsageSource(path, identity, usage.adapter)
        changed = self._day(utc(changed_ns / 1e9))
        keys: dict[str, int] = {}
        with (spec.open_usage or spec.open)(path) as file:
            for event in source.events(file, start):
                if event.id not in keys:  # a record that is written again keeps its id, and may be said to be newer
                    keys[event.id] = self._key_of(event.dedup_key or event.id)
                usage.take(keys[event.id], self._day(event.time) or changed, event.model, event.payload, spec.answers)
        usage.adapter = source.adapter
        return SourceHead.of(source.metadata, source.name), source.cursor

    def read_exported(
        self, lines: Iterable[bytes], identity: Identity, changed_ns: int, usage: SourceUsage
    ) -> SourceHead:
        """Add what the events of a session have, as katod exported them, to its usage; return its head."""
        changed, answers = self._day(utc(changed_ns / 1e9)), AGENTS[identity.key.agent].answers
        metadata = SessionMetadata(identity.key)
        for event in _exported(lines, (_USAGE, _START)):
            if event.kind == ev.SESSION_START:
                metadata.observe(event)
            elif event.kind == ev.USAGE:
                key, day = self._key_of(_without_session(event)), self._day(event.time) or changed
                usage.take(key, day, event.model, event.payload, answers)
        return SourceHead.of(metadata)

    def _day(self, time: str) -> int:
        """Return the day of a time, 0 if it has none."""
        day = self._zone.day(time) if time else ""
        if day and day not in self._days:
            self._days[day] = date.fromisoformat(day).toordinal()
        return self._days.get(day, 0)


def _exported(lines: Iterable[bytes], signs: tuple[bytes, ...]) -> Iterator[Event]:
    """Yield the events of the lines that contain one of some bytes; what is no event is left out."""
    for line in lines:
        if is_event(line) and any(sign in line for sign in signs):
            with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                yield ev.from_json(orjson.loads(line))


def _without_session(event: Event) -> str:
    """Return the id of an event without its session, which copies of it have, too, where records have ids."""
    agent, session = event.session.agent, event.session.id
    if not AGENTS[agent].nature.has_native_ids:
        return event.id
    return f"{agent}:{event.id.removeprefix(f'{agent}:{session}:')}"


def read_head(path: str, identity: Identity) -> SourceHead:
    """Return what the beginning of a source says of its session. Raises SourceError."""
    metadata = SessionMetadata(identity.key)
    is_file = not AGENTS[identity.key.agent].is_contained(path)
    stretch = Stretch(path, identity, _HEAD if is_file else None)
    for event, _ in replay(identity.key, [stretch], EventLog()):
        if event.kind == ev.SESSION_START:
            metadata.observe(event)
            if metadata.cwd:
                break
    return SourceHead.of(metadata)


def exported_head(lines: Iterable[bytes], identity: Identity) -> SourceHead:
    """Return what the first event of an exported session that says so says of it."""
    metadata = SessionMetadata(identity.key)
    for event in _exported(lines, (_START,)):
        metadata.observe(event)
        if metadata.cwd:
            break
    return SourceHead.of(metadata)


class _UsageSource:
    """Translates a source as far as its usage needs it; `cursor` is where reading may resume, `adapter` with what."""

    def __init__(self, path: str, identity: Identity, adapter: dict[str, Any]) -> None:
        self.metadata = SessionMetadata(identity.key)
        self.cursor = START
        self.adapter = adapter
        self.name = ""
        self._stretch = Stretch(path, identity)
        self._spec = AGENTS[identity.key.agent]

    def events(self, file: SourceFile, start: Cursor) -> Iterator[Event]:
        """Yield the events about usage after a cursor, and observe how the session starts."""
        answers = self._spec.answers
        lines = _SomeLines(file, answers.usage_signs, all_to_start=answers.usage_from_start and not start.offset)
        for event in self._some(lines, start) if answers.usage_signs else self._whole():
            if event.kind == ev.USAGE:
                yield event
            elif event.kind == ev.SESSION_START:
                self.metadata.observe(event)
                self.name = self.name or event.payload.get("id", "")

    def _whole(self) -> Iterator[Event]:
        return (event for event, _ in replay(self.metadata.key, [self._stretch], EventLog()))

    def _some(self, lines: "_SomeLines", start: Cursor) -> Iterator[Event]:
        adapter = self._spec.adapter(Origin(self._stretch.identity, Path(self._stretch.path)), self.adapter or None)
        for line in lines.after(start):
            for record in decode(line):
                try:
                    events = [] if record.value is None else adapter.feed_usage(record)
                except AgentFailed:  # it affects only one record
                    continue
                for event in events:
                    lines.all_to_start = lines.all_to_start and event.kind != ev.SESSION_START
                    yield event
        self.cursor, self.adapter = lines.cursor, adapter.usage_state()
        yield from adapter.finish()


class _SomeLines:
    """The lines of a file that contain one of some bytes; `cursor` is after the last complete line.

    All lines are yielded as long as `all_to_start` is true.
    """

    def __init__(self, file: SourceFile, signs: tuple[bytes, ...], *, all_to_start: bool) -> None:
        self.cursor = START
        self.all_to_start = all_to_start
        self._file = file
        self._signs = signs

    def after(self, start: Cursor) -> Iterator[Line]:
        """Yield the lines after a cursor, and the last one even if it is not terminated. Raises SourceChanged."""
        if start.offset:
            self._file.verify_anchor(start)
        self.cursor, more = start, True
        while more:
            batch = self._file.read(self.cursor, _CHUNK)
            yield from self._in(batch)
            more, self.cursor = batch.more and batch.cursor != self.cursor, batch.cursor
        last = self._file.rest(self.cursor.offset)
        if last is not None and self._has_sign(last):
            yield last

    def _has_sign(self, line: Line) -> bool:
        return self.all_to_start or any(sign in line.data for sign in self._signs)

    def _in(self, batch: Batch) -> Iterator[Line]:
        if not batch.data:
            yield from (line for line in batch.lines if self._has_sign(line))
            return
        after = 0
        for line in batch.lines if self.all_to_start else ():
            yield line
            after = line.end - batch.start
            if not self.all_to_start:
                break
        spans = {span for sign in self._signs for span in _around(batch.data, sign, after)}
        for begin, end in sorted(spans):
            offset = batch.start + begin
            yield Line(offset, batch.start + end + 1, strip_record(batch.data[begin:end], offset))


def _around(data: bytes, sign: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yield where the lines that contain a sign begin and end, from a place on."""
    while (found := data.find(sign, at)) >= 0:
        begin, end = data.rfind(b"\n", 0, found) + 1, data.find(b"\n", found)
        at = len(data) if end < 0 else end
        yield begin, at
