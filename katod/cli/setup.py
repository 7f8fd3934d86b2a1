"""`katod setup`: tells the agents what command lines are, and shows in them what is recorded."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from katod.agents import AGENTS
from katod.agents.spec import AgentSpec
from katod.cli.context import Context
from katod.cli.groups import Choice
from katod.cli.printing import say, say_as_it_is
from katod.cli.saving import offer_rescue
from katod.discover.roots import is_there
from katod.errors import SetupError
from katod.service import recordingfiles
from katod.setup import made
from katod.setup.files import Files
from katod.setup.plan import Places, SetupPlan
from katod.setup.preview import done, place, preview
from katod.store.statefolder import require_private

# `-P`, `-E`: the hook runs in the directory of a project, whose files must not be imported, not even for PYTHONPATH.
_HOOK: Final = ("-P", "-E", "-m", "katod.setup.hook")


@click.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...", type=Choice(sorted(AGENTS)))
@click.option("--remove", is_flag=True, help="Remove exactly what was added.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--print", "only_print", is_flag=True, help="Print the changes without making them.")
@click.option("--follow-links", is_flag=True, help="Follow symbolic links, and change their targets.")
@click.pass_obj
def setup(
    context: Context, agents: tuple[str, ...], remove: bool, yes: bool, only_print: bool, follow_links: bool
) -> None:
    """Tell your agents about katod, and have them show what is being recorded.

    Adds two lines to the instructions of each AGENT, so that the model ignores katod's commands. Without AGENT, this is
    done for all agents found on this machine. Claude Code also gets a status line that shows the recording, and a hook
    that corrects misspelt commands. katod shows every change, and asks first.

    Once, katod also asks whether it should save the sessions that an agent is about to delete (`recording.rescue`).
    """
    files = Files(follow=follow_links)
    plan = SetupPlan(_places(context.state), files)
    _fill(plan, agents, remove=remove)
    _show(plan, whole=only_print)
    if not plan.changes and not plan.refused:
        _require_private(context.state, remove=remove)
        say("Nothing to remove." if remove else "Nothing to add: everything is in place.")
    elif plan.changes and not only_print and _agreed(context.state, remove=remove, yes=yes):
        context.claim_state()
        _carry_out(plan, files, _places(context.state).state)
        if not remove:
            say("To undo this: katod setup --remove")
    _end(context, plan, files, asks=not (remove or yes or only_print))


def _end(context: Context, plan: SetupPlan, files: Files, *, asks: bool) -> None:
    """Ask what is asked once, and say that something went wrong, if it did. Raises SetupError."""
    if asks:
        offer_rescue(context, files)
    if plan.refused:
        raise SetupError("some files were not changed: see above")


def _fill(plan: SetupPlan, agents: Sequence[str], *, remove: bool) -> None:
    if not remove:
        plan.add(_chosen(agents))
        return
    names = agents or sorted(AGENTS)
    plan.remove([AGENTS[name] for name in names], [spec for name, spec in AGENTS.items() if name not in names])


def _show(plan: SetupPlan, *, whole: bool) -> None:
    for text in filter(None, (preview(plan.changes, whole=whole), *plan.notes)):  # lines of files
        say_as_it_is(text)
    for error in plan.refused:
        say(f"katod: not changed: {error}{f' ({error.hint})' if error.hint else ''}", err=True)


def _places(state: Path) -> Places:
    whole = Path(os.path.abspath(state))
    return Places(whole, whole / recordingfiles.FOLDER, (sys.executable, *_HOOK))


def _chosen(names: Sequence[str]) -> list[AgentSpec]:
    """Return the agents that were named, or all whose directory exists. Raises SetupError if there is none.

    One that nobody may look into is there: its files are refused by name, and those of the others are changed.
    """
    chosen = [AGENTS[name] for name in names or sorted(AGENTS)]
    found = chosen if names else [spec for spec in chosen if any(map(is_there, spec.roots()))]
    if not found:
        raise SetupError("no agent was found", hint=f"name the one to set up: {', '.join(sorted(AGENTS))}")
    return found


def _agreed(state: Path, *, remove: bool, yes: bool) -> bool:
    """Return whether the user wants the changes; where nobody can be asked, only with --yes. Raises LedgerError."""
    _require_private(state, remove=remove)
    if yes:
        return True
    if not _can_ask():
        raise SetupError("nothing was changed: confirmation needs a terminal", hint="use --yes to confirm")
    if click.confirm("Remove this?" if remove else "Add this?"):
        return True
    say("Nothing was changed.")
    return False


def _require_private(state: Path, *, remove: bool) -> None:
    """Raise LedgerError if others can write to the state directory: agents run what is or was put there."""
    if not remove and state.exists():
        require_private(state)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _carry_out(plan: SetupPlan, files: Files, state: Path) -> None:
    """Make the changes, part by part; what fails ends its part, and is said with what is left of that."""
    for part in plan.parts:
        for number, change in enumerate(part):
            new = made.missing(change.path)
            try:
                files.change(change)
                made.note(state, new)
            except SetupError as error:
                left = ", ".join(map(place, part[number:]))
                plan.refused.append(error)
                say(f"katod: {error}; not changed: {left}", err=True)
                break
            say(done(change))
            if change.after is None and change.path.is_relative_to(state):
                with suppress(OSError):  # there is another file in it
                    change.path.parent.rmdir()
    if any(change.after is None for change in plan.changes):
        for folder in made.remove_empty(state):
            say_as_it_is(f"removed {folder}")
