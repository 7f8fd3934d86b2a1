"""The messages of a session as short hashes and lengths, so that no export is replaced by one with less. Pure."""

from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import fingerprint
from katod.agents.fields import safe_repr
from katod.archive.manifest import Entry
from katod.events import Event
from katod.formatspec import FORMATS
from katod.metadata import Replay, SessionMetadata
from katod.model import Options, SessionKey, Tools
from katod.record.stream import DISTINCTIVE

_BYTES: Final = 4  # for each message: one that is lost goes unnoticed once in a million times in a session of thousands
_LENGTH: Final = 3  # bytes for its length
_UNSHOWN: Final = 256**_LENGTH - 1  # in place of the length of what is not printed
_LONGEST: Final = _UNSHOWN - 1


class PrintedParts(NamedTuple):
    """What a format prints of a session: whether what was said, and what of tools.

    With `tools="summary"`, the text of a result is printed only if the call failed or was refused.
    """

    words: bool = True
    tools: Tools = "full"

    @classmethod
    def by(cls, form: str, options: Options) -> "PrintedParts":
        """Return what a format prints with these options."""
        spec = FORMATS[form]
        words = spec.has_words or (spec.heeds_tools and options.span_content)
        if spec.heeds_tools:
            return cls(words, options.tools if words else "none")
        return cls(words, "full" if words else "summary")

    def has(self, event: Event) -> bool:
        """Return whether the text of a message or a result, or the input of a call, is printed."""
        if event.kind == ev.TOOL_CALL:
            return self.tools != "none"
        if event.kind != ev.TOOL_RESULT or self.tools == "full":
            return self.words
        failed = bool(event.payload.get("isError") or event.payload.get("denied"))
        return failed and self.words and self.tools == "summary"


class TextTally:
    """Collects the messages and calls of a session while its events pass, and how much of them is printed.

    Those that are `provisional`, by their ids, may be said by a later record under another id, or were never said.
    """

    def __init__(self, key: SessionKey, shown: PrintedParts = PrintedParts()) -> None:  # noqa: B008 - never changed
        spec = AGENTS[key.agent]
        self._version = spec.adapter.version
        self._has_ids = spec.nature.has_native_ids
        self._shown = shown
        self.provisional: set[str] = set()
        self._hashes: list[bytes] = []
        self._lengths: list[bytes] = []
        self._waiting: list[int] = []  # the places of those that are provisional

    def over(self, events: Replay) -> Iterator[tuple[Event, SessionMetadata]]:
        """Yield the events."""
        for event, metadata in events:
            if event.kind in DISTINCTIVE:
                if event.id in self.provisional:
                    self._waiting.append(len(self._hashes))
                self._hashes.append(_hash_of(event.id if self._has_ids else fingerprint(event)))
                self._lengths.append(self._length(event).to_bytes(_LENGTH))
            yield event, metadata

    @property
    def text(self) -> str:
        """All of it, in a form that `has_less` compares."""
        return self._packed(self._hashes, self._lengths)

    @property
    def lasting(self) -> str:
        """What is not provisional, in the same form."""
        waiting = {*self._waiting}
        kept = [place for place in range(len(self._hashes)) if place not in waiting]
        return self._packed(*([each[place] for place in kept] for each in (self._hashes, self._lengths)))

    def _packed(self, *fields: list[bytes]) -> str:
        return ":".join((str(self._version), *(b64encode(b"".join(each)).decode() for each in fields)))

    def _length(self, event: Event) -> int:
        return min(_length(event), _LONGEST) if self._shown.has(event) else _UNSHOWN


class ExportedTexts:
    """The messages and calls that an export had, in order, as its list says of the session with a key."""

    def __init__(self, key: SessionKey, said: str) -> None:
        spec = AGENTS[key.agent]
        self._has_ids = spec.nature.has_native_ids
        version, _, noted = said.partition(":")
        self.is_comparable = version == str(spec.adapter.version)
        self._hashes = list[bytes]()
        with suppress(ValueError):
            data = b64decode(noted.partition(":")[0])
            self._hashes = [data[at : at + _BYTES] for at in range(0, len(data), _BYTES)]

    def between(self, first: str, last: str) -> tuple[frozenset[bytes], bool]:
        """Return what was from one event to another one, by their ids, and whether it is known where that ends.

        It is if the last one is a message or a call, and the agent gives ids: otherwise it may be less.
        """
        begin, end = _hash_of(first), _hash_of(last)
        rest = self._hashes[self._hashes.index(begin) if begin in self._hashes else 0 :]
        is_bounded = self._has_ids and end in rest
        return frozenset(rest[: rest.index(end) + 1] if is_bounded else rest), is_bounded

    def hash_of(self, event: Event) -> bytes:
        """Return what stands for a message or a call."""
        return _hash_of(event.id if self._has_ids else fingerprint(event))


def _hash_of(what: str) -> bytes:
    return blake2b(what.encode("utf-8", "replace"), digest_size=_BYTES).digest()


def _length(event: Event) -> int:
    """Return how much a message, a call or a result says: what is beside it, such as a state, may become shorter."""
    payload = event.payload
    words, given = payload.get("text") or payload.get("line"), payload.get("input")
    length = len(words) if isinstance(words, str) else 0
    return length + (_size(given) if given else 0) + sum(len(data) for _, _, data in event.blobs)


def _size(given: object) -> int:
    try:
        return len(orjson.dumps(given))
    except TypeError:  # surrogates, or numbers of any length
        return len(safe_repr(given))


def has_less(now: Entry, before: Entry) -> bool:
    """Return whether something that was said in a session before is not in it now, or not all of it.

    Another version of an adapter may give the same messages other ids: then what counts is whether a file is shorter.
    Earlier versions of katod noted no lengths: then it is whether the export would be, if it is made in the same way
    and nothing was said since: a result may make the line of its call shorter.
    What cannot be compared, as its line in the list is damaged, counts as lost.
    """
    try:
        (version, hashes, *lengths), (version_before, hashes_before, *lengths_before) = (
            entry.said.split(":") for entry in (now, before)
        )
        if version != version_before:
            sizes = {row[0]: int(row[1]) for row in now.sources}
            return any(sizes.get(row[0], -1) < int(row[1]) for row in before.sources)
        if not lengths_before and len(hashes) <= len(hashes_before) and _is_smaller(now, before):
            return True
        there, needed = _by_hash(hashes, *lengths), _by_hash(hashes_before, *lengths_before)
        return any(_are_shorter(there.get(one, []), needed[one]) for one in needed)
    except (ValueError, TypeError, IndexError):
        return True


def _is_smaller(now: Entry, before: Entry) -> bool:
    return now.made == before.made and now.size < before.size


def _by_hash(hashes: str, lengths: str = "") -> dict[bytes, list[int]]:
    """Return the lengths of the messages with each hash, the longest first; 0 where no length was noted."""
    data, sizes = b64decode(hashes), b64decode(lengths)
    if sizes and len(sizes) // _LENGTH != len(data) // _BYTES:
        raise ValueError
    found: dict[bytes, list[int]] = defaultdict(list)
    for number in range(-(-len(data) // _BYTES)):
        size = int.from_bytes(sizes[number * _LENGTH : (number + 1) * _LENGTH])
        found[data[number * _BYTES : (number + 1) * _BYTES]].append(size)
    for each in found.values():
        each.sort(reverse=True)
    return found


def _are_shorter(now: list[int], before: list[int]) -> bool:
    """Return whether something is missing or became shorter. What was not printed before cannot: options may differ."""
    return len(now) < len(before) or any(size < old != _UNSHOWN for size, old in zip(now, before, strict=False))
