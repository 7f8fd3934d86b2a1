"""`katod forget`: katod drops what it knows of a session."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from katod.archive.drop import copies_in, drop, unmark
from katod.archive.folder import opened
from katod.archive.folders import known_folders
from katod.archive.machine import this_machine
from katod.archive.manifest import MANIFEST
from katod.archive.update import line_of
from katod.cli.context import Context
from katod.cli.parameters import SESSION
from katod.cli.printing import say
from katod.cli.record import ask
from katod.cli.selection import select_known
from katod.config import rescue_path
from katod.errors import KatodError, SelectionError, TargetRefused
from katod.model import SessionKey
from katod.record.family import family
from katod.record.forget import Remains, undeletable
from katod.rescue.names import saved_keys
from katod.service.control import WITH_OUTPUTS
from katod.store.integrity import containing, quarantined
from katod.store.ledger import LEDGER_NAME
from katod.store.rows import OutputRow, PersonalRow
from katod.tables.address import LOCAL
from katod.tables.dataset import ask_to_forget
from katod.tables.forgetting import drop_rows, incomplete_sets, known_rows, known_sessions

_UNKNOWN: Final = (
    "  katod's log and all other copies stay; `katod export --all` writes the session again while its agent has it"
)


@click.command()
@click.argument("session", type=SESSION, default="")
@click.option("--outputs", is_flag=True, help="Also delete its transcripts and their attachments.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def forget(context: Context, session: str, outputs: bool, yes: bool) -> None:
    """Delete what katod knows of a session.

    SESSION is a session id or the beginning of one, `agent:id`, the number or the file of a recording, or `latest`.
    Without SESSION, katod asks you to choose one; this needs a terminal. katod ends the recordings of the session and
    deletes its text, title and paths from its own state, and what `katod rescue` has of it. It does not change the
    agent's files. Commands that were already typed in the session are never executed again, but a new `::start` records
    it again. katod shows what it will delete, and asks first.
    """
    key = select_known(context, session, known_sessions(context.state))
    remains = _remains(context, key)
    copies, rows = Copies(context.state, key), TableRows(context, key)
    elsewhere = (*copies.described(outputs=outputs), *rows.described(outputs=outputs))
    for line in (*_described(context, key, remains, outputs=outputs), *elsewhere, _UNKNOWN):
        say(line)
    if not yes and not _agreed():
        say("Nothing was changed.")
        return
    if outputs:
        rows.ask()
    _ask(context, key, WITH_OUTPUTS if outputs else "")
    say(f"{key} is forgotten")
    if not outputs:
        copies.unmark()
        return
    rows_left = rows.drop()
    left = [*(row.path for row in remains.outputs if os.path.lexists(row.path)), *copies.delete()]
    if left:
        raise KatodError(
            f"not deleted: {', '.join(map(str, left))}", hint="delete these files yourself if you no longer need them"
        )
    if rows_left:
        hint = "the next `katod export --all -f parquet` there takes them out"
        raise KatodError(f"its rows stay for now in {', '.join(rows_left)}", hint=hint)


class Copies:
    """What the folders have of a session, and of its sub-agents, to which `katod export --all` wrote."""

    def __init__(self, state: Path, key: SessionKey) -> None:
        self._key = key
        folders = known_folders(state)
        self._gone = [root for root in folders if not (root / MANIFEST).exists()]
        found = ((root, copies_in(root, self._is_of)) for root in folders)
        self._found = {root: entries for root, entries in found if entries}

    def _is_of(self, key: SessionKey) -> bool:
        return _belongs(key, self._key)

    def described(self, *, outputs: bool) -> Iterator[str]:
        """Yield what becomes of each copy."""
        for root, entries in self._found.items():
            for entry in entries:
                if entry.name:
                    yield f"  the copy {root / entry.name} {'is deleted' if outputs else 'stays'}"
        for root in self._gone:
            yield f"  copies in {root} stay: `katod export --all` wrote there, but its list is not there now"

    def unmark(self) -> None:
        """Mark nothing of the session as recorded any more: other machines give it to no program then."""
        for root in self._found:
            with suppress(KatodError, OSError), opened(root) as folder:  # the next export does it
                unmark(folder, {slot[0] for slot in folder.manifest.entries if not self._is_of(slot[0])})
                folder.compact()

    def delete(self) -> list[Path]:
        """Delete the copies, and what is said of them; return those that stay."""
        left: list[Path] = []
        for root in self._found:
            try:
                left += drop(root, self._is_of)
            except (KatodError, OSError):  # another export is writing there, or it cannot be written
                left += [root / entry.name for entry in self._found[root] if entry.name]
        return left


class TableRows:
    """The rows of a session, and of its sub-agents, in the data sets that `katod export --all -f parquet` wrote."""

    def __init__(self, context: Context, key: SessionKey) -> None:
        self._context = context
        self._found = known_rows(context.state, lambda other: _belongs(other, key))

    def described(self, *, outputs: bool) -> Iterator[str]:
        """Yield what becomes of the rows in each data set."""
        for rows in self._found:
            yield f"  its rows in {rows.address} {'are deleted' if outputs else 'stay'}"
        if outputs and (incomplete := incomplete_sets(self._context.state)):
            yield f"  rows may be left in {', '.join(incomplete)}: the next export there takes them out"

    def ask(self) -> None:
        """Have the rows go, before anything else forgets the session: whatever ends katod, that stays asked for.

        Raises KatodError.
        """
        for rows in self._found:
            try:
                ask_to_forget(self._context.state, rows.address, rows.sessions)
            except OSError as error:
                raise KatodError(f"cannot be written: {error.strerror}", path=error.filename) from error

    def drop(self) -> list[str]:
        """Delete the rows; say why, and return in which data sets, they could not be."""
        left = []
        for rows in self._found:
            try:
                machine = this_machine(self._context.settings.archive.machine or LOCAL, self._context.state)
                for note in drop_rows(self._context.state, machine, rows):
                    say(f"katod: {note}", err=True)
            except (KatodError, OSError) as error:
                say(f"katod: {line_of(error)}", err=True)
                left.append(rows.address)
        return left


def _belongs(key: SessionKey, session: SessionKey) -> bool:
    """Return whether a session is another one, or a sub-agent of it."""
    return session in (key, key._replace(subagent=""))


def _ask(context: Context, key: SessionKey, name: str) -> None:
    """Have the session forgotten. Raises KatodError, also if it is, but a part of it is still in the ledger's log."""
    try:
        ask(context, key, "forget", name)
    except TargetRefused:
        raise
    except KatodError as error:
        if _remains(context, key).sessions:
            raise
        what = f"{key} is forgotten, but another program keeps the ledger open, and with it the deleted data"
        raise KatodError(what, hint="katod keeps trying while it runs") from error


def _remains(context: Context, key: SessionKey) -> Remains:
    with context.reading() as ledger:
        return Remains([], [], [], []) if ledger is None else Remains.of(family(key, ledger), ledger)


def _described(context: Context, key: SessionKey, remains: Remains, *, outputs: bool) -> Iterator[str]:
    """Yield what is dropped, line by line."""
    yield from _named(context, key)
    if key in saved_keys(rescue_path()):
        yield "  and deletes what was saved of it from deletion (`katod rescue`)"
    if context.settings.recording.rescue:
        yield "  and saves it from deletion no more, whatever is said in it from now on"
    for row in remains.sessions:
        if row.key != key:
            yield f"  and its sub-agent {row.key}"
    if outputs and not remains.outputs:
        yield "  katod knows of no transcripts of it: if there are any, delete them yourself"
    for output in remains.outputs:
        yield f"  recording {output.id}{_state(output)}: {_fate(output, outputs=outputs)}"
    yield from _delivered(remains)
    for path in containing(quarantined(context.state, LEDGER_NAME), remains.words):
        yield f"  and deletes {path}, a quarantined ledger in which it is named"


def _delivered(remains: Remains) -> Iterator[str]:
    """Yield what was delivered elsewhere: only the id of a room begins with an exclamation mark."""
    for destination, number in remains.delivered:
        what, where = ("event", "in the room") if destination.startswith("!") else ("span", "at the collector")
        stay = f"1 {what} stays" if number == 1 else f"{number:,} {what}s stay"
        yield f"  {stay} {where} {destination}, where katod deletes nothing"


def _named(context: Context, key: SessionKey) -> Iterator[str]:
    """Yield which session it is, as lists name it, and that what its person said of it goes as well."""
    from katod.cli.sessionrow import called  # noqa: PLC0415 - it loads the translation

    yield f"katod forgets {called(context, key)}"
    with context.reading() as ledger:
        if ledger and ledger.personal.of(key) != PersonalRow(key):
            yield "  and the title, star and labels that you gave it"


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
        raise SelectionError("nothing was changed: confirmation needs a terminal", hint="use --yes to confirm")
    return click.confirm("Go on?")


def _can_ask() -> bool:
    return sys.stdin.isatty()
