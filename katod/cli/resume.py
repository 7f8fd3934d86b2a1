"""`katod resume`: ends a pause, or says how the agent itself goes on with a session."""

import os
from pathlib import Path

import click

from katod.cli.context import Context
from katod.cli.parameters import SESSION
from katod.cli.pause import go_on
from katod.cli.printing import say
from katod.cli.selection import select
from katod.discover.found import Found
from katod.service.pause import paused_since
from katod.shell import pasted_with_home


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
    from katod.record.onward import onward  # noqa: PLC0415 - loads the adapters' translation

    main = context.found().get(found.key._replace(subagent=""), found) if found.key.subagent else found
    (words, cwd), home = onward(main), str(Path.home())
    return f"{_change_directory(cwd)}{' '.join(pasted_with_home(word, home) for word in words)}"


def _change_directory(cwd: str) -> str:
    """Return the command that goes to a session's directory, nothing if that is this one or no longer exists."""
    if not os.path.isabs(cwd):
        return ""
    if not os.path.isdir(cwd):
        say(f"katod: the directory of this session no longer exists: {cwd}", err=True)
        return ""
    if os.path.samefile(cwd, "."):
        return ""
    return f"cd {pasted_with_home(cwd, str(Path.home()))} && "
