"""What another machine's part has of a session: its events, or only those that were recorded there."""

from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import groupby
from typing import Final

import orjson

from katod.archive.parts import ArchivedSession
from katod.errors import OutputError, OutputUnreadable, SourceError
from katod.events import TOOL_CALL
from katod.formats.eventlines import is_event
from katod.metadata import Replay
from katod.record.export import look_ahead, read_katod
from katod.write.whole import hasher

_AT_ONCE: Final = 1024 * 1024
_CALL: Final = f'"kind":"{TOOL_CALL}"'.encode()


def events_of(found: ArchivedSession) -> Replay:
    """Yield the events of a session that has events. Raises OutputUnreadable, SourceError."""
    with found.open_events() as lines:
        yield from read_katod(lines, found.events_path)


def title_of(found: ArchivedSession, events: Replay | None = None) -> str:
    """Return what a session is called by its first events, or by those that are given; empty if they cannot be read."""
    try:
        begun = look_ahead(events or events_of(found))
    except (OutputError, SourceError):
        return ""  # what reads it says why
    return begun.metadata.list_title if begun else ""


def directory_of(found: ArchivedSession) -> str:
    """Return where a session that has events works, as the first of them say. Raises OutputUnreadable, SourceError."""
    return next((metadata.cwd for _, metadata in events_of(found) if metadata.cwd), "")


def calls_with(found: ArchivedSession, words: Iterable[str]) -> bool:
    """Return whether a call in a session that has events contains one of these words. Raises OutputUnreadable."""
    written = [orjson.dumps(word)[1:-1] for word in words]
    with found.open_events() as lines:
        return any(_CALL in line and any(word in line for word in written) for line in lines)


def recorded_parts(found: ArchivedSession) -> Iterator[Replay]:
    """Yield the events of each recorded part of a session that has events; each is to be read before the next.

    Raises OutputUnreadable, SourceError.
    """
    for _, lines in groupby(_recorded_lines(found), key=lambda numbered: numbered[0]):
        yield read_katod((line for _, line in lines), found.events_path)


def recorded_events(found: ArchivedSession) -> Replay:
    """Yield the events of all recorded parts. Raises OutputUnreadable, SourceError."""
    return read_katod(recorded_lines(found), found.events_path)


def recorded_lines(found: ArchivedSession) -> Iterator[bytes]:
    """Yield the lines of all recorded parts. Raises OutputUnreadable."""
    return (line for _, line in _recorded_lines(found))


def _recorded_lines(found: ArchivedSession) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of the recorded parts, each with the number of its part.

    The list says that of one file: nothing of another one is given, which may be newer than the list, or from somebody
    else. Raises OutputUnreadable.
    """
    if not found.recorded.parts:
        return
    with found.open_events() as lines:
        _require_same(lines, found)
        lines.seek(0)
        for number, (first, last) in enumerate(found.recorded.parts):
            is_active = False
            for line in lines:
                name = _id(line, found)
                is_active = is_active or name == first
                if is_active:
                    yield number, line
                if is_active and name == last:
                    break


def _require_same(file: BufferedReader, found: ArchivedSession) -> None:
    hashed = hasher()
    while data := file.read(_AT_ONCE):
        hashed.update(data)
    if hashed.hexdigest() != found.digest:
        what = "is not the file that the list describes: the export list has not been synced yet"
        raise OutputUnreadable(what, path=found.events_path, hint="try again when it has")


def _id(line: bytes, found: ArchivedSession) -> str:
    """Return the id of the event in a line. Raises OutputUnreadable if there is none."""
    try:
        return str(orjson.loads(line)["id"]) if is_event(line) else ""
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise OutputUnreadable("has a line that is not a katod event", path=found.events_path) from None
