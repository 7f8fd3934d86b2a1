"""The command that resumes a session in its agent, and the directory to run it in."""

from itertools import islice
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.agents.spec import SPAWNED
from katod.discover.found import FoundSession
from katod.errors import SelectionError
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.record.export import Stretch, replay

_LOOK_AHEAD: Final = 400  # events


class ResumeCommand(NamedTuple):
    """The words of the command, and the directory of the session, empty if that is not known."""

    words: tuple[str, ...]
    cwd: str


def resume_command(main: FoundSession) -> ResumeCommand:
    """Return how to go on with a session, or with the one that started it. Raises SelectionError if that is impossible.

    It is no sub-agent: these have no commands of their own.
    """
    return _command(main, *_begun(main))


def resume_command_from(main: FoundSession, metadata: SessionMetadata) -> ResumeCommand:
    """Return the same from the metadata of the session, without reading it. Raises SelectionError."""
    start = metadata.start
    is_spawned = start.origin == SPAWNED and start.parent
    return _command(main, start.parent if is_spawned else start.session or main.key.id, start.cwd)


def _command(main: FoundSession, session: str, cwd: str) -> ResumeCommand:
    """Return the command that goes on with the session of this id in this directory. Raises SelectionError."""
    spec = AGENTS[main.key.agent]
    if spec.resume is None:
        raise SelectionError(f"{spec.product} has no command that resumes a session")
    if session.startswith("-") or not session.isprintable():  # it would be an option, or worse
        raise SelectionError("its id is not one that can be typed", path=str(main.key))
    return ResumeCommand(spec.resume(session, main.files[-1][0]), cwd)


def _begun(found: FoundSession) -> tuple[str, str]:
    """Return the id by which its agent knows a session, that of the one that started it if there is one; and where."""
    session, cwd = found.key.id, ""
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    for event, metadata in islice(replay(found.key, stretches, EventLog(), skip_missing=True), _LOOK_AHEAD):
        is_spawned = metadata.start.origin == SPAWNED and event.session.parent
        session, cwd = event.session.parent if is_spawned else event.session.id, metadata.cwd
        if cwd:
            break
    return session, cwd
