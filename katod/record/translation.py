"""From the lines of one source to the messages in them: decoded, adapted, split at typed commands, counted."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import UNEXPECTED, Origin
from katod.command.split import split
from katod.errors import AgentFailed
from katod.events import Event
from katod.formats.redact.redactor import redact
from katod.formats.text.controls import clean
from katod.log import EventLog
from katod.metadata import Counts, SessionMetadata
from katod.model import Identity, Line, NearMiss, Record
from katod.receipt import MISSING_PARENT, Became, SourceCount, left_out, place_at, told, told_later
from katod.record.echo import Message
from katod.tail.decode import decode
from katod.titles import title_of

Answer = TypeVar("Answer")


class Readable(Protocol):
    """What a stream needs to know about a source."""

    @property
    def path(self) -> str:
        """Its path."""

    @property
    def identity(self) -> Identity:
        """The session it belongs to."""


class Translation:
    """The adapter of one source: decodes its lines, adapts the records, splits typed text at its commands."""

    def __init__(
        self, source: Readable, metadata: SessionMetadata, log: EventLog, state: dict[str, Any] | None = None
    ) -> None:
        """Begin with a source, or go on from a state."""
        origin = Origin(source.identity, Path(source.path))
        self._spec = AGENTS[source.identity.key.agent]
        self._adapter = self._spec.adapter(origin, state)
        self._key = str(source.identity.key)
        self._log = log
        self._metadata = metadata
        self._near_misses: list[tuple[Event, NearMiss]] = []
        self.counts = Counts()
        tally = metadata.tally
        self.records = SourceCount(None, source.path) if tally is None else tally.source(source.path)
        if state is None:
            self.records.begin_reading()

    @property
    def version(self) -> int:
        """The version of the adapter."""
        return self._adapter.version

    def state(self) -> dict[str, Any]:
        """Return the adapter's state."""
        return self._adapter.state()

    def take_near_misses(self) -> list[tuple[Event, NearMiss]]:
        """Return the lines since the last call that looked like commands but were not, with their messages."""
        taken, self._near_misses = self._near_misses, []
        return taken

    def has_pending(self) -> bool:
        """Return whether text is held back for a later record."""
        return self._adapter.has_pending()

    def feed(self, lines: Iterable[Line]) -> Iterator[Message]:
        """Yield the messages of these lines.

        Lazy on purpose: each event has to be part of the metadata before the next one is made, so that a head never
        depends on how much was read at once.
        """
        for line in lines:
            for record in decode(line):
                if record.value is None:
                    self._log.record_malformed(self._key, record.offset, record.problem)
                events = self._adapt(record, line)
                for event in self._counted(record, events):
                    self.counts = self.counts.add(event)
                    yield self._message(event)
                self.records.end()

    def _counted(self, record: Record, events: list[Event]) -> Iterable[Event]:
        """Return the events of a record, which counts with the first new one; of a document, the parts count."""
        if self._metadata.tally is None:
            return events
        if self._adapter.parts:
            return self._counted_parts(events)
        self._count(record, events)
        return events

    def _count(self, record: Record, events: list[Event]) -> None:
        if not record.offset and not record.part:
            self.records.begin_reading()
        # An adapter may also return what it held back of an earlier record.
        own, place = [event for event in events if event.source.get("offset") == record.offset], place_at(record.offset)
        if own:
            self.records.begin(self._became(record, own), place)
        elif self._call(self._adapter.holds, record):
            self.records.hold(told(()), place)
        else:
            self.records.skip(self._left_out(record))

    def _counted_parts(self, events: list[Event]) -> Iterator[Event]:
        """Yield the events of a document. A message may get more of them, so its first one says what became of it."""
        parts = list(self._adapter.parts)
        first = {id(part[1][0]): number for number, part in enumerate(parts) if part[1]}
        counted = 0
        self.records.begin_reading()
        for event in events:
            number = first.get(id(event), -1)
            for record, own in parts[counted : number + 1]:
                if own:
                    self.records.begin(self._became(record, own[:1]))
                else:
                    holds = self._call(self._adapter.holds, record)
                    self.records.skip(told(()) if holds else self._left_out(record))
            if number < counted and (later := told_later(event)):
                self.records.begin_more(later)
            counted = max(counted, number + 1)
            yield event
            self.records.end()

    def _became(self, record: Record, events: list[Event]) -> Became:
        """Return what became of a record with these events."""
        is_cut = events[0].kind == ev.SESSION_START and self._call(self._adapter.lacks_parent, record)
        return (*told(events), MISSING_PARENT) if is_cut else told(events)

    def _left_out(self, record: Record) -> Became:
        name = self._call(self._adapter.name, record)
        return left_out(UNEXPECTED if name is None else name)

    def _call(self, about: Callable[[Record], Answer], record: Record) -> Answer | None:
        """Return what the adapter says about a record; None if it fails, which affects only how it is counted."""
        try:
            return about(record)
        except AgentFailed as error:
            self._log.record_unexpected(self._key, record.offset, type(error.__cause__).__name__)
            return None

    def feed_if_whole(self, line: Line) -> Iterator[Message]:
        """Yield the messages of an unterminated line if it is a complete record nevertheless."""
        records = decode(line)
        if records and all(record.value is not None for record in records):
            yield from self.feed([line._replace(records=tuple(records))])

    def finish(self) -> list[Message]:
        """Return the pending events of a source that is complete."""
        try:
            found = self._adapter.finish()
        except AgentFailed as error:
            self._log.record_unexpected(self._key, 0, type(error.__cause__).__name__)
            return []
        return list(map(self._message, found))

    def _adapt(self, record: Record, line: Line) -> list[Event]:
        try:
            events = self._adapter.feed(record)
        except AgentFailed as error:  # it affects only one record
            self._log.record_unexpected(self._key, record.offset, type(error.__cause__).__name__)
            raw = line.data.decode("utf-8", "replace")
            return self._adapter.feed(Record(record.offset, None, record.part, raw, UNEXPECTED))
        for event in events:
            if event.kind == ev.PROVIDER_RAW and event.payload["rawType"] == UNEXPECTED:
                self._log.record_unexpected(self._key, record.offset, "a part of it")
        return events

    def _message(self, event: Event) -> Message:
        if event.kind != ev.USER_MESSAGE:
            take_name(self._metadata, event)
            return (event,)
        heard = event if self._spec.commands else event._replace(typed=False)
        parts = split(heard, marks_pastes=self._spec.marks_pastes)
        self._near_misses += ((heard, miss._replace(message=heard.dedup_key)) for miss in parts.near_misses)
        if event.session.subagent == self._metadata.key.subagent:
            set_title(self._metadata, parts.words, event)
        return tuple(parts.events)


def take_name(metadata: SessionMetadata, event: Event) -> None:
    """Note the name that an agent gives the session, and the heading of a plan that it begins with: both redacted."""
    payload = event.payload
    if event.kind == ev.CONFIG_CHANGE and payload["what"] == "title":
        metadata.set_named(clean(redact(payload["after"])))
    elif ev.is_plan(event) and not metadata.title and event.session.subagent == metadata.key.subagent:
        metadata.set_plan(clean(redact(payload["text"])))


def set_title(metadata: SessionMetadata, words: str, event: Event) -> None:
    """Set the title from the first text. It is always redacted, as it is also in the ledger and in file names."""
    if not metadata.title and title_of(words):  # redacting words that say nothing would cost much more
        metadata.set_title(clean(redact(words)), event)
