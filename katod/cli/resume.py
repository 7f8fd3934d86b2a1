"""`katod resume`: the command with which an agent resumes one of its sessions."""

import os
from pathlib import Path

import click

from katod.archive.parts import ArchivedSession
from katod.cli.context import Context
from katod.cli.parameters import SESSION
from katod.cli.printing import say, say_as_it_is
from katod.cli.selection import select_anywhere, shown_with
from katod.discover.found import FoundSession
from katod.errors import SelectionError
from katod.shell import pasted, pasted_with_home


@click.command()
@click.argument("session", type=SESSION, default="")
@click.pass_obj
def resume(context: Context, session: str) -> None:
    """Print the command that resumes a session in its agent.

    The command is ready to paste, as in `cd ~/shop && claude --resume 6f1c2c1e-…`; katod itself changes nothing.
    Without SESSION, katod uses the only running recording. If there is none, or more than one, katod asks you to
    choose; outside a terminal, it uses the latest session of this directory. For a sub-agent, the command resumes the
    session that started it.
    """
    found = select_anywhere(context, session)
    if isinstance(found, ArchivedSession):
        raise _is_elsewhere(found)
    say_as_it_is(_command(context, found))


def _is_elsewhere(found: ArchivedSession) -> SelectionError:
    """Return why a session cannot be resumed here, and what can be done instead."""
    what = f"its agent's files are on the machine {found.machine}: it can be resumed only there"
    brief = f"`katod handoff {pasted(str(found.key))}` prints a brief with which another agent can go on here"
    hint = brief if found.has_events else f"`{shown_with(found)}` shows it"
    return SelectionError(what, path=str(found.key), hint=hint)


def _command(context: Context, found: FoundSession) -> str:
    """Return the command that resumes a session, or the one that started it. Raises SelectionError."""
    from katod.record.resumecommand import resume_command  # noqa: PLC0415 - loads the adapters' translation

    main = context.found().get(found.key._replace(subagent=""), found) if found.key.subagent else found
    (words, cwd), home = resume_command(main), str(Path.home())
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
