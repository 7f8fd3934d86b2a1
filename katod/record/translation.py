"""From the lines of one source to the messages in them: decoded, adapted, split at typed commands, counted, in order.

`CallOrder` puts results after their calls. A client may write the result of a call before the call itself: Claude Code
2.1.98 to 2.1.177 does, one or two records before. Whatever shows a session relies on the order, so it is restored
before anything else sees the events, but after those of an echo are left out: they may have results without their
calls.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import UNEXPECTED, Origin
from katod.command.grammar import split
from katod.errors import AgentFailed
from katod.events import Event, pack, unpack
from katod.formats.redact.redactor import redact
from katod.log import EventLog
from katod.metadata import Counts, SessionMetadata, title_of
from katod.model import LONGEST_NAME, Identity, Line, NearMiss, Record
from katod.receipt import MISSING_PARENT, RecordOutcome, SourceCount, left_out, place_at, translated, translated_later
from katod.record.echo import Message, Passed
from katod.tail.decode import decode
from katod.text import clean

_MOST_OPEN: Final = 256  # calls
_MOST_ENDED: Final = 16  # calls that may have a second result
_PATIENCE: Final = 8  # events; a call was never seen more than two records after its result
# What is made of the record of a result.
_OF_RESULTS: Final = frozenset({ev.TOOL_RESULT, ev.DECISION_RESPONSE, ev.AGENT_START, ev.AGENT_END})
# What may say what the session is called.
_NAMING: Final = frozenset({ev.CONFIG_CHANGE, ev.ASSISTANT_MESSAGE})
_ENDS: Final = frozenset({ev.TURN_END, ev.SESSION_END, ev.COMPACTION, ev.USER_COMMAND})
Answer = TypeVar("Answer")


class CallOrder:
    """Follows the events of one session. A result waits for its call, for a few events at most.

    It also stops waiting when the user says something, the turn ends, or the context is compacted: there is no call.
    """

    __slots__ = ("_ended", "_held", "_here", "_open", "_waited")

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        """Start before the first event, or go on from `kept()`."""
        kept = kept or {}
        self._open: dict[str, None] = dict.fromkeys(kept.get("open", ()))
        self._ended: dict[str, None] = dict.fromkeys(kept.get("ended", ()))
        self._held: dict[str, list[Passed]] = {
            call: [Passed(unpack(row), path) for row, path in rows] for call, rows in kept.get("held", {}).items()
        }
        # The call of a result that waits, and its record, while that is taken.
        self._here: tuple[str, tuple[str, int | None]] = ("", ("", None))
        self._waited: int = kept.get("waited", 0)  # events since something is held

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON, without empty fields."""
        held = {call: [[pack(one.event), one.path] for one in events] for call, events in self._held.items()}
        row = {"open": list(self._open), "ended": list(self._ended), "held": held, "waited": self._waited}
        return {name: value for name, value in row.items() if value}

    def has_pending(self, path: str) -> bool:
        """Return whether a result of the source at a path waits for its call."""
        return any(one.path == path for events in self._held.values() for one in events)

    def restart(self, path: str) -> None:
        """Note that a source is read from its beginning again: what waits of it will come again."""
        rest = {call: [one for one in events if one.path != path] for call, events in self._held.items()}
        self._held = {call: events for call, events in rest.items() if events}
        self._waited = self._waited if self._held else 0

    def know(self, event: Event) -> None:
        """Note an event that passed before, without being taken."""
        if event.kind == ev.TOOL_CALL and event.payload["toolCallId"] not in self._held:
            self._begin(event.payload["toolCallId"])

    def take(self, one: Passed) -> list[Passed]:
        """Return the events that do not wait any longer, in order, with this one unless it waits."""
        if self._holds(one):
            return []
        one = self._below(one) if self._held else one
        event = one.event
        out = [*self.settle(), one] if self._held and _is_over(event) else [one]
        if event.kind == ev.TOOL_CALL:
            out += self._begin(event.payload["toolCallId"])
        return [*out, *self._wait()] if self._held else out

    def settle(self) -> list[Passed]:
        """Return all that waits, in order: no call will come."""
        held, self._held, self._waited = self._held, {}, 0
        return [one for events in held.values() for one in events]

    def _holds(self, one: Passed) -> bool:
        """Hold a result whose call is not known, and what is made of its record; return whether this event is held."""
        event = one.event
        if event.kind not in _OF_RESULTS:
            return False
        record = one.path, event.source.get("offset")
        if event.kind == ev.TOOL_RESULT:
            call = event.payload["toolCallId"]
            self._here = ("" if self._end(call) else call, record)
        call, of = self._here
        if not call or of != record:
            return False
        held = self._held.setdefault(call, [])
        if all(other.event.id != event.id for other in held):  # else it is written again while it waits
            held.append(one)
        return True

    def _below(self, one: Passed) -> Passed:
        """Return an event with the nearest of its ancestors that does not wait: the others come after it."""
        source = one.event.source
        waiting = {held.event.source.get("providerEventId"): held for events in self._held.values() for held in events}
        above = _above(one)
        if above not in waiting:
            return one
        while above in waiting:
            above = _above(waiting.pop(above))
        kept = {name: value for name, value in source.items() if name != "ancestorId"}
        return one._replace(event=one.event._replace(source=kept | ({"ancestorId": above} if above else {})))

    def _begin(self, call: str) -> list[Passed]:
        """Note a call; return its result, if that waits."""
        if call in self._held:
            _add(self._ended, call, _MOST_ENDED)
            released = self._held.pop(call)
            self._waited = self._waited if self._held else 0
            return released
        if len(call) <= LONGEST_NAME:
            _add(self._open, call, _MOST_OPEN)
        return []

    def _end(self, call: str) -> bool:
        """Note a result; return whether its call is known, or there cannot be any."""
        if call in self._open:
            del self._open[call]
            _add(self._ended, call, _MOST_ENDED)
            return True
        return not 0 < len(call) <= LONGEST_NAME or call in self._ended

    def _wait(self) -> list[Passed]:
        self._waited += 1
        return self.settle() if self._waited > _PATIENCE else []


def _above(one: Passed) -> str:
    """Return the nearest ancestor of an event that is one, empty if it has none."""
    source = one.event.source
    above: str = source.get("ancestorId") or source.get("parentId", "")
    return above


def _add(calls: dict[str, None], call: str, most: int) -> None:
    """Add a call to the known ones; of too many, the oldest is forgotten."""
    calls[call] = None
    if len(calls) > most:
        del calls[next(iter(calls))]


def _is_over(event: Event) -> bool:
    """Return whether an event ends the wait for any call."""
    return event.kind in _ENDS or (event.kind == ev.USER_MESSAGE and event.typed)


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
                self.counts = self.counts.plus(events)
                for event in events if self._metadata.tally is None else self._counted(record, events):
                    yield self._message(event)
                self.records.end()

    def _counted(self, record: Record, events: list[Event]) -> Iterable[Event]:
        """Return the events of a record, which counts with the first new one; of a document, the parts count."""
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
            self.records.hold(translated(()), place)
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
                    self.records.skip(translated(()) if holds else self._left_out(record))
            if number < counted and (later := translated_later(event)):
                self.records.begin_more(later)
            counted = max(counted, number + 1)
            yield event
            self.records.end()

    def _became(self, record: Record, events: list[Event]) -> RecordOutcome:
        """Return what became of a record with these events."""
        is_cut = events[0].kind == ev.SESSION_START and self._call(self._adapter.lacks_parent, record)
        return (*translated(events), MISSING_PARENT) if is_cut else translated(events)

    def _left_out(self, record: Record) -> RecordOutcome:
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
        if event.kind == ev.USER_MESSAGE:
            return self._split(event)
        if event.kind in _NAMING:
            take_name(self._metadata, event)
        return (event,)

    def _split(self, event: Event) -> Message:
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
