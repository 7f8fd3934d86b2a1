"""The native record that an event was made of."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from katod import events as ev
from katod.agents import AGENTS
from katod.errors import SourceError
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Cursor, Line, SessionKey
from katod.record.echo import Message
from katod.record.export import Stretch
from katod.record.translation import Translation
from katod.tail.decode import decode

_READ_BYTES: Final = 512 * 1024
_EARLIER: Final = 50  # lines in which the words of an event are looked for that an adapter held back
_LONGEST: Final = 1024 * 1024  # bytes of such a line
_END: Final = Line(0, 0, b"")  # what an adapter passes on at the end of a source is in no line of its own
_SPOKEN: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE})  # their words are not katod's


def native_record(
    key: SessionKey, stretches: Iterable[Stretch], is_wanted: Callable[[Event], bool]
) -> Iterator[list[Any] | None]:
    """Yield None for each line that is read and each end, and last the decoded records of a wanted event's line.

    A source that cannot be read is passed over, and so is one that is read as a whole: a line of it is no record.
    """
    for stretch in stretches:
        with suppress(SourceError):
            earlier: deque[Line] = deque(maxlen=_EARLIER)
            for line, messages in _translated(key, stretch):
                events = [event for message in messages for event in message if is_wanted(event)]
                for found in filter(None, (_line_of(event, line, earlier) for event in events)):
                    yield [record.value for record in decode(found)]
                    return
                yield None
                if len(line.data) <= _LONGEST:
                    earlier.appendleft(line)


def _translated(key: SessionKey, stretch: Stretch) -> Iterator[tuple[Line, Iterable[Message]]]:
    """Yield each line with its messages, also one that is not terminated, and last those that were held back."""
    with AGENTS[stretch.identity.key.agent].open(stretch.path) as file:
        if file.is_document:
            return
        translation, cursor, more = Translation(stretch, SessionMetadata(key), EventLog()), Cursor(), True
        while more:
            batch = file.read(cursor, _READ_BYTES)
            yield from ((line, translation.feed([line])) for line in batch.lines)
            cursor, more = batch.cursor, batch.more and bool(batch.lines)
        if (last := file.rest(cursor.offset)) is not None:
            yield last, translation.feed_if_whole(last)
        yield _END, translation.finish()


def _line_of(event: Event, line: Line, earlier: Iterable[Line]) -> Line | None:
    """Return the line that an event is in: the one that it came with, or an earlier one if it was held back.

    What is said is in no line without its words. Other events may have words of katod: they are in the one they came
    with.
    """
    found = next((one for one in (line, *earlier) if _has(event, one)), None)
    is_said = event.kind in _SPOKEN and _words(event)
    return line if found is None and not is_said and line is not _END and _names(event, line) else found


def _words(event: Event) -> str:
    return event.payload.get("text") or event.payload.get("line") or ""


def _names(event: Event, line: Line) -> bool:
    """Return whether a line has the name of an event, if that has one."""
    named = event.source.get("providerEventId")
    return not isinstance(named, str) or named.encode() in line.data


def _has(event: Event, line: Line) -> bool:
    """Return whether a line has the words of an event. Beside its name, they may be put together in another way."""
    words = _words(event)
    if not isinstance(event.source.get("providerEventId"), str):
        return bool(words) and any(words in text for text in _texts(line))
    if not _names(event, line):
        return False
    texts = list(_texts(line))
    return all(any(word in text for text in texts) for word in words.split() if any(map(str.isalnum, word)))


def _texts(line: Line) -> Iterator[str]:
    """Yield the texts in the records of a line, however deep they are."""
    left: list[Any] = [record.value for record in decode(line)]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, (dict, list)):
            left.extend(value.values() if isinstance(value, dict) else value)
