"""The outline of a session: what pages need to know of all its messages. For the reading thread.

A session is read as a whole once, and marks are set on the way. A page is read from the mark before it: wherever it is,
that takes about as long as what is on it. What has grown is read from where it grew; once a file is no longer what was
read of it, all is read again. A page is the same as without all that.
"""

import struct
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import orjson

from katod.agents import AGENTS
from katod.discover.live import Signature, signature
from katod.formats.stream import bridge
from katod.log import EventLog
from katod.record.follow import BEGINNING, Admission, Follower, FollowPosition
from katod.serve.feed.reader import ALL, MessageReader, streamed
from katod.serve.index.entry import SessionContent

MOST: Final = 40_000  # messages of all outlines together; each takes about 150 bytes, with what its reader needs
_EVERY: Final = 64  # messages between two marks, at least
_TURN: Final = 16  # messages, after which others have their turn
_STUB: Final = struct.Struct("16s8sB")  # id, call, kind
_NO_CALL: Final = bytes(8)
Fields = dict[str, Any]
Were = tuple[tuple[str, Signature | None], ...]


class Stale(Exception):
    """A file is no longer what was read of it: everything known about the session is out of date."""


class TooMuch(Stale):
    """There are too many messages for an outline."""


class Stub(NamedTuple):
    """A message without what it says; its id, and that of the call that it is or belongs to, in few bytes."""

    name: bytes
    kind: str
    call: bytes = _NO_CALL

    @classmethod
    def of(cls, sent: Fields) -> "Stub":
        """Return a message without what it says."""
        message = sent["message"]
        is_of_call = message["type"] in ("tool_use", "tool_result")
        return cls(UUID(sent["id"]).bytes, message["type"], _call(message["id"]) if is_of_call else _NO_CALL)

    def is_named(self, cursor: "MessageCursor") -> bool:
        """Return whether a client may mean it: by its id, or by that of the call while that runs."""
        return self.name == cursor.name or (self.kind == "tool_use" and self.call == cursor.call)


class MessageCursor(NamedTuple):
    """The id of a message or a call, as a client gave it, in few bytes."""

    name: bytes
    call: bytes

    @classmethod
    def of(cls, given: str) -> "MessageCursor":
        """Return the cursor of a folded id."""
        try:
            return cls(UUID(given).bytes if str(UUID(given)) == given else b"", _call(given))
        except ValueError:
            return cls(b"", _call(given))


def _call(name: str) -> bytes:
    return blake2b(bridge.folded(name).encode("utf-8", "surrogatepass"), digest_size=len(_NO_CALL)).digest()


class Outlined(Protocol):
    """The messages of a conversation, as pages need them. Both raise Stale."""

    def stubs(self) -> Iterator[Stub]:
        """Yield all messages without what they say."""
        ...

    def fetch(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields] | None]:
        """Yield the messages with these numbers, which rise, and None now and then."""
        ...


class Unmarked:
    """The messages of a session, which is read from its beginning each time."""

    def __init__(self, content: SessionContent) -> None:
        self._content = content

    def stubs(self) -> Iterator[Stub]:
        """Yield all messages without what they say."""
        return map(Stub.of, streamed(self._content, ALL))

    def fetch(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields] | None]:
        """Yield the messages with these numbers, which rise, and None now and then."""
        if not (left := deque(numbers)):
            return
        again = enumerate(streamed(self._content, left[0]))
        while left:
            found = next(again, None)
            if found is None:
                raise Stale
            number, sent = found
            if number == left[0]:
                yield left.popleft(), sent
            elif not number % _TURN:
                yield None


class _Marked(NamedTuple):
    """From where messages can be read: the number of the first one, and that of the first event."""

    number: int
    event: int
    mark: FollowPosition
    state: bytes


class Outline:
    """The messages of a session that `content` returns, as far as they were read: once, until a file is rewritten."""

    def __init__(self, content: Callable[[], SessionContent]) -> None:
        self._content = content
        self._kinds: list[str] = []
        self._begin()

    def _begin(self) -> None:
        key = self._content().key
        self._seen = Admission(native_ids=AGENTS[key.agent].nature.has_native_ids)
        self._feed = MessageReader(self._content, ALL, follower=Follower(key, EventLog(), self._seen))
        self._stubs = bytearray()
        self._marks: list[_Marked] = []
        self._were: Were = ()

    def __len__(self) -> int:
        """How many messages were read."""
        return len(self._stubs) // _STUB.size

    def stubs(self) -> Iterator[Stub]:
        """Yield all messages without what they say, also those that are new. Raises Stale."""
        self._look()
        feed, number, more = self._feed, 0, True
        while more or number < len(self):
            if number < len(self):
                yield self._stub(number)
                number += 1
            else:
                more = self._read()
            if feed is not self._feed:
                raise Stale

    def fetch(self, numbers: Iterable[int]) -> Iterator[tuple[int, Fields] | None]:
        """Yield the messages with these numbers, which rise, and None now and then. Raises Stale."""
        again, at = iter(list[Fields]()), -1
        for number in numbers:
            marked = self._before(number)
            if marked.number > at:
                again, at = self._again(marked, number), marked.number
            for sent in again:
                at += 1
                if at > number:
                    if number >= len(self) or Stub.of(sent) != self._stub(number):
                        raise Stale
                    yield number, sent
                    break
                if not at % _TURN:
                    yield None
            else:
                raise Stale

    # -- reading ------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Begin again unless all that has changed is that the only file may have grown."""
        files = self._content().files
        grows = len(files) == 1 and not AGENTS[files[0][1].key.agent].is_contained(files[0][0])
        is_lined = grows and self._feed.can_mark
        now = () if is_lined else tuple((path, signature(path, identity)) for path, identity in files)
        if now != self._were and len(self):
            self._begin()
        self._were = now

    def _read(self) -> bool:
        """Read what is next; return whether there may be more."""
        found = self._feed.read()
        if self._feed.restarts:
            self._begin()
            raise Stale
        for sent, _ in found.hidden:
            if sent["type"] == "stream":
                self._add(Stub.of(sent))
        if len(self) > MOST:
            raise TooMuch
        self._set_mark()
        return found.more

    def _set_mark(self) -> None:
        if len(self) - self._before(len(self)).number < _EVERY:
            return
        if (mark := self._feed.mark()) is None:
            self._seen.copies.clear()
        else:
            self._marks.append(_Marked(len(self), self._seen.number, *mark))

    def _before(self, number: int) -> _Marked:
        """Return from where a message can be read."""
        at = bisect_right(self._marks, number, key=lambda marked: marked.number)
        return self._marks[at - 1] if at else _Marked(0, 0, BEGINNING, b"{}")

    def _again(self, marked: _Marked, number: int) -> Iterator[Fields]:
        """Yield all messages after a mark; those before the one with this number are not to be shown."""
        key = self._content().key
        copies = frozenset(copy for copy in self._seen.copies if copy >= marked.event)
        seen = Admission(native_ids=self._seen.native_ids, copies=copies, number=marked.event)
        follower = Follower(key, EventLog(), seen, marked.mark)
        feed = MessageReader(self._content, number - marked.number, follower=follower, state=orjson.loads(marked.state))
        more = True
        while more:
            found = feed.read()
            if feed.restarts:
                raise Stale
            yield from (sent for sent, _ in (*found.hidden, *found.shown) if sent["type"] == "stream")
            more = found.more

    # -- stubs --------------------------------------------------------------------------------------------

    def _add(self, one: Stub) -> None:
        if one.kind not in self._kinds:
            self._kinds.append(one.kind)
        self._stubs += _STUB.pack(one.name, one.call, self._kinds.index(one.kind))

    def _stub(self, number: int) -> Stub:
        name, call, kind = _STUB.unpack_from(self._stubs, number * _STUB.size)
        return Stub(name, self._kinds[kind], call)


class Outlines:
    """The outlines of the sessions that were asked for last, as many as there is room for."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Outline] = OrderedDict()
        self._too_large: set[str] = set()

    def of(self, name: str, content: Callable[[], SessionContent]) -> Outlined:
        """Return the messages of a session."""
        if name in self._too_large:
            return Unmarked(content())
        while sum(map(len, self._kept.values())) > MOST:
            self._kept.popitem(last=False)
        outline = self._kept.setdefault(name, Outline(content)) if name not in self._kept else self._kept[name]
        self._kept.move_to_end(name)
        return outline

    def drop(self, name: str, why: Stale) -> None:
        """Forget what is wrong, or too much."""
        self._kept.pop(name, None)
        if isinstance(why, TooMuch):
            self._too_large.add(name)
