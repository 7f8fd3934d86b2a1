"""Recognises echoes: records with which a client writes its history again, under other ids and times. Pure.

A client that does so types nothing and says nothing new. The evidence is in the records: an echo repeats earlier ones
in order, some of them left out, and has something that only the agent writes. What a person types twice is different:
it has a time of its own, and so has its answer, which may have used other tokens. A prompt that may begin an echo waits
for the next record. What was said is kept as keyed hashes in their order (`TextHashes`): bounded, and without a word
of it.

Seen in Gemini CLI 0.61: whenever a permission is refused, it writes its history again within a few milliseconds.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.fields import safe_repr
from katod.events import Event, pack, seconds, unpack
from katod.model import SessionKey
from katod.record.hashes import NOWHERE, SIZE, TextHashes

Message = Sequence[Event]  # the parts of a message that was split at its commands, or any other event alone
_PROMPTS: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND})
_DERIVED: Final = frozenset({"toolCallId", "family", "description"})  # of a call
_AT_ONCE: Final = 1.0  # seconds between two records that a program wrote in one go
_LINES: Final = 16  # that count at the beginning of what was typed, and as many at its end
_MOST: Final = 256  # events that wait
_LARGEST: Final = 1024 * 1024  # characters of their texts
_MOST_USED: Final = 128  # answers whose usage is remembered


class Passed(NamedTuple):
    """One event that does not wait any longer, the path of its source, and whether it is part of an echo.

    `is_past`: it passed before, and is taken once more by a stream that was not there.
    """

    event: Event
    path: str
    is_echo: bool = False
    is_past: bool = False


class _MessageHashes(NamedTuple):
    """What identifies a message without its id and time: a hash of each line that was typed, or of an answer."""

    hashes: tuple[bytes, ...]
    is_prompt: bool
    time: float  # seconds since 1970; 0: not known


class _EchoBlock(NamedTuple):
    """Records that repeat earlier ones, up to the one at the place `at`; from the place `end` on, everything is new.

    `at_once`: each was written within a second of the one before, or has a time that had passed. `is_first`: it begins
    with the first prompt of the session. `has_words`: more than commands was typed. `is_asked`: its last prompt has no
    answer yet. `answered`: how many have one. `is_unique`: each answer was given once before. `is_likely`: an echo,
    unless what the agent used for its last answer says otherwise. `is_slow`: it is an echo although its times are far
    apart. `has_command`: it begins with a prompt that contains one. `before`: the place of the record before `at`.
    `first`: what `at` would be if it began with the prompts that have no answer yet.
    """

    at: int
    end: int
    time: float
    is_first: bool
    has_words: bool
    at_once: bool = True
    is_asked: bool = True
    answered: int = 0
    is_unique: bool = True
    is_likely: bool = False
    is_slow: bool = False
    is_echo: bool = False
    has_command: bool = False
    before: int = NOWHERE
    first: int = NOWHERE

    def moved(self, at: int) -> "_EchoBlock":
        """Return it, gone on with what was said at a place."""
        return self._replace(before=self.at, at=at)


class Echoes:
    """Follows the messages of one session. Each is passed on at once, or as soon as it is known not to be an echo."""

    __slots__ = ("_block", "_hashers", "_key", "_known", "_last", "_used", "_waiting")

    def __init__(self, key: SessionKey, kept: dict[str, Any] | None = None) -> None:
        """Start before the first event, or go on from `kept()`."""
        kept = kept or {}
        self._key = key
        self._hashers = {kind: _hasher(kind, key.id) for kind in ("prompt", "answer", "call", "usage")}
        self._known = TextHashes(kept.get("known"))
        self._block = _EchoBlock(*kept["block"]) if "block" in kept else None
        self._waiting = [Passed(unpack(row), path, is_past=past) for row, path, past in kept.get("waiting", ())]
        self._last: str = kept.get("last", "")  # when the last event that is no echo was written
        self._used: list[str] = kept.get("used", [])  # hashes of what the last answers used

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON: hashes, and the pending events."""
        row: dict[str, Any] = {"known": self._known.kept(), "last": self._last, "used": self._used}
        row |= {"block": list(self._block)} if self._block else {}
        return row | (
            {"waiting": [[pack(one.event), one.path, one.is_past] for one in self._waiting]} if self._waiting else {}
        )

    def has_pending(self, path: str = "") -> bool:
        """Return whether events wait for a later record: of the source at a path, or of any."""
        return any(not path or one.path == path for one in self._waiting)

    def restart(self, path: str) -> None:
        """Note that a source is read from its beginning again: what waits of it will come again, and be judged then."""
        rest = [one for one in self._waiting if one.path != path]
        if self._waiting and not rest and self._block is not None and not self._block.is_echo:
            self._block = None  # it began with what waits
        self._waiting = rest

    def settle(self) -> list[Passed]:
        """Return the events that wait: no later record says whether they are an echo."""
        return [*self._decide(), *self._break_off()]

    @property
    def is_blank(self) -> bool:
        """Whether nothing was said yet."""
        return self._known.total == 0

    def note_known(self, event: Event) -> list[Passed]:
        """Take up a prompt that is written again under its own id: what waits and comes before it is an echo, too."""
        block, words = self._block, self._words((event,)) if self._waiting else None
        if block is None or block.is_echo or words is None or not words.is_prompt:
            return []
        at = self._known.after(block.at, words.hashes, block.end)
        return [] if at == NOWHERE else self._drop(block.moved(at)._replace(is_echo=True))

    def take(self, message: Message, path: str, *, is_past: bool = False) -> list[Passed]:
        """Return the events that do not wait any longer, in order; those of this message are the last ones."""
        if self._waiting and any(one.event.id == message[0].id for one in self._waiting):
            return []  # it is written again while it waits
        here, words = [Passed(event, path, False, is_past) for event in message], self._words(message)
        if words is None:
            return self._take_other(here)
        if self._block is None and not self._waiting:  # as nearly always
            return self._begin(here, words)
        return self._take_said(here, words)

    def _take_said(self, here: list[Passed], words: _MessageHashes) -> list[Passed]:
        """Take a message that may go on with the block, or come after it."""
        out = self._decide()
        at = self._next(words)
        if at == NOWHERE:
            at = self._begin_later(words)
        if self._block is None or at == NOWHERE:
            return [*out, *self._take_unlike(here, words)]
        return [*out, *(self._take_prompt if words.is_prompt else self._take_answer)(self._block, here, words, at)]

    # -- messages -----------------------------------------------------------------------------------

    def _next(self, words: _MessageHashes) -> int:
        """Return the place of words that go on with the block, NOWHERE if they do not."""
        block = self._block
        if block is None or (self._is_far(block, words.time) and not _may_go_on(block, words)):
            return NOWHERE
        at = self._known.after(block.at, words.hashes, block.end)
        if at == NOWHERE and block.is_echo and self._is_near(block, words.time):
            at = self._known.after(NOWHERE, words.hashes, block.end)  # the history is written once more
        return at

    def _begin_later(self, words: _MessageHashes) -> int:
        """Let the block begin with the prompts that have no answer yet; return the place of words that go on with that.

        So an echo may begin right behind what a person typed once more, and be one of something earlier.
        """
        block = self._block
        if block is None or block.is_echo or not block.is_asked or block.first == NOWHERE:
            return NOWHERE
        if (block.first, self._known.total) == (block.at, block.end):
            return NOWHERE  # it does
        first = self._words((self._waiting[0].event,))
        is_first = first is not None and self._known.is_first_prompt(first.hashes, self._known.total)
        self._block = _EchoBlock(
            block.first, self._known.total, block.time, is_first,
            _has_words(self._waiting), block.at_once, has_command=_has_commands(self._waiting), first=block.first,
        )  # fmt: skip
        return self._next(words)

    def _take_prompt(self, block: _EchoBlock, here: list[Passed], words: _MessageHashes, at: int) -> list[Passed]:
        """Take a prompt that the block goes on with. One with a time of its own waits, as the first one did."""
        is_near = self._is_near(block, words.time)
        at_once = is_near and block.at_once if block.is_asked else True
        has_words = block.has_words or _has_words(here)
        first = self._known.after(block.first if block.is_asked else NOWHERE, words.hashes, self._known.total)
        now = block.moved(at)._replace(
            first=first, time=words.time, at_once=at_once, is_asked=True, has_words=has_words
        )
        if block.is_echo and is_near:
            return [*self._drop(now), *_dropped(here)]
        out = self._drop(now) if block.is_echo else []
        self._block = now._replace(is_echo=False)
        self._waiting += here
        return out

    def _take_answer(self, block: _EchoBlock, here: list[Passed], words: _MessageHashes, at: int) -> list[Passed]:
        """Take what the agent wrote, if the block goes on with it: it may show that the block is an echo."""
        block = block.moved(at)._replace(
            time=words.time or block.time, is_asked=False, answered=block.answered + block.is_asked,
            at_once=block.at_once and self._is_near(block, words.time),
            is_unique=block.is_unique and self._known.is_unique(words.hashes, block.end),
        )  # fmt: skip
        if block.is_echo:
            return [*self._drop(block), *_dropped(here)]
        if self._is_likely(block):
            self._block = block._replace(is_likely=True)
            self._waiting += here
            return []
        out, self._block = self._release(), block
        return [*out, *self._pass(here, words)]

    def _is_likely(self, block: _EchoBlock) -> bool:
        """Return whether a block may be an echo.

        Where records have times but no usage, a single exchange counts as one for its commands alone, which must not
        act again.
        """
        is_long = block.answered > 1 and block.is_unique and block.has_words
        is_short = block.at_once or self._is_first_exchange(block)
        return block.is_slow or is_long or (is_short and (self._is_told_apart() or block.has_command))

    def _is_told_apart(self) -> bool:
        """Return whether the agent's records tell an echo of one exchange from one that a person had twice."""
        spec = AGENTS[self._key.agent]
        return spec.answers.has_usage or not spec.nature.has_times

    def _is_first_exchange(self, block: _EchoBlock) -> bool:
        return block.is_first and self._known.is_in_first_exchange(block.at)

    def _decide(self) -> list[Passed]:
        """Drop what is likely to be an echo: nothing that followed its last answer says otherwise."""
        block = self._block
        if block is None or not block.is_likely:
            return []
        is_slow = block.is_slow or not block.at_once
        return self._drop(block._replace(is_likely=False, is_echo=True, is_slow=is_slow))

    def _is_own(self, event: Event) -> bool:
        """Return whether a usage says that the last answer was not given before: it used other tokens, or more."""
        if event.payload.get("scope") == "session" or event.session.subagent != self._key.subagent:
            return False
        used = self._hash("usage", _written(event.payload)).hex()
        is_known = used in self._used
        if not self._waiting and not is_known:
            self._used = [*self._used, used][-_MOST_USED:]
        return self._block is not None and self._block.is_likely and not is_known

    def _take_unlike(self, here: list[Passed], words: _MessageHashes) -> list[Passed]:
        """Take a message that the block does not go on with: it may be in the middle of an echo, or the next thing."""
        block = self._block
        is_inside = block is not None and block.is_echo and not self._is_far(block, words.time)
        if is_inside and block is not None and words.time and (places := self._before_gap(block)):
            return [*self._drop(block._replace(at=places[0], before=places[0], time=words.time)), *_dropped(here)]
        if is_inside and not any(map(self._says, self._waiting)):
            self._waiting += here
            return []
        return [*self._break_off(), *self._begin(here, words)]

    def _before_gap(self, block: _EchoBlock) -> list[int]:
        """Return the last places of an echo behind which a message may have been said that is not remembered any more.

        It may be the last but one: of a short answer that is not remembered, the same may have been said later.
        """
        return [at for at in (block.at, block.before) if self._known.has_gap_after(at)]

    def _begin(self, here: list[Passed], words: _MessageHashes) -> list[Passed]:
        """Take a message with which an echo may begin: a prompt that is known."""
        end = self._known.total
        at = self._known.after(NOWHERE, words.hashes, end) if words.is_prompt else NOWHERE
        if at == NOWHERE:
            return self._pass(here, words)
        is_first = self._known.is_first_prompt(words.hashes, end)
        commands = _has_commands(here)
        self._block = _EchoBlock(at, end, words.time, is_first, _has_words(here), has_command=commands, first=at)
        self._waiting += here
        return []

    def _take_other(self, here: list[Passed]) -> list[Passed]:
        """Take an event that says nothing by itself: it belongs to the messages around it."""
        block = self._block
        is_own = here[0].event.kind == ev.USAGE and self._is_own(here[0].event)
        if block is None or not (block.is_echo or self._waiting):
            return self._pass(here)
        if is_own:
            return [*self._break_off(), *self._pass(here)]
        is_over = self._is_far(block, seconds(here[0].event.time)) and not block.is_slow
        if is_over or len(self._waiting) >= _MOST or _size([*self._waiting, *here]) > _LARGEST:
            return [*self._decide(), *self._break_off(), *self._pass(here)]
        self._waiting += here
        return []

    # -- what waits ---------------------------------------------------------------------------------

    def _pass(self, here: list[Passed], words: _MessageHashes | None = None) -> list[Passed]:
        if words:
            self._known.add(words.hashes, is_prompt=words.is_prompt)
        self._last = here[0].event.time or self._last
        return here

    def _drop(self, block: _EchoBlock) -> list[Passed]:
        """Go on with an echo; all that waits is part of it."""
        self._block = block
        waiting, self._waiting = self._waiting, []
        return _dropped(waiting)

    def _release(self) -> list[Passed]:
        """Return the pending events. At the end of an echo, what says nothing by itself still belongs to it."""
        waiting, self._waiting = self._waiting, []
        is_echo = self._block is not None and self._block.is_echo
        out: list[Passed] = []
        for one in waiting:
            words = self._words((one.event,))
            is_echo = is_echo and words is None
            out += [one._replace(is_echo=True)] if is_echo else self._pass([one], words)
        return out

    def _break_off(self) -> list[Passed]:
        out, self._block = self._release(), None
        return out

    # -- times --------------------------------------------------------------------------------------

    def _is_near(self, block: _EchoBlock, time: float) -> bool:
        """Return whether a record was written within a second of the last one of a block, or has an earlier time."""
        return bool(time) and (time <= seconds(self._last) or (bool(block.time) and time - block.time <= _AT_ONCE))

    def _is_far(self, block: _EchoBlock, time: float) -> bool:
        return bool(time and block.time) and not self._is_near(block, time)

    # -- words --------------------------------------------------------------------------------------

    def _says(self, one: Passed) -> bool:
        return self._words((one.event,)) is not None

    def _words(self, message: Message) -> _MessageHashes | None:
        """Return the hash of a message, None for an event that says nothing by itself, or not in this session."""
        first = message[0]
        if first.session.subagent != self._key.subagent:
            return None
        if first.kind in _PROMPTS and first.payload.get("subtype") != "context":
            lines = [line for event in message for line in _lines(event)]
            hashes = tuple(self._hash("prompt", line.encode("utf-8", "replace")) for line in lines)
            return _MessageHashes(hashes, True, seconds(first.time)) if hashes else None
        if first.kind == ev.ASSISTANT_MESSAGE:
            text = first.payload["text"].strip().encode("utf-8", "replace")
            return _MessageHashes((self._hash("answer", text),), False, self._time(first))
        if first.kind == ev.TOOL_CALL:
            return _MessageHashes((self._hash("call", _written(first.payload)),), False, self._time(first))
        return None

    def _time(self, answer: Event) -> float:
        return seconds(answer.time) if self._block else 0.0  # without a block, it does not matter

    def _hash(self, kind: str, text: bytes) -> bytes:
        hasher = self._hashers[kind].copy()
        hasher.update(text)
        return hasher.digest()


def _hasher(kind: str, session: str) -> blake2b:
    return blake2b(digest_size=SIZE, key=f"{kind}:{session}".encode("utf-8", "replace")[:64])


def _written(payload: dict[str, Any]) -> bytes:
    """Return the content of a call or a usage as text: without its id, and what may be derived better one day."""
    said = {name: value for name, value in payload.items() if name not in _DERIVED}
    try:
        return orjson.dumps(said)
    except TypeError:  # a number or a text that JSON cannot have, or nested too deep
        return safe_repr(said).encode("utf-8", "replace")


def _may_go_on(block: _EchoBlock, words: _MessageHashes) -> bool:
    """Return whether words that were written later may belong to a block.

    A prompt is typed after the echo, unless that is as slow as people type, or after an exchange that is repeated.
    """
    if words.is_prompt:
        return block.is_slow if block.is_echo else not block.is_asked
    return block.is_slow or not block.is_echo


def _lines(event: Event) -> list[str]:
    """Return the lines of a prompt that count: of a long one, the first and the last ones."""
    text = event.payload["line"] if event.kind == ev.USER_COMMAND else event.payload["text"]
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    return lines if len(lines) <= 2 * _LINES else [*lines[:_LINES], *lines[-_LINES:]]


def _has_words(here: list[Passed]) -> bool:
    return any(one.event.kind == ev.USER_MESSAGE and one.event.payload["text"].strip() for one in here)


def _has_commands(here: list[Passed]) -> bool:
    return any(one.event.kind == ev.USER_COMMAND for one in here)


def _size(waiting: list[Passed]) -> int:
    """Return how many characters the texts have."""
    return sum(len(str(one.event.payload.get("text", ""))) for one in waiting)


def _dropped(waiting: list[Passed]) -> list[Passed]:
    return [one._replace(is_echo=True) for one in waiting]
