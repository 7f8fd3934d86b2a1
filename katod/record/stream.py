"""One pass over the events of a session: from the lines of its sources to events, each exactly once.

Live recording, backfill, catch-up, replay and resync all read through `SessionStream`. They differ in what counts as
already seen (the `Seen` policies) and in what they do with an event.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin, fingerprint
from katod.command.split import split
from katod.events import Event
from katod.formats.mdtext import clean
from katod.formats.redact.redactor import redact
from katod.log import EventLog
from katod.metadata import Counts, SessionMetadata
from katod.model import Identity, Line, NearMiss, Record, SessionKey
from katod.store.ledger import Ledger, id_hash
from katod.store.rows import SeenRow, SessionRow
from katod.tail.decode import decode

# Kinds with content, or an id, of their own: turns, for example, all begin alike.
DISTINCTIVE: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT})


class Readable(Protocol):
    """What a stream needs to know about a source."""

    @property
    def path(self) -> str:
        """Its path."""

    @property
    def identity(self) -> Identity:
        """The session it belongs to."""


class Seen(Protocol):
    """What a stream counts as already seen."""

    def admit(self, event: Event, source: Any) -> bool:
        """Return whether the event is new to the stream, and remember it."""


class SessionStream:
    """A position in a session: its metadata so far, and an adapter for each of its sources."""

    def __init__(self, key: SessionKey, seen: Seen, log: EventLog, metadata: dict[str, Any] | None = None) -> None:
        self.metadata = SessionMetadata(key, metadata)
        self.seen = seen
        self._log = log
        self._translations: dict[Readable, Translation] = {}

    def open(self, source: Readable, state: dict[str, Any] | None = None) -> "Translation":
        """Return the translation of a source; if there is none yet, it starts with the given state."""
        found = self._translations.get(source)
        if found is None:
            found = self._translations[source] = Translation(source, self.metadata, self._log, state)
        return found

    def restart(self, source: Readable) -> None:
        """Translate a source from its beginning again."""
        self._translations.pop(source, None)

    def events(
        self, source: Readable, lines: Iterable[Line], *, seen: Seen | None = None, refold: bool = False
    ) -> Iterator[Event]:
        """Yield the events of these lines that were not seen before.

        While an event is being processed, the metadata includes it, and the call that it is a result of is still open.
        With `refold`, events seen before also update the metadata: a document is read again from its beginning, by a
        stream that may know nothing about it.
        """
        return self._new(self.open(source).feed(lines), source, seen or self.seen, refold=refold)

    def rest(self, source: Readable, line: Line | None) -> Iterator[Event]:
        """Yield the events at the end of a complete source: of an unterminated last line, and those held back."""
        translation = self.open(source)
        if line is not None:
            yield from self._new(translation.feed_if_whole(line), source, self.seen)
        yield from self._new(translation.finish(), source, self.seen)

    def _new(self, events: Iterable[Event], source: Readable, seen: Seen, *, refold: bool = False) -> Iterator[Event]:
        for event in events:
            if seen.admit(event, source):
                self.metadata.observe(event)
                yield event
                self.metadata.close(event)
            elif refold:
                self.metadata.fold(event)

    def has_pending(self) -> bool:
        """Return whether text is held back for a later record."""
        return any(translation.has_pending() for translation in self._translations.values())


class Translation:
    """The adapter of one source: decodes its lines, adapts the records, splits typed text at its commands."""

    def __init__(
        self, source: Readable, metadata: SessionMetadata, log: EventLog, state: dict[str, Any] | None = None
    ) -> None:
        origin = Origin(source.identity, Path(source.path))
        self._adapter = AGENTS[source.identity.key.agent].adapter(origin, state)
        self._key = str(source.identity.key)
        self._log = log
        self._metadata = metadata
        self._near_misses: list[NearMiss] = []
        self.counts = Counts()

    @property
    def version(self) -> int:
        """The version of the adapter."""
        return self._adapter.version

    def state(self) -> dict[str, Any]:
        """Return the adapter's state."""
        return self._adapter.state()

    def take_near_misses(self) -> list[NearMiss]:
        """Return the lines since the last call that looked like commands but were not."""
        taken, self._near_misses = self._near_misses, []
        return taken

    def has_pending(self) -> bool:
        """Return whether text is held back for a later record."""
        return self._adapter.has_pending()

    def feed(self, lines: Iterable[Line]) -> Iterator[Event]:
        """Yield the events of these lines.

        Lazy on purpose: each event has to be part of the metadata before the next one is made, so that a head never
        depends on how much was read at once.
        """
        for line in lines:
            for record in decode(line):
                if record.value is None:
                    self._log.record_malformed(self._key, record.offset, record.problem)
                for event in self._adapt(record, line):
                    self.counts = self.counts.add(event)
                    if event.kind == ev.USER_MESSAGE:
                        yield from self._split(event)
                    else:
                        yield event

    def feed_if_whole(self, line: Line) -> Iterator[Event]:
        """Yield the events of an unterminated line if it is a complete record nevertheless."""
        records = decode(line)
        if records and all(record.value is not None for record in records):
            yield from self.feed([line._replace(records=tuple(records))])

    def finish(self) -> list[Event]:
        """Return what was held back, for a source that is complete."""
        try:
            events = self._adapter.finish()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - an adapter's failure affects only one record
            self._log.record_unexpected(self._key, 0, type(error).__name__)
            return []
        return [part for event in events for part in (self._split(event) if event.kind == ev.USER_MESSAGE else [event])]

    def _adapt(self, record: Record, line: Line) -> list[Event]:
        try:
            return self._adapter.feed(record)
        except MemoryError:
            raise  # a problem of the machine, not of the record
        except Exception as error:  # noqa: BLE001 - an adapter's failure affects only one record
            self._log.record_unexpected(self._key, record.offset, type(error).__name__)
            raw = line.data.decode("utf-8", "replace")
            return self._adapter.feed(Record(record.offset, None, record.part, raw, "unexpected shape"))

    def _split(self, event: Event) -> list[Event]:
        parts = split(event)
        self._near_misses += parts.near_misses
        if event.session.subagent == self._metadata.key.subagent:
            set_title(self._metadata, parts.words, event)
        return parts.events


def set_title(metadata: SessionMetadata, words: str, event: Event) -> None:
    """Set the title from the first text. It is always redacted, as it is also in the ledger and in file names."""
    if not metadata.title:
        metadata.set_title(clean(redact(words)), event)


# -- what counts as already seen --------------------------------------------------------------------


class NeverSeen:
    """Admits every event: for single passes in which nothing can occur twice, or everything counts."""

    def admit(self, _event: Event, _source: Any) -> bool:
        """Return True."""
        return True


class SeenHere:
    """Admits each id once within one pass: for replays."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def admit(self, event: Event, _source: Any) -> bool:
        """Return whether the id is new."""
        hashed = hash(event.id)  # only compared within this process, and much cheaper than id_hash
        if hashed in self._hashes:
            return False
        self._hashes.add(hashed)
        return True


class SeenByFollower:
    """Admits what a process that follows a session has not seen yet, whatever happens to its sources: for `follow`.

    With native ids, each id once. Without them everything is admitted, until a source is read again from its beginning:
    then its events are compared with the known ones in their order, by their content, for as long as they repeat them.
    """

    def __init__(self, *, native_ids: bool) -> None:
        self._native_ids = native_ids
        self._ids: set[int] = set()  # native ones
        self._places: dict[int, list[int]] = {}  # of contents, without native ids
        self._count = 0
        self._again: dict[Any, _Again] = {}

    @property
    def count(self) -> int:
        """How many events were admitted."""
        return self._count

    def admit(self, event: Event, source: Any) -> bool:
        """Return whether the event is new."""
        if self._native_ids:
            return self._admit_id(hash(event.id))
        hashed = hash(fingerprint(event))
        places, again = self._places.get(hashed, []), self._again.get(source)
        is_known = again is not None and again.repeats(places, distinctive=event.kind in DISTINCTIVE)
        if not is_known:
            self._places.setdefault(hashed, []).append(self._count)
            self._count += 1
        return not is_known

    def _admit_id(self, hashed: int) -> bool:
        if hashed in self._ids:
            return False
        self._ids.add(hashed)
        self._count += 1
        return True

    def restart(self, source: Any) -> None:
        """Note that a source is read from its beginning again."""
        self._again[source] = _Again(self._count)

    def settle(self, source: Any) -> None:
        """Note that a source was read to its end; what follows is new, unless it was still repeating known events."""
        if (again := self._again.get(source)) is not None and again.is_over:
            del self._again[source]


class _Again:
    """How far a source that is read again repeats the events known before, of which there are `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._at = -1
        self._has_new = False

    def repeats(self, places: list[int], *, distinctive: bool) -> bool:
        """Return whether an event that was seen at these places repeats one of them."""
        place = next((place for place in places if self._at < place < self._limit), None)
        if place is None:
            self._has_new |= distinctive
            return False
        if distinctive or place == self._at + 1:
            self._at = place
            self._has_new = False
        return True

    @property
    def is_over(self) -> bool:
        """Whether it has repeated all of them, or went on with something new."""
        return self._has_new or self._at >= self._limit - 1


class SeenInLedger:
    """Admits what is new to the ledger for a session, and numbers it: for live recording.

    With native ids, a record that is written again is recognised by its id. Otherwise an id is a position and cannot
    recur: every event is admitted, and its content is remembered for a resync.
    """

    def __init__(self, session: SessionRow, ledger: Ledger) -> None:
        self._session = session
        self._ledger = ledger
        self._native_ids = AGENTS[session.key.agent].nature.has_native_ids
        self._new: list[SeenRow] = []
        self._fresh: set[int] = set()
        self._backfilled = 0

    def admit(self, event: Event, source: Any) -> bool:
        """Return whether this event is new to the session."""
        if not self._native_ids:
            hashed = id_hash(fingerprint(event))
        else:
            hashed = id_hash(event.id)
            if hashed in self._fresh or self._ledger.place(self._session.id, hashed) is not None:
                return False
            self._fresh.add(hashed)
        self._new.append(SeenRow(self._session.id, hashed, self._session.seq, source.id))
        self._session.seq += 1
        return True

    def knows(self, event: Event) -> bool:
        """Return whether an event with a native id is in the ledger."""
        return self._ledger.place(self._session.id, id_hash(event.id)) is not None

    def backfill(self, event: Event, source: Any) -> None:
        """Note an event that was only scanned before; positions are counted, so that none is noted twice."""
        if self._native_ids:
            self.admit(event, source)
            return
        if self._backfilled >= self._session.seq:
            self.admit(event, source)
        self._backfilled += 1

    def save(self) -> None:
        """Store what is new, within the step's transaction."""
        self._ledger.add_seen(self._new)

    def saved(self) -> None:
        """Forget what the ledger now has."""
        self._new.clear()
        self._fresh.clear()


class SeenWhenScanned:
    """Admits what was only scanned so far, and notes it for the live stream: for backfills.

    With `known_only`, events that are not in the ledger are left out: a document is read as a whole, and newer content
    is read again from where reading resumes.
    """

    def __init__(self, live: SeenInLedger, *, known_only: bool) -> None:
        self._live = live
        self._known_only = known_only

    def admit(self, event: Event, source: Any) -> bool:
        """Return whether the event belongs to the backfill."""
        if self._known_only and not self._live.knows(event):
            return False
        self._live.backfill(event, source)
        return True
