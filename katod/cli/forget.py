"""`katod forget`: katod drops what it knows of a session."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import click

from katod.archive.claims import ClaimedSessions, Evidence
from katod.archive.drop import ListedFile, drop, has_lost_lines, listed_copies, names_of_others
from katod.archive.excludedonce import forget_excluded, sessions_excluded
from katod.archive.folder import DRAFT, opened
from katod.archive.folders import damaged_list, known_folders
from katod.archive.machine import this_machine
from katod.archive.manifest import MANIFEST, Entry
from katod.archive.marks import unmark
from katod.archive.update import line_of
from katod.cli.context import Context
from katod.cli.excluding import excluded_among
from katod.cli.opening import clear as clear_pages
from katod.cli.parameters import SESSION
from katod.cli.printing import say
from katod.cli.record import ask
from katod.cli.selection import select_known
from katod.cli.unmarking import say_aside
from katod.config import rescue_path
from katod.errors import AlreadyRunning, KatodError, SelectionError, TargetRefused
from katod.model import SessionKey
from katod.record.family import family
from katod.record.forget import Remains
from katod.rescue.names import saved_keys
from katod.service.control import WITH_OUTPUTS
from katod.shell import pasted
from katod.store.integrity import containing, quarantined
from katod.store.ledger import LEDGER_NAME
from katod.store.rows import OutputRow, PersonalRow
from katod.tables.address import LOCAL, S3
from katod.tables.dataset import ask_to_forget, known_sets
from katod.tables.forgetting import drop_rows, incomplete_sets, known_sessions, sets_with

_UNKNOWN: Final = "  katod's log, the heads that you published and all other copies stay"
_AGAIN: Final = "; `katod export --all` writes the session again while its agent has it"
_MISSING: Final = "is no longer there: if you moved it, delete it yourself"


@click.command()
@click.argument("session", type=SESSION, default="")
@click.option("--outputs", is_flag=True, help="Also delete its transcripts and their attachments.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def forget(context: Context, session: str, outputs: bool, yes: bool) -> None:
    """Delete what katod knows of a session.

    SESSION is a session id or the beginning of one, `agent:id`, the number or the file of a recording, or `latest`.
    Without SESSION, katod asks you to choose one; this needs a terminal. katod ends the recordings of the session and
    deletes its text, title and paths from its own state, what `katod rescue` has of it, and the temporary pages of
    `katod open`. It does not change the agent's files. Commands that were already typed in the session are never
    executed again, but a new `::start` records it again. katod shows what it will delete, and asks first.
    """
    claims = ClaimedSessions(listed_copies(context.state), known_sessions(context.state))
    key = select_known(context, session, [*claims.sessions(), *sessions_excluded(context.state)])
    sessions = ForgottenFamily.of(context, key, claims)
    copies, rows = Copies(context.state, claims.copies, sessions), TableRows(context, sessions)
    elsewhere = (*copies.described(outputs=outputs), *rows.described(outputs=outputs))
    main = key._replace(subagent="")
    excluded = excluded_among(context, {*sessions.keys, main})
    unknown = _UNKNOWN if {key, main} & {*excluded} else f"{_UNKNOWN}{_AGAIN}"
    for line in (*_described(context, sessions, outputs=outputs), *elsewhere, unknown):
        say(line)
    if not yes and not _agreed():
        say("Nothing was changed.")
        return
    if outputs:
        rows.ask()
    for one in (*sessions.others, key):  # whatever is forgotten last can be named again after a kill
        _ask(context, one, WITH_OUTPUTS if outputs else "")
    clear_pages(0)
    forget_excluded(context.state, sessions.keys, sessions.keys.intersection(excluded))
    say(f"{key} is forgotten")
    if outputs:
        _delete([path for path, _ in sessions.transcripts.values()], copies, rows)
    else:
        copies.unmark()


def _delete(transcripts: Iterable[Path], copies: "Copies", rows: "TableRows") -> None:
    """Delete copies and rows of what is forgotten. Raises KatodError for what stays, also of its transcripts."""
    left = [path for path in transcripts if os.path.lexists(path)]
    failures = [*rows.drop(), *copies.unknown(), *copies.delete(left)]
    for failure in failures[:-1]:
        say(f"katod: {line_of(failure)}", err=True)
    if failures:
        raise failures[-1]


class ForgottenFamily(NamedTuple):
    """A session and those that its agent started, as far as the ledger or a list of exports knows them."""

    key: SessionKey
    others: list[SessionKey]  # that belong to it as only a list says
    keys: set[SessionKey]
    remains: Remains
    transcripts: dict[int, tuple[Path, str]]  # by the ids of their outputs: where, and why it would stay

    @classmethod
    def of(cls, context: Context, key: SessionKey, claims: ClaimedSessions) -> "ForgottenFamily":
        """Return the family of a session; `claims` are those of all lists."""
        with context.reading() as ledger:
            rows = family(key, ledger) if ledger else []
            known = {key, *(row.key for row in rows)}
            others = claims.started_by(known, Evidence(context.found, saved_keys(rescue_path()), ledger))
            if ledger is None:
                return cls(key, _mains(others), known.union(others), Remains([], [], [], []), {})
            found = {row.id: row for one in others for row in family(one, ledger)} | {row.id: row for row in rows}
            keys = known.union(others, (row.key for row in found.values()))
            remains = Remains.of(list(found.values()), ledger)
            return cls(key, _mains(others), keys, remains, remains.transcripts())

    @property
    def ids(self) -> set[str]:
        """Their ids; of sub-agents that are named after their session, their own."""
        return {key.subagent or key.id for key in self.keys}

    def has(self, key: SessionKey) -> bool:
        """Return whether a session is one of them, or a sub-agent of one."""
        return not self.keys.isdisjoint({key, key._replace(subagent="")})


def _mains(keys: list[SessionKey]) -> list[SessionKey]:
    return [key for key in keys if not key.subagent]


class Copies:
    """What the folders have of a session, and of its sub-agents, to which `katod export --all` wrote."""

    def __init__(self, state: Path, listed: Mapping[Path, list[Entry]], sessions: ForgottenFamily) -> None:
        self._state = state
        self._sessions = sessions
        self._gone = [root for root in listed if not (root / MANIFEST).exists()]
        self._found = {
            root: [entry for entry in entries if sessions.has(entry.slot[0])]
            for root, entries in listed.items()
            if root not in self._gone
        }
        self._others = {root: names_of_others(listed[root], sessions.has) for root in self._found}

    def described(self, *, outputs: bool) -> Iterator[str]:
        """Yield what becomes of each copy."""
        fate = "is deleted" if outputs else "stays"
        for root, entries in self._found.items():
            for file in _present(root, entries):
                yield f"  the copy {file.path} {_fate_of_copy(file, self._others[root]) if outputs else fate}"
            if os.path.lexists(root / DRAFT):
                yield f"  the unfinished export {root / DRAFT} {fate}: it may be of this session"
        if outputs:
            for root in filter(has_lost_lines, self._found):
                yield f"  copies may be left in {root}: its list was damaged, and may not name all of them"
        if damaged := damaged_list(self._state):
            yield f"  copies may be left elsewhere: {damaged}, which lists where, is damaged"
        for root in self._gone:
            yield f"  copies in {root} stay: `katod export --all` wrote there, but its list no longer exists"

    def unmark(self) -> None:
        """Mark nothing of the session as recorded any more: other machines give it to no program then."""
        for root in (root for root, entries in self._found.items() if entries):
            with suppress(KatodError, OSError), opened(root) as folder:  # the next export does it
                say_aside(folder)
                unmark(folder, lambda entry: not self._sessions.has(entry.slot[0]))
                folder.compact()

    def unknown(self) -> Iterator[KatodError]:
        """Yield what to say of copies in folders of which katod does not know any more."""
        if damaged := damaged_list(self._state):
            what = f"copies may be left: {damaged}, which said to which directories you exported, is damaged"
            hint = "`katod export --all` lists its directory again: after that, remove that file, and repeat this"
            yield KatodError(what, hint=hint)

    def delete(self, left: list[Path]) -> Iterator[KatodError]:
        """Delete the copies, and what is said of them; yield what to say of those that stay, with other files.

        Every folder is opened, since an export that is running may write a copy there which no list names yet; also
        one to which the first one was begun since katod looked.
        """
        left, busy = [*left], []
        begun = (root for root in known_folders(self._state) if (root / MANIFEST).exists())
        for root, entries in {**{root: list[Entry]() for root in begun}, **self._found}.items():
            try:
                left += drop(root, self._sessions.has, self._sessions.ids)
            except AlreadyRunning:
                busy.append(str(root))
            except (KatodError, OSError):  # it cannot be written
                paths = (root / DRAFT, *(file.path for entry in entries for file in ListedFile.of(root, entry)))
                left += filter(os.path.lexists, paths)
        if busy:
            what = f"its copies stay for now in {', '.join(busy)}, where another `katod export --all` is writing"
            yield KatodError(
                what, hint=f"run `katod forget {pasted(str(self._sessions.key))} --outputs` again when it is done"
            )
        if left:
            what = f"not deleted: {', '.join(map(str, left))}"
            yield KatodError(what, hint="delete these files yourself if you no longer need them")


class TableRows:
    """The rows of a session, and of its sub-agents, in the data sets that `katod export --all -f parquet` wrote."""

    def __init__(self, context: Context, sessions: ForgottenFamily) -> None:
        self._context = context
        self._keys = sessions.keys
        self._found = sets_with(context.state, sessions.has)
        self._asked = list[str]()

    def described(self, *, outputs: bool) -> Iterator[str]:
        """Yield what becomes of the rows in each data set."""
        for address in self._found:
            is_there = address.startswith(S3) or os.path.isdir(address)
            deleted = (
                "are deleted" if is_there else "are no longer there: if you moved the tables, delete them yourself"
            )
            yield f"  its rows in {address} {deleted if outputs else 'stay'}"
        if outputs and (incomplete := incomplete_sets(self._context.state)):
            yield f"  rows may be left in {', '.join(incomplete)}: the next export there removes them"

    def ask(self) -> None:
        """Have the rows go, before anything else forgets the session: whatever ends katod, that stays asked for.

        Every data set is asked, since an export that is running may write rows there which no list names yet. Raises
        KatodError.
        """
        for address, _ in known_sets(self._context.state):
            self._asked.append(address)
            try:
                ask_to_forget(self._context.state, address, self._keys)
            except OSError as error:
                raise KatodError(f"cannot be written: {error.strerror}", path=error.filename) from error

    def drop(self) -> Iterator[KatodError]:
        """Delete the rows; say why, and yield in which data sets, they could not be."""
        left, busy = [], []
        for address in self._asked:
            try:
                machine = this_machine(self._context.settings.archive.machine or LOCAL, self._context.state)
                for note in drop_rows(self._context.state, machine, address):
                    say(f"katod: {note}", err=True)
            except (KatodError, OSError) as error:
                if isinstance(error, AlreadyRunning) and address not in self._found:
                    busy.append(address)
                    continue
                say(f"katod: {line_of(error)}", err=True)
                left.append(address)
        if busy:
            what = f"rows of it may be written in {', '.join(busy)}, where another `katod export --all` is running"
            yield KatodError(what, hint="it removes them when it ends, or else the next one does")
        if left:
            hint = "the next `katod export --all -f parquet` there removes them"
            yield KatodError(f"its rows stay for now in {', '.join(left)}", hint=hint)


def _present(root: Path, entries: list[Entry]) -> list[ListedFile]:
    """Return the files of entries, without older ones that are not there any more."""
    names = {entry.name for entry in entries}
    files = (file for entry in entries for file in ListedFile.of(root, entry))
    return [file for file in files if file.name in names or os.path.lexists(file.path)]


def _fate_of_copy(file: ListedFile, others: set[str]) -> str:
    """Return what becomes of a copy."""
    try:
        why = file.why_it_stays(others)
    except FileNotFoundError:
        return _MISSING
    except OSError as error:
        why = f"it cannot be read: {error.strerror}"
    return f"stays: {why}" if why else "is deleted"


def _ask(context: Context, key: SessionKey, name: str) -> None:
    """Have the session forgotten. Raises KatodError, also if it is, but a part of it is still in the ledger's log."""
    was_known = _is_known(context, key)
    try:
        ask(context, key, "forget", name)
    except TargetRefused:
        raise
    except KatodError as error:
        if not was_known or _is_known(context, key):  # one that only copies know of is not known to be forgotten
            raise
        what = f"{key} is forgotten, but another program keeps the ledger open, and with it the deleted data"
        raise KatodError(what, hint="katod keeps trying while it runs") from error


def _is_known(context: Context, key: SessionKey) -> bool:
    with context.reading() as ledger:
        return ledger is not None and bool(family(key, ledger))


def _described(context: Context, sessions: ForgottenFamily, *, outputs: bool) -> Iterator[str]:
    """Yield what is dropped, line by line."""
    key, remains = sessions.key, sessions.remains
    yield from _named(context, key)
    if key in saved_keys(rescue_path()):
        yield "  and deletes its rescued copy (`katod rescue`)"
    elif key._replace(subagent="") in saved_keys(rescue_path()):
        yield "  and removes it from the rescued copy of its parent session (`katod rescue`)"
    if context.settings.recording.rescue:
        yield "  and never rescues it again"
    for one in sorted(sessions.keys - {key}):
        yield f"  and its sub-agent {one}"
    if outputs and not remains.outputs:
        yield "  katod knows of no transcripts of it: if there are any, delete them yourself"
    for output in remains.outputs:
        transcript = sessions.transcripts.get(output.id)
        yield f"  recording {output.id}{_state(output)}: {_fate(output, transcript, outputs=outputs)}"
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
    """Yield which session it is, as lists name it, and that what the user said of it goes as well."""
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


def _fate(row: OutputRow, transcript: tuple[Path, str] | None, *, outputs: bool) -> str:
    """Return what becomes of a transcript."""
    if transcript is None:
        is_made = row.held is None and row.ino
        return f"{row.path} {_MISSING if outputs else 'is no longer there'}" if is_made else "there is no file yet"
    path, why = transcript
    if outputs and why:
        return f"{path} stays: {why}"
    return f"{path} {'is deleted' if outputs else 'stays'}"


def _agreed() -> bool:
    """Return whether the user agrees. Raises SelectionError where nobody can be asked."""
    if not _can_ask():
        raise SelectionError("nothing was changed: confirmation needs a terminal", hint="use --yes to confirm")
    return click.confirm("Go on?")


def _can_ask() -> bool:
    return sys.stdin.isatty()
