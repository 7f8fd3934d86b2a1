"""One pass over the events of a session: from the lines of its sources to events, each exactly once.

Live recording, backfill, catch-up, replay and resync all read through `SessionStream`. They differ in what counts as
already seen (the `EventDedup` policies) and in what they do with an event.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import fingerprint
from katod.events import Event
from katod.exchanges import SessionExchanges
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Line, SessionKey
from katod.receipt import RecordTally
from katod.record.echo import Echoes, Message, Passed
from katod.record.hashes import IdSet
from katod.record.translation import CallOrder, Readable, Translation
from katod.store.ledger import Ledger, id_hash
from katod.store.rows import SeenRow, SessionRow

# Kinds with content, or an id, of their own: turns, for example, all begin alike.
DISTINCTIVE: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT})

_ECHOES: Final = "echoes"  # beside the metadata
_ORDER: Final = "callOrder"  # likewise
_EXCHANGES: Final = "exchanges"
TALLY: Final = "tally"


class EventDedup(Protocol):
    """What a stream counts as already seen. An event that is new may be added a little later, or never."""

    def is_new(self, event: Event, source: Any) -> bool:
        """Return whether the event is new to the stream; called once for each event, in order."""

    def add(self, event: Event, source: Any) -> None:
        """Remember an event that was new."""

    def is_unread(self, _event: Event) -> bool:
        """Return whether an event that is not new is still to be read: a document is newer than how far one reads."""
        return False


class SessionStream:
    """A position in a session: its metadata so far, and an adapter for each of its sources.

    What a client writes again is left out (`Echoes`), which only a `whole` stream can recognise: one that
    passes through the session from its beginning. Any other one yields everything. A whole one also `counts` what
    became of the records. Results follow their calls, unless the lines have `gaps`: a call that is left out would be
    waited for.
    """

    def __init__(
        self, key: SessionKey, seen: EventDedup, log: EventLog, kept: dict[str, Any] | None = None, *,
        whole: bool = True, counts: bool = True, gaps: bool = False,
    ) -> None:  # fmt: skip
        kept = kept or {}
        self.metadata = SessionMetadata(key, kept, RecordTally(kept.get(TALLY)) if whole and counts else None)
        self.exchanges = SessionExchanges(key.subagent, kept.get(_EXCHANGES))
        self.seen = seen
        self.path = ""  # of the source of the event that is being processed: it may have waited while others were read
        self._log = log
        self._translations: dict[Readable, Translation] = {}
        self._order = None if gaps else CallOrder(kept.get(_ORDER))
        self._echoes = Echoes(key, kept.get(_ECHOES)) if whole else None
        self._learns = self._echoes is not None and _ECHOES not in kept  # what passed before it began: read once more
        self._again: set[str] = set()  # the paths of sources that are translated from their beginning once more

    def state(self) -> dict[str, Any]:
        """Return the session's state to resume from, without those of its sources, as JSON."""
        row = self.metadata.state() | ({_ECHOES: self._echoes.kept()} if self._echoes else {})
        row |= {_ORDER: self._order.kept()} if self._order else {}
        row |= {TALLY: tally.kept()} if (tally := self.metadata.tally) else {}
        return row | ({_EXCHANGES: known} if (known := self.exchanges.state()) else {})

    def open(self, source: Readable, state: dict[str, Any] | None = None) -> "Translation":
        """Return the translation of a source; if there is none yet, it starts with the given state."""
        found = self._translations.get(source)
        if found is None:
            found = self._translations[source] = Translation(source, self.metadata, self._log, state)
        return found

    def reopen(self, source: Readable) -> None:
        """Use a fresh adapter for a source when it is read next: some events, as a title, are created only once."""
        self._translations.pop(source, None)

    def restart(self, source: Readable) -> None:
        """Translate a source from its beginning again."""
        self.reopen(source)
        self._again.add(source.path)
        if AGENTS[source.identity.key.agent].nature.has_native_ids:  # otherwise it is not read from its beginning
            self.exchanges.doubt(source.path)
        if self._echoes:
            self._echoes.restart(source.path)
        if self._order:
            self._order.restart(source.path)

    def events(
        self, source: Readable, lines: Iterable[Line], *, seen: EventDedup | None = None, refold: bool = False
    ) -> Iterator[Event]:
        """Yield the events of these lines that were not seen before.

        While an event is being processed, the metadata includes it, and the call that it is a result of is still open.
        With `refold`, events seen before also update the metadata: a document is read again from its beginning, by a
        stream that may know nothing about it.
        """
        return self._new(self.open(source).feed(lines), source, seen or self.seen, refold=refold)

    def rest(self, source: Readable, line: Line | None, provisional: set[str] | None = None) -> Iterator[Event]:
        """Yield the events at the end of a complete source: of an unterminated last line, and those held back.

        `provisional` collects the ids of those that a later record may say under another id, or show not to be said.
        """
        translation = self.open(source)
        if line is not None:
            yield from self._new(translation.feed_if_whole(line), source, self.seen)
        keeps_ids = AGENTS[source.identity.key.agent].adapter.finish_keeps_ids
        for event in self._new(translation.finish(), source, self.seen):
            if provisional is not None and not keeps_ids:
                provisional.add(event.id)
            yield event

    def settle(self, source: Readable, provisional: set[str] | None = None) -> Iterator[Event]:
        """Yield the events that wait for a later record, of a session that is complete; `source` is its last one.

        `provisional` collects the ids of those that such a record may show to be an echo.
        """
        if self._echoes:
            passed = self._echoes.settle()
            if provisional is not None:
                provisional.update(one.event.id for one in passed)
            yield from self._passed(passed, source, self.seen)
        if self._order:
            for one in self._order.settle():
                self._admit(one, source, self.seen)
                self.path = one.path
                yield one.event
                self.metadata.close(one.event)

    def _new(
        self, messages: Iterable[Message], source: Readable, seen: EventDedup, *, refold: bool = False
    ) -> Iterator[Event]:
        if refold:
            self._refold(source.path)
        records, is_new, is_old = self.open(source).records, seen.is_new, self._is_old(source.path, seen)
        take = _unheld if self._echoes is None or is_old else self._echoes.take
        for message in messages:
            if new := [event for event in message if is_new(event, source)]:
                records.confirm(new[0].id, is_past=is_old)
                self._learns = self._learns and seen is not self.seen
                yield from self._passed(take(new, source.path), source, seen)
            elif seen.is_unread(message[0]):
                records.leave()
            else:
                yield from self._passed(self._take_known(message, source, seen, refold=refold), source, seen)

    def _refold(self, path: str) -> None:
        """Note that a document is read from its beginning again, if anything was read before."""
        if self._echoes and not self._echoes.is_blank:
            self._learns = False
            self.exchanges.doubt(path)

    def _is_old(self, path: str, seen: EventDedup) -> bool:
        """Return whether this is a backfill of what passed before."""
        return seen is not self.seen and path in self._again

    def _take_known(self, message: Message, source: Readable, seen: EventDedup, *, refold: bool) -> list[Passed]:
        """Take a message that passed before. If this stream was not there, it goes through it once more.

        So an echo that was cut, by a restart or a stop, is recognised to its end.
        """
        is_missed = self._learns and seen is self.seen
        if is_missed:
            self.open(source).records.confirm(message[0].id, is_past=False)
        for event in message:
            self.exchanges.confirm(event, source.path)
            if refold and not is_missed:
                self.metadata.fold(event)
            if self._order:
                self._order.know(event)
        if self._echoes is None:
            return []
        if is_missed:
            return self._echoes.take(message, source.path, is_past=True)
        return [] if refold else self._echoes.note_known(message[0])

    def _passed(self, passed: Iterable[Passed], source: Readable, seen: EventDedup) -> Iterator[Event]:
        """Yield events that are no echo, each result after its call; those of an echo are only noted as seen."""
        order, close = self._order, self.metadata.close
        for one in passed:
            if one.is_past or one.is_echo:
                self._note_past(one) if one.is_past else self._note_echo(one, source, seen)
                continue
            for ready in order.take(one) if order else (one,):
                self._admit(ready, source, seen)
                self.path = ready.path
                yield ready.event
                close(ready.event)

    def _note_echo(self, one: Passed, source: Readable, seen: EventDedup) -> None:
        seen.add(one.event, self._source_at(one.path, source))
        if self.metadata.tally is not None:
            self.metadata.tally.note_echo(one.event, one.path)

    def _note_past(self, one: Passed) -> None:
        tally = self.metadata.tally
        if one.is_echo:
            if tally is not None:
                tally.note_echo(one.event, one.path)
            return
        if tally is not None:
            tally.pass_event(one.event, one.path)
        self.metadata.fold(one.event)
        self.exchanges.observe(one.event, one.path)

    def _admit(self, one: Passed, source: Readable, seen: EventDedup) -> None:
        """Let the session go on with an event."""
        event, path = one.event, one.path
        seen.add(event, self._source_at(path, source))
        metadata = self.metadata
        if metadata.tally is not None:
            metadata.tally.pass_event(event, path)
        metadata.observe(event)
        if self._again and self._is_old(path, seen):
            self.exchanges.confirm(event, path)
        else:
            self.exchanges.observe(event, path)

    def _source_at(self, path: str, otherwise: Readable) -> Readable:
        if path == otherwise.path:
            return otherwise
        return next((source for source in self._translations if source.path == path), otherwise)

    def has_pending(self, source: Readable) -> bool:
        """Return whether something of a source is held back for a later record."""
        waiting = (self._echoes, self._order)
        return (
            any(one is not None and one.has_pending(source.path) for one in waiting) or self.open(source).has_pending()
        )

    @property
    def is_pending(self) -> bool:
        """Whether something of any source is held back for a later record."""
        return any(map(self.has_pending, list(self._translations)))


def _unheld(message: Message, path: str) -> list[Passed]:
    """Return a message in a stream that passes on everything."""
    return [Passed(event, path) for event in message]


# -- what counts as already seen --------------------------------------------------------------------


class NoDedup(EventDedup):
    """Finds every event new: for single passes in which nothing can occur twice, or everything counts."""

    def is_new(self, _event: Event, _source: Any) -> bool:
        """Return True."""
        return True

    def add(self, _event: Event, _source: Any) -> None:
        """Remember nothing."""


class LocalDedup(EventDedup):
    """Finds each id new once within one pass: for replays."""

    def __init__(self) -> None:
        self._hashes = IdSet()

    def is_new(self, event: Event, _source: Any) -> bool:
        """Return whether the id is new."""
        return hash(event.id) not in self._hashes

    def add(self, event: Event, _source: Any) -> None:
        """Remember the id."""
        self._hashes.add(hash(event.id))


class FollowerDedup(EventDedup):
    """Finds new what a process that follows a session has not seen yet, whatever happens to its sources: for `follow`.

    With native ids, each id once. Without them everything is new, until a source is read again from its beginning: then
    its events are compared with the known ones in their order, by their content, for as long as they repeat them.
    """

    def __init__(self, *, native_ids: bool) -> None:
        self._native_ids = native_ids
        self._ids: set[int] = set()  # native ones
        self._places: dict[int, list[int]] = {}  # of contents, without native ids
        self._count = 0
        self._again: dict[Any, _Again] = {}

    @property
    def count(self) -> int:
        """How many events were added."""
        return self._count

    def is_new(self, event: Event, source: Any) -> bool:
        """Return whether the event is new."""
        if self._native_ids:
            return hash(event.id) not in self._ids
        again = self._again.get(source)
        if again is None:
            return True
        return not again.repeats(self._places.get(hash(fingerprint(event)), []), distinctive=event.kind in DISTINCTIVE)

    def add(self, event: Event, _source: Any) -> None:
        """Remember an event."""
        if self._native_ids:
            self._ids.add(hash(event.id))
        else:
            self._places.setdefault(hash(fingerprint(event)), []).append(self._count)
        self._count += 1

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


class LedgerDedup(EventDedup):
    """Finds what is new to the ledger for a session, and numbers it: for live recording.

    With native ids, a record that is written again is recognised by its id. Otherwise an id is a position and cannot
    recur: every event is new, and its content is remembered for a resync.
    """

    def __init__(self, session: SessionRow, ledger: Ledger) -> None:
        self.seq = session.seq  # the number of the next event
        self._session = session.id
        self._ledger = ledger
        self._native_ids = AGENTS[session.key.agent].nature.has_native_ids
        self._new = array("q")  # of each event since the last step, its hash and its source
        self._fresh = IdSet()  # likewise, their ids
        self._has_stored = session.seq > 0  # whether the ledger has any: the history of most sessions is read once
        self._backfilled = 0  # events, by position
        self._scanned = IdSet()  # ids in a backfill that has not ended

    def is_new(self, event: Event, _source: Any) -> bool:
        """Return whether this event is new to the session."""
        return not (self._native_ids and self.knows(event))

    def add(self, event: Event, source: Any) -> None:
        """Number an event that is new to the session."""
        if self._native_ids:
            self._fresh.add(hash(event.id))
        self._new.extend((id_hash(event.id if self._native_ids else fingerprint(event)), source.id))
        self.seq += 1

    def knows(self, event: Event) -> bool:
        """Return whether an event with a native id is in the ledger, or was added since the last step."""
        if hash(event.id) in self._fresh:  # only compared within this process, and much cheaper than id_hash
            return True
        return self._has_stored and self._ledger.place(self._session, id_hash(event.id)) is not None

    def is_to_backfill(self, event: Event) -> bool:
        """Return whether an event that was only scanned before has not been noted in this backfill."""
        return not self._native_ids or hash(event.id) not in self._scanned

    def backfill(self, event: Event, source: Any) -> None:
        """Note an event that was only scanned before; positions are counted, so that none is noted twice."""
        is_noted = self.knows(event) if self._native_ids else self._backfilled < self.seq
        if not is_noted:
            self.add(event, source)
        self._backfilled += 1
        if self._native_ids:
            self._scanned.add(hash(event.id))

    def end_backfill(self) -> None:
        """Forget what matters to a backfill alone."""
        self._scanned.clear()

    def save(self) -> None:
        """Store what is new, within the step's transaction."""
        pairs = zip(self._new[::2], self._new[1::2], strict=True)
        new = enumerate(pairs, self.seq - len(self._new) // 2)
        self._ledger.add_seen(SeenRow(self._session, hashed, seq, source) for seq, (hashed, source) in new)

    def saved(self) -> None:
        """Forget what the ledger now has."""
        self._has_stored = self.seq > 0
        self._new = array("q")
        self._fresh.clear()


class ScanDedup(EventDedup):
    """Finds new what was only scanned so far, and notes it for the live stream: for backfills.

    With `known_only`, events that are not in the ledger are left out: a document is read as a whole, and newer content
    is read again from where reading resumes.
    """

    def __init__(self, live: LedgerDedup, *, known_only: bool) -> None:
        self._live = live
        self._known_only = known_only
        self.has_left = False  # whether something is still to be read

    def is_new(self, event: Event, _source: Any) -> bool:
        """Return whether the event belongs to the backfill, and is new to it."""
        return self._live.is_to_backfill(event) and not (self._known_only and not self._live.knows(event))

    def add(self, event: Event, source: Any) -> None:
        """Note an event."""
        self._live.backfill(event, source)

    def is_unread(self, event: Event) -> bool:
        """Return whether an event is only in a newer form of the document."""
        is_unread = self._known_only and not self._live.knows(event)
        self.has_left |= is_unread
        return is_unread
