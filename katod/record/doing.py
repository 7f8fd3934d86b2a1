"""What a session is doing, found out on demand: from the end of its file, and from what its agent says beside it."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.lifecycle import Lifecycle, Report, State, is_over, is_stalled
from katod.log import EventLog
from katod.model import Cursor, Identity, Line
from katod.record.export import Stretch
from katod.record.stream import NeverSeen, SessionStream
from katod.tail.reader import SourceFile

_LOOK_BACK: Final = 256 * 1024  # bytes
_LONGEST: Final = 1024 * 1024  # from the beginning of the line that is there


class Doing(NamedTuple):
    """The state of a session; `stalled`: it says that it works, but has said nothing for hours."""

    state: State
    stalled: bool = False

    def row(self) -> dict[str, str | bool]:
        """Return it as commands print it in JSON."""
        return {"state": self.state.value} | ({"stalled": True} if self.stalled else {})


def doing(sources: Iterable[tuple[str, Identity, int]], now: float) -> Doing | None:
    """Return what a session is doing, given its sources and when each changed (ns); None where that is not known.

    Of a session that did not change for a day, nothing is known: whatever it was doing, it is over.
    """
    path, identity, changed_ns = max(sources, key=lambda source: source[2])
    changed = changed_ns / 1e9
    if is_over(changed, now):
        return None
    derived = _derived(path, identity, changed_ns)
    report = reported(path, identity)
    if report is not None:
        return Doing(report.over(derived or State.IDLE))
    return None if derived is None else Doing(derived, is_stalled(derived, changed, now))


def reported(path: str, identity: Identity) -> Report | None:
    """Return what an agent says of a session beside its file; of a sub-agent, it says nothing."""
    key = identity.key
    return None if key.subagent else AGENTS[key.agent].reported(Path(path), key.id)


@lru_cache(maxsize=256)  # a command that shows it again and again reads only what has changed
def _derived(path: str, identity: Identity, _changed_ns: int) -> State | None:
    """Return the state that follows from the end of a source; None if that says nothing."""
    try:
        with AGENTS[identity.key.agent].open(path) as file:
            head, lines = _ends(file, is_contained=AGENTS[identity.key.agent].is_contained(path))
        return _after(path, identity, head, lines)
    except Exception:  # noqa: BLE001 - commands go on without it; what is wrong with a session is said elsewhere
        return None


def _after(path: str, identity: Identity, head: list[Line], lines: list[Line]) -> State | None:
    """Return the state after the last lines of a source; `head`: its first line, which says how they are to be read."""
    lifecycle, has_lines = Lifecycle(identity.key.subagent), False
    stream, source = SessionStream(identity.key, NeverSeen(), EventLog()), Stretch(path, identity)
    list(stream.events(source, head))  # what it says was long ago
    for event in stream.events(source, lines):
        has_lines |= bool(lifecycle.take(event))
    return lifecycle.state if has_lines or (lines and not head) else None


def _ends(file: SourceFile, *, is_contained: bool) -> tuple[list[Line], list[Line]]:
    """Return the lines at the end of a source, and before them its first line, if they are not all of it."""
    if is_contained:
        return [], file.read(Cursor(file.size), _LOOK_BACK).lines  # what may still change, and a little before it
    if file.size <= _LOOK_BACK:
        return [], file.read(Cursor(), _LOOK_BACK).lines
    if file.is_document:
        return [], []
    begin = file.last_newline(file.size - _LOOK_BACK)
    if file.size - begin > _LONGEST:  # a picture, or a long result
        return [], []
    return file.read(Cursor(), _LOOK_BACK).lines[:1], file.read(Cursor(begin), file.size - begin).lines
