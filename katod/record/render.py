"""Whole conversations to text: exports of sessions and files, and of recordings as they were made."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from katod import events as ev
from katod.errors import SourceError
from katod.events import Event
from katod.formats import open_format
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.conversation import head_metadata
from katod.record.recorder import Recorder
from katod.record.replay import Stretch, replay
from katod.record.rows import OutputRow
from katod.record.translation import name_session

_LOOK_AHEAD = 400
Stream = Iterable[tuple[Event, SessionMetadata]]


def render_all(stream: Stream, format_name: str, options: Options) -> Iterator[str]:
    """Yield the text of a whole conversation, event by event; the head knows what the first events tell."""
    printer = open_format(format_name, options)
    waiting: list[Event] = []
    rest = iter(stream)
    metadata: SessionMetadata | None = None
    for event, now in rest:
        waiting.append(event)
        metadata = now
        if (now.title and now.model) or len(waiting) >= _LOOK_AHEAD:
            break
    if metadata is None:
        return
    yield printer.head(metadata, next((event.time for event in waiting if event.time), ""))
    early = SessionMetadata(metadata.key)
    for event in waiting:
        early.observe(event)
        yield printer.event(event, early)
        early.close(event)
    for event, now in rest:
        yield printer.event(event, now)


def render_recording(output: OutputRow, key: SessionKey, stretches: Iterable[Stretch], log: EventLog) -> Iterator[str]:
    """Yield the text of a recording as it was made: its ranges, its frozen options, its marks.

    Raises SourceError when the sources no longer hold where a range begins.
    """
    recorder = Recorder(output.format, output.options, output.ranges)
    recorder.titled = head_metadata(output)
    for event, metadata in replay(key, stretches, log):
        yield recorder.take(event, metadata)
    if not recorder.active and recorder.index < len(output.ranges):
        raise SourceError("the sources no longer hold where this recording begins", path=output.path)


def read_katod(lines: Iterable[bytes], path: Path) -> Iterator[tuple[Event, SessionMetadata]]:
    """Yield the events of a katod JSONL file. Raises SourceError for a line that is no event."""
    import orjson  # noqa: PLC0415 - only for this kind of source

    metadata: SessionMetadata | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = ev.from_json(orjson.loads(line))
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise SourceError(f"line {number} is no katod event", path=path) from error
        if metadata is None:
            metadata = SessionMetadata(SessionKey(event.session.agent, event.session.id, event.session.subagent))
        if event.kind == ev.USER_MESSAGE:
            name_session(metadata, event.payload.get("text", ""), event)
        metadata.observe(event)
        yield event, metadata
        metadata.close(event)
