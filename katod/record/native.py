"""The native record that an event was made of."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from katod.agents import AGENTS
from katod.errors import SourceError
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Cursor, Line, SessionKey
from katod.record.export import Stretch
from katod.record.stream import Translation
from katod.tail.decode import decode

_READ_BYTES: Final = 512 * 1024


def native_record(
    key: SessionKey, stretches: Iterable[Stretch], is_wanted: Callable[[Event], bool]
) -> Iterator[list[Any] | None]:
    """Yield None for each line that is read, and last the decoded records of the line that a wanted event is in.

    A source that cannot be read is passed over, and so is one that is read as a whole: a line of it is no record.
    """
    for stretch in stretches:
        with suppress(SourceError):
            translation = Translation(stretch, SessionMetadata(key), EventLog())
            for line in _lines(stretch):
                events = [event for message in translation.feed([line]) for event in message if is_wanted(event)]
                if any(_is_in(event, line) for event in events):
                    yield [record.value for record in decode(line)]
                    return
                yield None


def _is_in(event: Event, line: Line) -> bool:
    """Return whether a line has an event, and not only let an adapter pass on what it held back of an earlier one."""
    named = event.source.get("providerEventId")
    return not isinstance(named, str) or named.encode() in line.data


def _lines(stretch: Stretch) -> Iterator[Line]:
    with AGENTS[stretch.identity.key.agent].open(stretch.path) as file:
        cursor, more = Cursor(), not file.is_document
        while more:
            batch = file.read(cursor, _READ_BYTES)
            yield from batch.lines
            cursor, more = batch.cursor, batch.more and bool(batch.lines)
