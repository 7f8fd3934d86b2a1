"""Whole sessions read from the beginning: exports, recordings rendered again, states after an upgrade."""

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.errors import SourceError, SourceGone
from katod.events import Event
from katod.formats.eventlines import is_event, is_note
from katod.formats.protocol import Format
from katod.formats.text.linkbase import is_address, seen_from
from katod.formats.transcript.pictures import linked
from katod.formatspec import FORMATS, open_document, open_format
from katod.log import EventLog
from katod.metadata import Replay, SessionMetadata
from katod.model import Cursor, Identity, Options, SessionKey
from katod.record.pictures import among, picture_file
from katod.record.ranges import RangePrinter
from katod.record.stream import LocalDedup, NoDedup, SessionStream
from katod.record.translation import set_title, take_name
from katod.store.rows import OutputRow, PersonalRow, SourceRow
from katod.write.output import OutputPath, save_asset
from katod.write.whole import drafted

_READ_BYTES: Final = 512 * 1024
_LOOK_AHEAD: Final = 400
_PIECE: Final = 64 * 1024  # characters
_MESSAGES: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE})


class Stretch(NamedTuple):
    """One source up to `limit` bytes; None means to its end, with held-back text and an unterminated last line."""

    path: str
    identity: Identity
    limit: int | None = None


def replay(
    key: SessionKey,
    stretches: Iterable[Stretch],
    log: EventLog,
    *,
    said: PersonalRow | None = None,
    skip_missing: bool = False,
    counts: bool = False,
    provisional: set[str] | None = None,
) -> Iterator[tuple[Event, SessionMetadata]]:
    """Yield each event of a session once, in order, with the metadata at that point. Raises SourceError.

    What is `said` of the session by the user is a part of the metadata; with `counts`, what became of the records is,
    too: a recording says that at its end. `provisional` collects the ids of events, before each is yielded,
    that a later record may say under another id, or show to be an echo.
    """
    seen = LocalDedup() if AGENTS[key.agent].nature.has_native_ids else NoDedup()
    stream, last = SessionStream(key, seen, log, said.metadata if said else None, counts=counts), None
    for stretch in stretches:
        last = stretch
        try:
            for event in _events(stream, stretch, provisional):
                yield event, stream.metadata
        except SourceError:
            if not skip_missing:
                raise
    if last is not None and last.limit is None:
        for event in stream.settle(last, provisional):
            yield event, stream.metadata


def _events(stream: SessionStream, stretch: Stretch, provisional: set[str] | None) -> Iterator[Event]:
    with AGENTS[stretch.identity.key.agent].open(stretch.path) as file:
        cursor, limit = Cursor(), stretch.limit
        while limit is None or cursor.offset < limit:
            batch = file.read(cursor, _READ_BYTES if limit is None else min(_READ_BYTES, limit - cursor.offset))
            yield from stream.events(stretch, batch.lines)
            cursor = batch.cursor
            if not batch.more or not batch.lines:
                break
        if limit is None:
            yield from stream.rest(stretch, file.rest(cursor.offset), provisional)


class Begun(NamedTuple):
    """A conversation whose first events have been read: its metadata has title and model, if those come soon."""

    first: list[Event]
    metadata: SessionMetadata
    rest: Iterator[tuple[Event, SessionMetadata]]

    @property
    def time(self) -> str:
        """When it began."""
        return began(self.first)


def began(events: list[Event]) -> str:
    """Return when a conversation began: at its first message, as what clients note before it may be much older."""
    times = [event.time for event in events if event.time and event.kind in _MESSAGES]
    return next((event.time for event in events if event.time), "") if not times else times[0]


def look_ahead(events: Replay) -> Begun | None:
    """Read the first events of a conversation; None if there are none."""
    first: list[Event] = []
    metadata: SessionMetadata | None = None
    rest = iter(events)
    for event, now in rest:
        first.append(event)
        metadata = now
        if (now.title and now.model) or len(first) >= _LOOK_AHEAD:
            break
    return Begun(first, metadata, rest) if metadata is not None else None


class Tally:
    """Counts what is said in a conversation while its events pass."""

    def __init__(self) -> None:
        self.spoken = 0
        self.unknown = 0

    def over(self, events: Replay) -> Iterator[tuple[Event, SessionMetadata]]:
        """Yield the events."""
        for event, metadata in events:
            self.spoken += event.kind in _MESSAGES
            self.unknown += event.kind == ev.PROVIDER_RAW
            yield event, metadata

    @property
    def problem(self) -> str:
        """What to tell a person if no message was found, but records of unknown shape were; else empty."""
        unread = self.unknown and not self.spoken
        return f"no message was found, and {self.unknown:,} records are not understood" if unread else ""


def render_all(
    events: Replay, format_name: str, options: Options, save: Callable[[str, str], None] = lambda _media, _data: None
) -> Iterator[str]:
    """Yield the text of a whole conversation, event by event; the head has the metadata of the first events.

    `save` is called with the media type and the base64 of each attachment that the text links to.
    """
    if (begun := look_ahead(events)) is not None:
        yield from render(begun, format_name, options, save)


def render(begun: Begun, format_name: str, options: Options, save: Callable[[str, str], None]) -> Iterator[str]:
    """Yield the text of a conversation that has begun, as `render_all` does."""
    if FORMATS[format_name].is_document:
        yield from _document(begun, format_name, options)
        return
    printer = open_format(format_name, options)
    yield from render_begun(begun, printer, save)
    yield printer.pause() + printer.end()


class FileSpool:
    """A text in a temporary file without a name, which no other user can read."""

    def __init__(self) -> None:
        self._file = TemporaryFile("w+", encoding="utf-8", errors="replace", newline="")  # noqa: SIM115 - close() does it

    def write(self, text: str) -> None:
        """Add to the end. Raises OSError if the disk is full."""
        self._file.write(text)

    def pieces(self) -> Iterator[str]:
        """Yield the text from the beginning."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece

    def close(self) -> None:
        """Give the space on the disk free."""
        self._file.close()


def _document(begun: Begun, format_name: str, options: Options) -> Iterator[str]:
    with ExitStack() as spools:
        document = open_document(format_name, options, lambda: spools.enter_context(closing(FileSpool())))
        for event, _ in _passing(begun):
            document.take(event)
        yield from document.pieces()


def render_begun(
    begun: Begun, printer: Format, save: Callable[[str, str], None] = lambda _media, _data: None
) -> Iterator[str]:
    """Yield the head and the text of a conversation that goes on after these events."""
    yield printer.head(begun.metadata, begun.time)
    for event, now in _passing(begun):
        text = printer.event(event, now)
        for media, data in linked(event, text):
            save(media, data)
        yield text


def _passing(begun: Begun) -> Replay:
    """Yield all events of a conversation, each with the metadata at that point."""
    early = SessionMetadata(begun.metadata.key)
    return chain(((event, early) for event in early.observed(begun.first)), begun.rest)


def picture_folder(name: str, format_name: str, options: Options) -> str:
    """Return the name of the folder beside a file in which the pictures of its export are saved; empty if none are."""
    return f"{Path(name).stem}.assets" if options.attachments == "save" and format_name == "markdown" else ""


def for_export(options: Options, format_name: str, folder: str) -> Options:
    """Return the options of an export, given the folder for its pictures; without one, they are in it or only named."""
    options = replace(options, exported=True)
    if folder:
        return replace(options, assets=folder)
    return options if FORMATS[format_name].carries_pictures else replace(options, attachments="name")


def linking_from(options: Options, folder: Path) -> Options:
    """Return the options of an export in a folder: a base of links that is a directory, as it is seen from there."""
    if not options.base or is_address(options.base):
        return options
    return replace(options, base=seen_from(options.base, os.path.realpath(folder)))


def picture_saver(root: Path, parts: tuple[str, ...], folder: str) -> Callable[[str, str], None]:
    """Return what saves a picture in a folder beside a file, under its hash. It raises OutputError."""
    place = OutputPath(root, parts)

    def save(media: str, data: str) -> None:
        save_asset(place, folder, *picture_file(media, data))

    return save


def publish_new(pieces: Iterable[str], folder: Path, name: str, hidden: str) -> None:
    """Write a new file to a folder, which has its name once it is complete, and is `hidden` until then.

    Raises OutputReplaced if something else has the name by then, or OSError; nothing is left.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with drafted(fd, hidden) as draft:
            for piece in pieces:
                draft.write(piece.encode("utf-8", "replace"))
            draft.complete()
            draft.publish(folder, (name,), None)
    finally:
        os.close(fd)


def render_recording(
    output: OutputRow, key: SessionKey, stretches: Iterable[Stretch], log: EventLog, printer: RangePrinter | None = None
) -> Iterator[str]:
    """Yield the text of a recording as it was made: its ranges, its fixed options, its marks.

    The printer at its beginning may be given.

    Raises SourceError if the place where a range begins is no longer in the sources.
    """
    printer = printer or RangePrinter.of(output, None)
    for event, metadata in replay(key, stretches, log, counts=True):
        yield printer.take(event, metadata)
    if not printer.active and printer.index < len(output.ranges):
        raise SourceError("the sources no longer contain the start of this recording", path=output.path)


def reprint(output: OutputRow, key: SessionKey, sources: Iterable[SourceRow], log: EventLog) -> dict[str, Any]:
    """Return the state of an output's format after everything printed; an empty one if the sources are incomplete."""
    kept = output.printer or {}
    printer = RangePrinter.of(output, None)
    stretches = [Stretch(source.path, source.identity, output.reached(source)) for source in sources]
    for event, metadata in replay(key, stretches, log, skip_missing=True, counts=True):
        printer.take(event, metadata)
    state = printer.state()
    same = (state["index"], state["active"]) == (kept.get("index", 0), kept.get("active", False))
    return state["format"] if same else {}


def pictures_again(names: Collection[str], stretch: Stretch, log: EventLog) -> Iterator[tuple[str, str]]:
    """Yield the pictures in a file of a session with these file names: media type, base64. One that is gone has none.

    Nothing is read if there are no names. Raises SourceError if it cannot be read.
    """
    with suppress(SourceGone):
        if names:
            yield from among((event for event, _ in replay(stretch.identity.key, [stretch], log)), names)


def read_katod(lines: Iterable[bytes], path: Path) -> Iterator[tuple[Event, SessionMetadata]]:
    """Yield the events of a katod JSONL file, without notes. Raises SourceError for a line that is neither.

    An editor may have put a byte order mark before the first one.
    """
    metadata: SessionMetadata | None = None
    for number, read in enumerate(lines, 1):
        line = read.removeprefix(BOM_UTF8) if number == 1 else read
        if is_note(line):
            continue
        try:
            event = ev.from_json(orjson.loads(line if is_event(line) else b""))
            spec = AGENTS[event.session.agent]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise SourceError(f"line {number} is not a katod event", path=path) from error
        if metadata is None:
            metadata = SessionMetadata(SessionKey(spec.name, event.session.id, event.session.subagent))
        if event.kind == ev.USER_MESSAGE:
            # Who typed it is not in the file. Taken as a draft only, it would have all of the session read for a title.
            set_title(metadata, event.payload["text"], event._replace(typed=True))
        else:
            take_name(metadata, event)
        for observed in metadata.observed([event]):
            yield observed, metadata
