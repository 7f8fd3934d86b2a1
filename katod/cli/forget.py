"""`katod forget`: katod drops what it knows of a session."""

import os
import sys
from collections.abc import Iterator

import click

from katod.cli.context import Context
from katod.cli.parameters import SESSION
from katod.cli.printing import say
from katod.cli.record import ask
from katod.cli.selection import select_known
from katod.errors import KatodError, SelectionError, TargetRefused
from katod.model import SessionKey
from katod.record.family import family
from katod.record.forget import Remains, undeletable
from katod.service.control import WITH_OUTPUTS
from katod.store.integrity import containing, quarantined
from katod.store.ledger import LEDGER_NAME
from katod.store.rows import OutputRow


@click.command()
@click.argument("session", type=SESSION, default="")
@click.option("--outputs", is_flag=True, help="Also delete its transcripts, with their attachments.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def forget(context: Context, session: str, outputs: bool, yes: bool) -> None:
    """Drop what katod knows of a session.

    SESSION is a session id, a unique prefix of one, `agent:prefix`, the number or the file of a recording, or `latest`;
    without one, you choose on a terminal.
    Its recordings end, and no text, title or path of it stays in katod's state. The agent's own files are not changed.
    Commands that were typed in it so far never act again; it is recorded only if you type a new one.
    Shows what is dropped, and asks first.
    """
    key = select_known(context, session)
    remains = _remains(context, key)
    for line in _described(context, key, remains, outputs=outputs):
        say(line)
    if not yes and not _agreed():
        say("Nothing was changed.")
        return
    _ask(context, key, WITH_OUTPUTS if outputs else "")
    say(f"{key} is forgotten")
    left = [row.path for row in remains.outputs if os.path.lexists(row.path)] if outputs else []
    if left:
        raise KatodError(f"not deleted: {', '.join(map(str, left))}", hint="delete what you do not need yourself")


def _ask(context: Context, key: SessionKey, name: str) -> None:
    """Have the session forgotten. Raises KatodError, also if it is, but a part of it is still in the ledger's log."""
    try:
        ask(context, key, "forget", name)
    except TargetRefused:
        raise
    except KatodError as error:
        if _remains(context, key).sessions:
            raise
        what = f"{key} is forgotten, but another program reads the ledger, whose log keeps what was deleted until then"
        raise KatodError(what, hint="katod goes on trying while it runs") from error


def _remains(context: Context, key: SessionKey) -> Remains:
    with context.reading() as ledger:
        return Remains([], [], [], []) if ledger is None else Remains.of(family(key, ledger), ledger)


def _described(context: Context, key: SessionKey, remains: Remains, *, outputs: bool) -> Iterator[str]:
    """Yield what is dropped, line by line."""
    yield f"katod forgets {key}"
    for row in remains.sessions:
        if row.key != key:
            yield f"  and its sub-agent {row.key}"
    if outputs and not remains.outputs:
        yield "  katod does not know any transcripts of it, or does not know them any more: delete those yourself"
    for output in remains.outputs:
        yield f"  recording {output.id}{_state(output)}: {_fate(output, outputs=outputs)}"
    for room, number in remains.delivered:
        what = "1 event stays" if number == 1 else f"{number:,} events stay"
        yield f"  {what} in the room {room}, where katod deletes nothing"
    for path in containing(quarantined(context.state, LEDGER_NAME), remains.words):
        yield f"  and deletes {path}, a quarantined ledger in which it is named"


def _state(row: OutputRow) -> str:
    """Return what is still going on with a recording."""
    if row.problem and (row.intent is not None or row.behind is not None):
        return " (parked: what could not be written yet is lost)"
    return " (ends now)" if row.open or row.paused else ""


def _fate(row: OutputRow, *, outputs: bool) -> str:
    """Return what becomes of a transcript."""
    if row.held is not None or not row.ino:
        return "there is no file yet"
    if not outputs:
        return f"{row.path} stays"
    why = undeletable(row)
    return f"{row.path} {f'stays: {why}' if why else 'is deleted'}"


def _agreed() -> bool:
    """Return whether the person agrees. Raises SelectionError where nobody can be asked."""
    if not _can_ask():
        raise SelectionError("nothing was changed: there is no terminal to ask on", hint="repeat this with --yes")
    return click.confirm("Go on?")


def _can_ask() -> bool:
    return sys.stdin.isatty()
