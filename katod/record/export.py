"""Whole sessions read from the beginning: exports, recordings rendered again, states after an upgrade."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.errors import SourceError
from katod.events import Event
from katod.formats.pictures import linked
from katod.formats.protocol import Format
from katod.formats.registry import open_format
from katod.log import EventLog
from katod.metadata import Replay, SessionMetadata
from katod.model import Cursor, Identity, Options, SessionKey
from katod.record.ranges import RangePrinter
from katod.record.stream import NeverSeen, SeenHere, SessionStream, set_title
from katod.store.rows import OutputRow, SourceRow

_READ_BYTES: Final = 512 * 1024
_LOOK_AHEAD: Final = 400
_MESSAGES: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE})


class Stretch(NamedTuple):
    """One source up to `limit` bytes; None means to its end, with held-back text and an unterminated last line."""

    path: str
    identity: Identity
    limit: int | None = None


def replay(
    key: SessionKey, stretches: Iterable[Stretch], log: EventLog, *, skip_missing: bool = False
) -> Iterator[tuple[Event, SessionMetadata]]:
    """Yield each event of a session once, in order, with the metadata at that point. Raises SourceError."""
    seen = SeenHere() if AGENTS[key.agent].nature.has_native_ids else NeverSeen()
    stream = SessionStream(key, seen, log)
    for stretch in stretches:
        try:
            for event in _events(stream, stretch):
                yield event, stream.metadata
        except SourceError:
            if not skip_missing:
                raise


def _events(stream: SessionStream, stretch: Stretch) -> Iterator[Event]:
    with AGENTS[stretch.identity.key.agent].open(stretch.path) as file:
        cursor, limit = Cursor(), stretch.limit
        while limit is None or cursor.offset < limit:
            batch = file.read(cursor, _READ_BYTES if limit is None else min(_READ_BYTES, limit - cursor.offset))
            yield from stream.events(stretch, batch.lines)
            cursor = batch.cursor
            if not batch.more or not batch.lines:
                break
        if limit is None:
            yield from stream.rest(stretch, file.rest(cursor.offset))


def render_all(
    events: Replay, format_name: str, options: Options, save: Callable[[str, str], None] = lambda _media, _data: None
) -> Iterator[str]:
    """Yield the text of a whole conversation, event by event; the head has the metadata of the first events.

    `save` is called with the media type and the base64 of each attachment that the text links to.
    """
    printer = open_format(format_name, options)
    is_empty = True
    for text in render_begun(events, printer, save):
        is_empty = False
        yield text
    if not is_empty:
        yield printer.pause() + printer.end()


def render_begun(
    events: Replay, printer: Format, save: Callable[[str, str], None] = lambda _media, _data: None
) -> Iterator[str]:
    """Yield the head and the text of a conversation that goes on after these events; nothing if there are none yet."""
    rest = iter(events)
    waiting, metadata = _look_ahead(rest)
    if metadata is None:
        return
    yield printer.head(metadata, begun(waiting))
    early = SessionMetadata(metadata.key)
    for event, now in chain(((event, early) for event in early.observed(waiting)), rest):
        text = printer.event(event, now)
        for media, data in linked(event, text):
            save(media, data)
        yield text


def begun(events: list[Event]) -> str:
    """Return when a conversation began: at its first message, as what clients note before it may be much older."""
    times = [event.time for event in events if event.time and event.kind in _MESSAGES]
    return next((event.time for event in events if event.time), "") if not times else times[0]


def _look_ahead(events: Iterator[tuple[Event, SessionMetadata]]) -> tuple[list[Event], SessionMetadata | None]:
    """Return the first events, and the metadata after them: it has title and model, if those come soon."""
    waiting: list[Event] = []
    metadata: SessionMetadata | None = None
    for event, now in events:
        waiting.append(event)
        metadata = now
        if (now.title and now.model) or len(waiting) >= _LOOK_AHEAD:
            break
    return waiting, metadata


def render_recording(output: OutputRow, key: SessionKey, stretches: Iterable[Stretch], log: EventLog) -> Iterator[str]:
    """Yield the text of a recording as it was made: its ranges, its fixed options, its marks.

    Raises SourceError if the place where a range begins is no longer in the sources.
    """
    printer = RangePrinter.of(output, None)
    for event, metadata in replay(key, stretches, log):
        yield printer.take(event, metadata)
    if not printer.active and printer.index < len(output.ranges):
        raise SourceError("the sources no longer contain the start of this recording", path=output.path)


def reprint(output: OutputRow, key: SessionKey, sources: Iterable[SourceRow], log: EventLog) -> dict[str, Any]:
    """Return the state of an output's format after everything printed; an empty one if the sources are incomplete."""
    kept = output.printer or {}
    printer = RangePrinter.of(output, None)
    stretches = [Stretch(source.path, source.identity, output.reached(source)) for source in sources]
    for event, metadata in replay(key, stretches, log, skip_missing=True):
        printer.take(event, metadata)
    state = printer.state()
    same = (state["index"], state["active"]) == (kept.get("index", 0), kept.get("active", False))
    return state["format"] if same else {}


def read_katod(lines: Iterable[bytes], path: Path) -> Iterator[tuple[Event, SessionMetadata]]:
    """Yield the events of a katod JSONL file. Raises SourceError for a line that is not an event."""
    metadata: SessionMetadata | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = ev.from_json(orjson.loads(line))
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise SourceError(f"line {number} is not a katod event", path=path) from error
        if metadata is None:
            metadata = SessionMetadata(SessionKey(event.session.agent, event.session.id, event.session.subagent))
        if event.kind == ev.USER_MESSAGE:
            set_title(metadata, event.payload.get("text", ""), event)
        for observed in metadata.observed([event]):
            yield observed, metadata
