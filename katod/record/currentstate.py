"""What a session is doing, found out on demand: from the end of its file, and from what its agent says beside it."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.agents.reports import heard, is_said_to_go_on
from katod.errors import SourceError
from katod.log import EventLog
from katod.metadata import SessionStart
from katod.model import Cursor, Identity, Line, Stat
from katod.record.export import Stretch
from katod.record.stream import NoDedup, SessionStream
from katod.states import Activity, JudgedEvents, is_over, judged
from katod.tail.reader import SourceFile

_LOOK_BACK: Final = 256 * 1024  # bytes
_LONGEST: Final = 1024 * 1024  # from the beginning of the line that is there


class _End(NamedTuple):
    """What the end of a source says: what is done, None if that is not in it; and how the session began."""

    seen: JudgedEvents | None = None
    start: SessionStart = SessionStart()


def current_state(sources: Iterable[tuple[str, Identity, Stat]], now: float) -> Activity | None:
    """Return the state of a session, given its sources as they were found; None if it is unknown.

    Of a session that did not change for a day, nothing is known: whatever it was doing, it is over. Unless its agent
    says that it still works, or waits.
    """
    path, identity, stat = max(sources, key=lambda source: source[2].mtime_ns)
    changed = stat.mtime_ns / 1e9
    if is_over(changed, now) and not is_said_to_go_on(path, identity.key):
        return None
    end = _end(path, identity, stat)
    report = heard(path, identity.key, end.start, end.seen or JudgedEvents(), now - changed)
    if end.seen is None and (report is None or report.is_gone):
        return None
    return judged(end.seen or JudgedEvents(), report, changed, now)


@lru_cache(maxsize=256)  # a command that shows it again and again reads only what has changed
def _end(path: str, identity: Identity, _: Stat) -> _End:
    """Return what the end of a source says."""
    try:
        with AGENTS[identity.key.agent].open(path) as file:
            head, lines = _ends(file, is_contained=AGENTS[identity.key.agent].is_contained(path))
            return _after(path, identity, head, lines)
    except SourceError:  # commands go on without it; what is wrong with a session is said elsewhere
        return _End()


def _after(path: str, identity: Identity, head: list[Line], lines: list[Line]) -> _End:
    """Return what the last lines of a source say; `head`: its first line, which says how they are to be read."""
    lifecycle, has_lines = AGENTS[identity.key.agent].lifecycle(identity.key.subagent), False
    stream, source = SessionStream(identity.key, NoDedup(), EventLog(), whole=False), Stretch(path, identity)
    list(stream.events(source, head))  # what it says was long ago
    for event in stream.events(source, lines):
        has_lines |= bool(lifecycle.take(event))
    is_known = has_lines or (lines and not head)
    return _End(lifecycle.seen if is_known else None, stream.metadata.start)


def _ends(file: SourceFile, *, is_contained: bool) -> tuple[list[Line], list[Line]]:
    """Return the lines at the end of a source, and before them its first line, if they are not all of it."""
    if is_contained:
        return [], file.read(Cursor(file.size), _LOOK_BACK).lines  # what may still change, and a little before it
    if file.size <= _LOOK_BACK:
        return [], file.read(Cursor(), _LOOK_BACK).lines
    if file.is_document:
        return [], []
    head = file.read(Cursor(), _LOOK_BACK).lines[:1]
    begin = file.last_newline(file.size - _LOOK_BACK)
    if file.size - begin > _LONGEST:  # a picture, a long result, all of the history again: what is behind it
        return head, file.read(Cursor(file.size - _LOOK_BACK), _LOOK_BACK).lines[1:]
    return head, file.read(Cursor(begin), file.size - begin).lines
