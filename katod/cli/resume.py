"""`katod resume`: ends a pause, or says how the agent itself goes on with a session."""

import os
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import click

from katod.agents import AGENTS
from katod.agents.base import SPAWNED
from katod.cli.context import Context
from katod.cli.parameters import SESSION
from katod.cli.pause import go_on
from katod.cli.printing import say
from katod.cli.selection import select
from katod.discover.found import Found
from katod.errors import SelectionError
from katod.log import EventLog
from katod.service.pause import paused_since
from katod.shell import pasted

_LOOK_AHEAD: Final = 400  # events


class _Beginning(NamedTuple):
    """What the first events of a session say: the id by which its agent knows it, and where it is."""

    id: str
    cwd: str


@click.command()
@click.argument("session", type=SESSION, default="")
@click.pass_obj
def resume(context: Context, session: str) -> None:
    """End a pause, or print the agent's command for a session.

    While katod is paused, `katod resume` without SESSION ends the pause: katod records again, and nothing is printed
    for an agent. With SESSION, and whenever katod is not paused, it changes nothing, and prints the command with which
    the agent itself goes on with the session, ready to paste: `cd ~/shop && claude --resume 6f1c2c1e-…`. Without
    SESSION, it is the only one that is being recorded; else you choose on a terminal, and elsewhere it is the latest of
    this directory. For a sub-agent, it is the command of the session that started it.
    """
    if not session and paused_since(context.state):
        go_on(context)
    else:
        say(_command(context, select(context, session)))


def _command(context: Context, found: Found) -> str:
    """Return the command that goes on with a session, or with the one that started it. Raises SelectionError."""
    spec = AGENTS[found.key.agent]
    main = context.found().get(found.key._replace(subagent=""), found) if found.key.subagent else found
    if spec.resume is None:
        raise SelectionError(f"{spec.product} has no command that goes on with a session")
    begun = _begun(main)
    if begun.id.startswith("-") or not begun.id.isprintable():  # it would be an option, or worse
        raise SelectionError("its id is not one that can be typed", path=str(main.key))
    words = spec.resume(begun.id, main.files[-1][0])
    return f"{_change_directory(begun.cwd)}{' '.join(map(_quoted, words))}"


def _begun(found: Found) -> _Beginning:
    """Return what is known of the beginning of a session; for one that was started by another, the id of that."""
    from katod.record.export import Stretch, replay  # noqa: PLC0415 - loads the adapters' translation

    begun = _Beginning(found.key.id, "")
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    for event, metadata in islice(replay(found.key, stretches, EventLog(), skip_missing=True), _LOOK_AHEAD):
        session = event.session
        is_spawned = metadata.start.origin == SPAWNED and session.parent
        begun = _Beginning(session.parent if is_spawned else session.id, metadata.cwd)
        if begun.cwd:
            break
    return begun


def _change_directory(cwd: str) -> str:
    """Return the command that goes to a session's directory, nothing if that is this one or no longer exists."""
    if not os.path.isabs(cwd):
        return ""
    if not os.path.isdir(cwd):
        say(f"katod: the directory of this session no longer exists: {cwd}", err=True)
        return ""
    if os.path.samefile(cwd, "."):
        return ""
    return f"cd {_quoted(cwd)} && "


def _quoted(word: str) -> str:
    """Return a word of the command, with `~` for the home directory."""
    home = str(Path.home())
    if word == home:
        return "~"
    return f"~/{pasted(word[len(home) + 1 :])}" if word.startswith(f"{home}/") else pasted(word)
