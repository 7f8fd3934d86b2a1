"""A session as it happens: what is new in its sources, each event once, without a ledger and without a file.

Nothing is kept but what this process has in memory. Whatever happens to the sources (they grow, are rewritten,
compacted, replaced or deleted, or the session goes on in another one), an event that was yielded is not yielded again.
"""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.discover.live import Signature, signature
from katod.errors import SourceChanged, SourceError, SourceGone
from katod.events import Event
from katod.formats.protocol import Format
from katod.log import EventLog
from katod.metadata import Replay, SessionMetadata
from katod.model import START, Cursor, Identity, Partial, SessionKey
from katod.record.export import began, look_ahead, render_begun
from katod.record.stream import FollowerDedup, SessionStream
from katod.tail.reader import SourceFile

_READ_BYTES: Final = 512 * 1024
_TYPED: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND})


@dataclass(slots=True, eq=False)
class _FollowedSource:
    """One source of the session, and how far it was read."""

    path: str
    identity: Identity
    cursor: Cursor = START
    partial: Partial | None = None
    read_at: Signature | Cursor | None = None  # what it was, or its limit, when it was last read to its end
    more: bool = False  # whether its last batch was not the last one
    is_document: bool = False


class Limited(NamedTuple):
    """A source that is read up to a cursor: what is after it is not read. Without a limit, it is read to its end."""

    path: str
    identity: Identity
    limit: Cursor | None


class FollowPosition(NamedTuple):
    """A position in a session, from which another follower can go on: JSON, and how far each source was read.

    The JSON is deflated: many positions of a session are kept, and each has all that is known of it by then.
    """

    metadata: bytes
    sources: tuple[tuple[str, Identity, Cursor, Partial | None, bytes], ...]


def _deflated(state: Any) -> bytes:
    return zlib.compress(orjson.dumps(state), level=1)


def _inflated(data: bytes) -> Any:
    return orjson.loads(zlib.decompress(data))


BEGINNING: Final = FollowPosition(_deflated({}), ())


class Admission(FollowerDedup):
    """Also says which of all events were not new, by their numbers; or finds the same ones new again.

    A follower that resumes from a mark has not seen the earlier events, so it cannot recognise copies of them. `copies`
    are the numbers of those copies; `number` is that of the first event after the mark.
    """

    def __init__(self, *, native_ids: bool, copies: Collection[int] | None = None, number: int = 0) -> None:
        super().__init__(native_ids=native_ids)
        self.native_ids = native_ids
        self._known = copies
        self.number = number
        self.copies: list[int] = []

    def is_new(self, event: Event, source: Any) -> bool:
        """Return whether the event is new."""
        is_new = super().is_new(event, source) if self._known is None else self.number not in self._known
        if not is_new:
            self.copies.append(self.number)
        self.number += 1
        return is_new


class Follower:
    """A position in a session that moves towards the end of its sources with every look.

    With a mark, it begins there, and `seen` is to be what finds the same events new as before.
    """

    def __init__(
        self, key: SessionKey, log: EventLog, seen: FollowerDedup | None = None, mark: FollowPosition | None = None
    ) -> None:
        self._seen = seen or FollowerDedup(native_ids=AGENTS[key.agent].nature.has_native_ids)
        self._stream = SessionStream(key, self._seen, log, None if mark is None else _inflated(mark.metadata))
        self._sources: dict[str, _FollowedSource] = {}
        self._names: dict[str, str] = {}  # of sources, by each path that they had
        for path, identity, cursor, partial, state in mark.sources if mark is not None else ():
            source = self._sources[path] = _FollowedSource(path, identity, cursor, partial)
            self._names[path] = path
            self._stream.open(source, _inflated(state))
        self.restarts = 0  # how often a source was no longer what was read of it
        self.problem: SourceError | None = None  # why a source could not be read when it was last looked into
        self.moved = False  # whether something was read in the last advance

    @property
    def metadata(self) -> SessionMetadata:
        """What is known about the session so far."""
        return self._stream.metadata

    @property
    def source(self) -> str:
        """The name of the source of the event that is being processed."""
        return self.name_of(self._stream.path)

    def name_of(self, path: str) -> str:
        """Return the name of the source at a path: where it was first, also after it was moved."""
        return self._names.get(path, path)

    @property
    def offset(self) -> int:
        """How many bytes were read of all sources together."""
        return sum(source.cursor.offset for source in self._sources.values())

    @property
    def count(self) -> int:
        """How many events were yielded."""
        return self._seen.count

    @property
    def can_mark(self) -> bool:
        """Whether another follower can go on where it is: not if a source is only read as a whole."""
        return not any(source.is_document for source in self._sources.values())

    def mark(self) -> FollowPosition | None:
        """Return where it is; None if no other follower can go on there."""
        if not self.can_mark:
            return None
        found = [
            (path, one.identity, one.cursor, one.partial, _deflated(self._stream.open(one).state()))
            for path, one in self._sources.items()
        ]
        return FollowPosition(_deflated(self._stream.state()), tuple(found))

    def look(self, files: Iterable[tuple[str, Identity]]) -> Replay:
        """Yield the events that are new in these files and those of earlier looks, with the metadata at that point.

        A file that cannot be read is passed over, and read when that has changed.
        """
        for path, identity in files:
            self._take_up(path, identity)
        for source in list(self._sources.values()):
            yield from self._look_into(source)

    def advance(self, sources: Iterable[Limited], budget: int) -> Replay:
        """Yield what is new in about `budget` bytes of the first of these sources that has more; nothing if none has.

        The content of a source up to its limit is what it was when the limit was set, or it is not read. Sources after
        one that cannot be read now have to wait; one that no longer exists is passed over.
        """
        self.problem, self.moved = None, False
        for path, identity, limit in sources:
            self._take_up(path, identity)
            source, before = self._sources[path], self._sources[path].cursor
            yield from self._look_into(source, limit, budget)
            self.moved = source.cursor != before
            if self.moved or not (self.problem is None or isinstance(self.problem, SourceGone)):
                return

    def _take_up(self, path: str, identity: Identity) -> None:
        """Note a file that may be new, or one that is known and was moved."""
        if path in self._sources:
            return
        for source in list(self._sources.values()):
            if source.identity == identity and signature(source.path, identity) is None:
                del self._sources[source.path]
                self._names[path] = self._names[source.path]
                source.path = path
                self._sources[path] = source
                return
        self._names[path] = path
        self._sources[path] = _FollowedSource(path, identity)

    def _look_into(
        self, source: _FollowedSource, limit: Cursor | None = None, budget: int | None = None
    ) -> Iterator[tuple[Event, SessionMetadata]]:
        now = limit or signature(source.path, source.identity)
        if now is None or now == source.read_at:
            return
        try:
            with AGENTS[source.identity.key.agent].open(source.path) as file:
                source.is_document = file.is_document
                _verify_limit(file, limit)
                self._verify(source, file)
                for event in self._read(source, file, limit, budget):
                    yield event, self._stream.metadata
        except SourceError as error:
            self.problem = error
            return
        if not source.more:
            self._seen.settle(source)
            source.read_at = now

    def _verify(self, source: _FollowedSource, file: SourceFile) -> None:
        """Begin at the beginning of a source if what was read of it has changed."""
        try:
            file.verify_anchor(source.cursor)
        except SourceChanged:
            self._stream.restart(source)
            self._seen.restart(source)
            source.cursor, source.partial = START, None
            self.restarts += 1

    def _read(
        self, source: _FollowedSource, file: SourceFile, limit: Cursor | None = None, budget: int | None = None
    ) -> Iterator[Event]:
        """Yield the events up to the limit, or those of one batch if there is a budget."""
        source.more = True
        while source.more:
            size = _left(source, file, limit, budget or _READ_BYTES)
            if size <= 0:
                source.more = False
                return
            batch = file.read(source.cursor, size, source.partial)
            yield from self._stream.events(source, batch.lines, refold=file.is_document)
            source.cursor, source.partial = batch.cursor, batch.partial
            source.more = batch.more and bool(batch.lines)
            if budget is not None:
                return


def _left(source: _FollowedSource, file: SourceFile, limit: Cursor | None, most: int) -> int:
    """Return how many bytes of a source may be read at once; a document is read as a whole."""
    return most if limit is None or file.is_document else min(most, limit.offset - source.cursor.offset)


def _verify_limit(file: SourceFile, limit: Cursor | None) -> None:
    """Raise SourceChanged unless a source is, up to a limit, what it was when that was set."""
    if limit is None:
        return
    file.verify_anchor(limit)
    if file.is_document and file.size > limit.offset:
        raise SourceChanged("the document has more", path=file.path)


def follow(
    key: SessionKey, files: Callable[[], Iterable[tuple[str, Identity]]], wait: Callable[[], None], log: EventLog
) -> Iterator[Replay]:
    """Yield, for ever, what is new in a session: first all of it, then one look after another, which may be empty.

    `files` returns the files that are the session's now, older ones first; `wait` returns when it is time to look.
    """
    follower = Follower(key, log)
    while True:
        yield follower.look(files())
        wait()


class LastTurn(NamedTuple):
    """The last turn of a session: its events, the metadata before them, and those after them."""

    events: list[Event]
    before: SessionMetadata
    after: SessionMetadata

    def replay(self) -> Replay:
        """Yield the events, each with the metadata at that point."""
        for event in self.before.observed(self.events):
            yield event, self.before


def last_turn(events: Replay) -> LastTurn | None:
    """Return what was said since the last message that a person typed, or all of it; None if there is nothing yet."""
    kept: list[Event] = []
    before = after = None
    for event, metadata in events:
        is_typed = event.typed and event.kind in _TYPED
        if before is None or (is_typed and not _is_part_of(event, kept[-1])):
            kept, before = [], _copy(metadata)
        kept.append(event)
        after = metadata
    return None if before is None or after is None else LastTurn(kept, before, after)


def _is_part_of(event: Event, other: Event) -> bool:
    """Return whether two events are parts of one message."""
    return other.kind in _TYPED and _record(event) == _record(other)


def _record(event: Event) -> tuple[Any, ...]:
    return event.source.get("offset"), event.source.get("providerEventId"), event.time


def _copy(metadata: SessionMetadata) -> SessionMetadata:
    state = metadata.state()
    return SessionMetadata(metadata.key, state | {"calls": dict(state.get("calls", {}))})


def printed(looks: Iterable[Replay], printer: Format, *, whole: bool) -> Iterator[str]:
    """Yield the text of each event, and an empty one after each look: from the last turn on, or from the beginning."""
    is_begun = False
    for events in looks:
        if is_begun:
            yield from (printer.event(event, metadata) for event, metadata in events)
        else:
            for text in _render_whole(events, printer) if whole else _render_turn(last_turn(events), printer):
                is_begun = True
                yield text
        yield ""


def _render_whole(events: Replay, printer: Format) -> Iterator[str]:
    begun = look_ahead(events)
    return render_begun(begun, printer) if begun is not None else iter(())


def _render_turn(turn: LastTurn | None, printer: Format) -> Iterator[str]:
    if turn is not None:
        yield printer.head(turn.after, began(turn.events))
        yield from (printer.event(event, metadata) for event, metadata in turn.replay())
