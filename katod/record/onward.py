"""How an agent goes on with a session: where, and with which command."""

from itertools import islice
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.agents.base import SPAWNED
from katod.discover.found import Found
from katod.errors import SelectionError
from katod.log import EventLog
from katod.record.export import Stretch, replay

_LOOK_AHEAD: Final = 400  # events


class Onward(NamedTuple):
    """The words of the command, and the directory of the session, empty if that is not known."""

    words: tuple[str, ...]
    cwd: str


def onward(main: Found) -> Onward:
    """Return how to go on with a session, or with the one that started it. Raises SelectionError if that is impossible.

    It is no sub-agent: these have no commands of their own.
    """
    spec = AGENTS[main.key.agent]
    if spec.resume is None:
        raise SelectionError(f"{spec.product} has no command that goes on with a session")
    session, cwd = _begun(main)
    if session.startswith("-") or not session.isprintable():  # it would be an option, or worse
        raise SelectionError("its id is not one that can be typed", path=str(main.key))
    return Onward(spec.resume(session, main.files[-1][0]), cwd)


def _begun(found: Found) -> tuple[str, str]:
    """Return the id by which its agent knows a session, that of the one that started it if there is one; and where."""
    session, cwd = found.key.id, ""
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    for event, metadata in islice(replay(found.key, stretches, EventLog(), skip_missing=True), _LOOK_AHEAD):
        is_spawned = metadata.start.origin == SPAWNED and event.session.parent
        session, cwd = event.session.parent if is_spawned else event.session.id, metadata.cwd
        if cwd:
            break
    return session, cwd
