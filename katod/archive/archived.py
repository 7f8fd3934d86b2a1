"""What another machine's part has of a session: its events, or only those that were recorded there."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from io import BufferedReader
from itertools import groupby
from tempfile import TemporaryFile
from typing import Final, cast

import orjson

from katod.archive.manifest import WHOLE
from katod.archive.parts import ArchivedSession
from katod.errors import OutputUnreadable
from katod.events import TOOL_CALL
from katod.formats.eventlines import is_event
from katod.metadata import Replay
from katod.record.export import read_katod

_CALL: Final = f'"kind":"{TOOL_CALL}"'.encode()


def events_of(found: ArchivedSession) -> Replay:
    """Yield the events of a session that has events. Raises OutputUnreadable, SourceError."""
    with found.open() as lines:
        yield from read_katod(lines, found.path)


def calls_with(found: ArchivedSession, words: Iterable[str]) -> bool:
    """Return whether a call in a session that has events contains one of these words. Raises OutputUnreadable."""
    written = [orjson.dumps(word)[1:-1] for word in words]
    with found.open() as lines:
        return any(_CALL in line and any(word in line for word in written) for line in lines)


def recorded_parts(found: ArchivedSession) -> Iterator[Replay]:
    """Yield the events of each recorded part of a session that has events; each is to be read before the next.

    Raises OutputUnreadable, SourceError.
    """
    for _, lines in groupby(_recorded_lines(found), key=lambda numbered: numbered[0]):
        yield read_katod((line for _, line in lines), found.path)


def recorded_file(found: ArchivedSession) -> BufferedReader:
    """Return the file of a session with nothing but what was recorded of it, open for reading.

    Raises OutputUnreadable.
    """
    if found.recorded == WHOLE:
        return found.open()
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        file.writelines(line for _, line in _recorded_lines(found))
        file.seek(0)
        stack.pop_all()  # whoever takes it closes it
        return cast("BufferedReader", file)


def _recorded_lines(found: ArchivedSession) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of the recorded parts, each with the number of its part. Raises OutputUnreadable."""
    with found.open() as lines:
        is_active = False
        for number, (first, last) in enumerate(found.recorded):
            for line in lines:
                name = _id(line, found)
                is_active = is_active or first in ("", name)
                if is_active:
                    yield number, line
                if is_active and name == last:
                    is_active = False
                    break


def _id(line: bytes, found: ArchivedSession) -> str:
    """Return the id of the event in a line. Raises OutputUnreadable if there is none: nothing behind it is certain."""
    try:
        return str(orjson.loads(line)["id"]) if is_event(line) else ""
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise OutputUnreadable("has a line that is not a katod event", path=found.path) from None
