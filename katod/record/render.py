"""Whole conversations to text: exports of sessions and files, and of recordings as they were made."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from katod import events as ev
from katod.errors import SourceError
from katod.events import Event
from katod.facts import Facts
from katod.formats import open_format
from katod.journal import Journal
from katod.model import Options, SessionKey
from katod.record.conversation import head_facts
from katod.record.recorder import Recorder
from katod.record.replay import Stretch, replay
from katod.record.rows import OutputRow
from katod.record.translation import name_session

_LOOK_AHEAD = 400
Stream = Iterable[tuple[Event, Facts]]


def render_all(stream: Stream, format_name: str, options: Options) -> Iterator[str]:
    """Yield the text of a whole conversation, event by event; the head knows what the first events tell."""
    printer = open_format(format_name, options)
    waiting: list[Event] = []
    rest = iter(stream)
    facts: Facts | None = None
    for event, now in rest:
        waiting.append(event)
        facts = now
        if (now.title and now.model) or len(waiting) >= _LOOK_AHEAD:
            break
    if facts is None:
        return
    yield printer.head(facts, next((event.time for event in waiting if event.time), ""))
    early = Facts(facts.key)
    for event in waiting:
        early.observe(event)
        yield printer.event(event, early)
        early.close(event)
    for event, now in rest:
        yield printer.event(event, now)


def render_recording(
    output: OutputRow, key: SessionKey, stretches: Iterable[Stretch], journal: Journal
) -> Iterator[str]:
    """Yield the text of a recording as it was made: its ranges, its frozen options, its marks.

    Raises SourceError when the sources no longer hold where a range begins.
    """
    recorder = Recorder(output.format, output.options, output.ranges)
    recorder.titled = head_facts(output)
    for event, facts in replay(key, stretches, journal):
        yield recorder.take(event, facts)
    if not recorder.active and recorder.index < len(output.ranges):
        raise SourceError("the sources no longer hold where this recording begins", path=output.path)


def read_katod(lines: Iterable[bytes], path: Path) -> Iterator[tuple[Event, Facts]]:
    """Yield the events of a katod JSONL file. Raises SourceError for a line that is no event."""
    import orjson  # noqa: PLC0415 - only for this kind of source

    facts: Facts | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = ev.from_json(orjson.loads(line))
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise SourceError(f"line {number} is no katod event", path=path) from error
        if facts is None:
            facts = Facts(SessionKey(event.session.agent, event.session.id, event.session.subagent))
        if event.kind == ev.USER_MESSAGE:
            name_session(facts, event.payload.get("text", ""), event)
        facts.observe(event)
        yield event, facts
        facts.close(event)
