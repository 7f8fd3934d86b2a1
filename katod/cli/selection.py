"""What SESSION and RECORDING mean on the command line."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from typing import Final

import click

from katod.agents import AGENTS
from katod.archive.parts import ArchivedSession
from katod.cli.context import Context, working_directory
from katod.cli.layout import is_terminal
from katod.cli.shortids import SHORTEST_ID
from katod.config import rescue_path
from katod.discover.found import FoundSession
from katod.errors import LedgerError, NoSuchSession, NothingHere, SelectionError
from katod.formatspec import FORMATS
from katod.model import SessionKey
from katod.record.reading import has_its_file, located
from katod.rescue.names import saved_keys, transcript_of
from katod.shell import pasted
from katod.store.rows import OutputRow, transcripts

LATEST: Final = "latest"
_MOST: Final = 100  # sessions that are opened to find the latest one of this directory
_LIST: Final = "run `katod sessions` to list them"


def select(context: Context, text: str) -> FoundSession:
    """Return the session that `text` selects.

    An id, `agent:id`, a prefix of either that is unique among the sessions that are there, or else among those that
    are gone, the number or the file of a recording, `latest` (of this directory, else of all), or an empty string: the
    only recording, else the one that the user chooses on a terminal, and elsewhere this directory's latest session.
    Raises SelectionError if it selects none or more than one, Abort if the user chooses none.
    """
    sessions = context.found()
    if text == LATEST:
        return _latest(sessions.values()) or _newest(sessions.values())
    key = _only_recorded(context) if not text else _recorded_as(context, text)
    if key is None and not text:
        return _chosen(context, sessions.values())
    if key is None:
        there = matching_keys(sessions, text)  # what is gone need not be looked at if one is meant that is there
        key = there[0] if len(there) == 1 else _matching(context, sessions, _known_if_readable(context), text)
    if key not in sessions:
        raise NoSuchSession(f"the files of {key} no longer exist", key=str(key), hint=_gone_hint(context, key))
    return sessions[key]


def _gone_hint(context: Context, key: SessionKey) -> str:
    return _saved([key]) or _elsewhere(context, str(key)) or "agents delete old sessions"


def select_anywhere(context: Context, text: str) -> FoundSession:
    """Return what `select` does, or a session that only a shared folder has. Raises SelectionError as `select` does."""
    try:
        return select(context, text)
    except NoSuchSession as error:
        found = _archived_as(context, error.key or text)  # one that is gone here, and no other one that begins alike
        if not found:
            raise
        if len(found) > 1:
            raise _several([one.key for one in found], text) from None
        return found[0]


def _archived_as(context: Context, text: str) -> list[ArchivedSession]:
    """Return the sessions of shared folders that a text selects."""
    found = {one.key: one for one in context.archived()}
    return [found[key] for key in matching_keys(found, text)]


def select_recorded(context: Context, text: str, *, to_stop: bool) -> SessionKey:
    """Return what `select` does, or a session that is being recorded although its files no longer exist.

    Of several that match, the only one that is being recorded is the one `to_stop`; to start, an empty string is this
    directory's latest session.
    """
    if not text:
        return _bare(context, to_stop=to_stop)
    recorded = _recorded_as(context, text, must_run=to_stop)
    if recorded is not None:
        return recorded
    only = _only_recorded_of(context, text)
    try:
        key = select(context, text).key
    except SelectionError:
        if only is None or (not to_stop and matching_keys(context.found(), text)):
            raise
        return only
    return only if only and to_stop and text not in _whole_ids(key) else key


def _only_recorded_of(context: Context, text: str) -> SessionKey | None:
    """Return the one session that is being recorded of those that a text names, None unless there is exactly one."""
    running = matching_keys(recorded_sessions(context), text)
    return running[0] if len(running) == 1 else None


def _bare(context: Context, *, to_stop: bool) -> SessionKey:
    """Return the session of a command without one."""
    if not to_stop:
        sessions = context.found().values()
        return (_latest(sessions) or _chosen(context, sessions)).key
    running = recorded_sessions(context)
    if not running:
        raise SelectionError("nothing is being recorded")
    here = _latest(context.found().values())
    if here is not None and here.key in running:
        return here.key
    if here is None and len(running) == 1:
        return running[0]
    count = "one recording is" if len(running) == 1 else f"{len(running)} recordings are"
    raise SelectionError(f"{count} running, but none of this directory", hint="name one: `katod status` lists them")


def select_known(context: Context, text: str, known: Iterable[SessionKey] = ()) -> SessionKey:
    """Return what `select` does, or a session that katod knows, or knew, although its files no longer exist.

    `known` are those of which only something from elsewhere knows: one of them is meant if no other session is.

    For an empty string, the user chooses on a terminal, also if only one session is recorded.
    """
    if not text:
        if not is_terminal():
            raise click.UsageError("Missing argument 'SESSION'.")
        return _chosen(context, context.found().values()).key
    if text == LATEST:
        return select(context, text).key
    recorded = _recorded_as(context, text)
    return recorded or _matching(context, context.found(), _known(context), text, known)


def _known(context: Context) -> list[SessionKey]:
    """Return the sessions of which the ledger has something, and those that were saved from deletion."""
    saved = saved_keys(rescue_path())
    with context.reading() as ledger:
        if ledger is None:
            return saved
        return [*(row.key for row in ledger.sessions()), *ledger.personal.all(), *saved]


def _known_if_readable(context: Context) -> list[SessionKey]:
    """Return the same for what changes nothing: without the ledger if it cannot be read."""
    try:
        return _known(context)
    except LedgerError:
        return saved_keys(rescue_path())


def select_recordings(context: Context, text: str) -> list[OutputRow]:
    """Return the recordings that a number, a file or a session selects, `latest` as `select` does; all without a text.

    Raises SelectionError if there are none.
    """
    with context.reading() as ledger:
        if ledger is None:
            raise SelectionError("nothing has been recorded yet", hint="type ::start in a chat")
        rows = ledger.outputs()
        keys = {number: ledger.session(number).key for number in {row.session for row in rows}}
    if not text:
        return located(rows)
    text = str(select(context, text).key) if text == LATEST else text
    chosen = _recordings(rows, text)
    chosen = chosen or located(row for row in rows if _matches_family(keys[row.session], text))
    if not chosen:
        _require_id(text)
        raise SelectionError(f"there is no recording {text}", hint="run `katod status --json` to list them")
    return chosen


def recorded_sessions(context: Context) -> list[SessionKey]:
    """Return the sessions that are being recorded, or were when katod was paused; none if the ledger cannot be read."""
    try:
        with context.reading() as ledger:
            rows = [row for row in ledger.outputs() if row.open or row.paused] if ledger else []
            return [ledger.session(row.session).key for row in rows] if ledger else []
    except LedgerError:
        return []


def recording_named(context: Context, text: str) -> OutputRow | None:
    """Return the recording with this number or file, None if there is none."""
    with context.reading() as ledger:
        rows = _recordings(ledger.outputs(), text) if ledger and text else []
        return rows[0] if rows else None


def only_recording(context: Context) -> OutputRow | None:
    """Return the recording that runs, None unless there is exactly one, or the ledger cannot be read."""
    with suppress(LedgerError), context.reading() as ledger:
        rows = [row for row in ledger.outputs() if row.open or row.paused] if ledger else []
        return rows[0] if len(rows) == 1 else None
    return None


def outputs_of(context: Context, key: SessionKey) -> list[OutputRow]:
    """Return the outputs of a session whose files exist, oldest first; none if the ledger cannot be read."""
    return [row for row in _rows_of(context, key) if _is_there(row)]


def latest_transcript(context: Context, key: SessionKey) -> OutputRow | None:
    """Return the latest transcript of a session whose file exists, None if none does, or the ledger cannot be read."""
    return next((row for row in reversed(transcripts(_rows_of(context, key))) if _is_there(row)), None)


def _rows_of(context: Context, key: SessionKey) -> list[OutputRow]:
    with suppress(LedgerError), context.reading() as ledger:
        session = ledger.find_session(key) if ledger else None
        return located(ledger.outputs(session.id)) if ledger and session else []
    return []


def _is_there(row: OutputRow) -> bool:
    return row.held is None and os.path.lexists(row.path)


def _recorded_as(context: Context, text: str, *, must_run: bool = False) -> SessionKey | None:
    """Return the session of the recording with this number or file, None if there is none.

    Raises SelectionError if it has ended, but must run, for an empty id, and for a number that no recording has: it is
    no beginning of an id, as that would be another session than the one that had the number.
    """
    try:
        with context.reading() as ledger:
            rows = _recordings(ledger.outputs(), text) if ledger else []
            key = ledger.session(rows[0].session).key if ledger and rows else None
    except LedgerError:
        return None
    if key is None:
        _require_id(text)
    elif must_run and not (rows[0].open or rows[0].paused):
        raise SelectionError(f"recording {text} has ended", hint="`katod status` lists those that run")
    return key


def _require_id(text: str) -> None:
    if _lacks_id(text) and not text.startswith("/"):  # else it is the path of a file
        raise SelectionError(f"{text!r} lacks an id", hint="is a variable empty? `katod sessions` lists the sessions")
    if text.isdecimal() and len(text) < SHORTEST_ID:
        hint = f"`katod status` lists them; a session whose id begins with that is `AGENT:{text}`"
        raise SelectionError(f"there is no recording {text}", hint=hint)


def _recordings(rows: Iterable[OutputRow], text: str) -> list[OutputRow]:
    """Return the recordings with a number or a file, of several with one file those first whose file it is now."""
    if text.isdecimal():
        return located(row for row in rows if len(text) < SHORTEST_ID and row.id == int(text))
    try:
        path = os.path.realpath(os.path.expanduser(text))
    except FileNotFoundError:  # the current directory no longer exists, and nothing is below it
        return []
    found = [row for row in located(rows) if os.path.realpath(row.path) == path]
    return sorted(found, key=lambda row: not has_its_file(row)) if len(found) > 1 else found


def _only_recorded(context: Context) -> SessionKey | None:
    """Return the session that is being recorded, None unless there is exactly one."""
    running = recorded_sessions(context)
    return running[0] if len(running) == 1 else None


def _newest(sessions: Iterable[FoundSession]) -> FoundSession:
    main = [session for session in sessions if not session.key.subagent]
    if not main:
        raise SelectionError("no sessions found", hint="check `agents.<name>.roots` in the configuration")
    return max(main, key=lambda session: session.changed_ns)


def _chosen(context: Context, sessions: Iterable[FoundSession]) -> FoundSession:
    """Return the session that the user chooses on a terminal, this directory's latest one elsewhere.

    Raises NothingHere if there is none, Abort if the user chooses none.
    """
    main = sorted((one for one in sessions if not one.key.subagent), key=lambda one: -one.changed_ns)
    here = _latest(main)
    if main and is_terminal():
        from katod.cli.picker import pick  # noqa: PLC0415 - it loads prompt_toolkit, for terminals alone

        named = context.found(with_words=True)
        return pick(context, [named.get(one.key, one) for one in main], here and named.get(here.key, here))
    if here is None:
        raise NothingHere("there is no session in this directory", hint="name one of `katod sessions`")
    return here


def _latest(sessions: Iterable[FoundSession]) -> FoundSession | None:
    """Return the latest session of the project that one stands in, None if it is not among the latest of all."""
    from katod.record.beginning import read_beginning  # noqa: PLC0415 - it loads the adapters' translation, which only this needs

    here = working_directory()
    if here is None:
        return None
    main = sorted((one for one in sessions if not one.key.subagent), key=lambda one: -one.changed_ns)
    nobodys = (Path.home(), Path("/"), Path(gettempdir()).resolve())  # a session there is about nothing below
    within = None
    for session in islice(main, _MOST):
        cwd = read_beginning(session)[0].cwd
        project = Path(cwd).resolve() if cwd else None
        if project == here:
            return session
        if within is None and project in here.parents and project not in nobodys:
            within = session
    return within


def _matching(
    context: Context, there: Collection[SessionKey], known: Iterable[SessionKey], text: str,
    elsewhere: Iterable[SessionKey] = (),
) -> SessionKey:  # fmt: skip
    """Return the one session of all that there are, or were, that a text names. Raises SelectionError."""
    keys, elsewhere = dict.fromkeys((*there, *known)), dict.fromkeys(elsewhere)
    chosen = _best_matching(there, keys, text) or matching_keys(elsewhere, text)
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        raise _several(chosen, text)
    closed = "".join(f"; {folder}: {problem}" for folder, problem in context.problems.items())
    hint = _elsewhere(context, text) or _subagents(keys | elsewhere, text) or _LIST
    raise NoSuchSession(f"no session matches {text!r}{closed}", hint=hint)


def _best_matching(there: Iterable[SessionKey], keys: Iterable[SessionKey], text: str) -> list[SessionKey]:
    """Return the sessions that a text names: by a whole id, any; by its beginning, one that is `there` first.

    Lists show the beginnings of ids, and no sessions that are gone: those must not take a word away that was shown.
    """
    chosen = matching_keys(keys, text)
    is_whole = any(text in _whole_ids(key) for key in chosen)
    return chosen if is_whole else matching_keys(there, text) or chosen


def _subagents(keys: Iterable[SessionKey], text: str) -> str:
    """Return what to type for a sub-agent of a session of which there is nothing else; empty if there is none."""
    found = [key for key in keys if _matches_family(key, text)]
    return f"only its sub-agents are known: name one, as in {pasted(str(found[0]))}" if found else ""


def _several(keys: list[SessionKey], text: str) -> SelectionError:
    """Return the error for a text that selects more than one session."""
    some = ", ".join(map(str, keys[:3])) + (", …" if len(keys) > 3 else "")
    return SelectionError(f"{len(keys)} sessions match {text!r}: {some}", hint="type more of the id")


def _saved(keys: list[SessionKey]) -> str:
    """Return what to do about a session that its agent deleted, but that was saved; empty if it was not."""
    saved = [key for key in keys if key in saved_keys(rescue_path())]
    if len(saved) != 1:
        return ""
    transcript = transcript_of(rescue_path(), saved[0])
    return f"it was saved from deletion: read {transcript}, or run `katod rescue --restore {saved[0]}`"


def _elsewhere(context: Context, text: str) -> str:
    """Return what to do about a session that only a shared folder has; empty if none has it."""
    found = _archived_as(context, text)
    if not found:
        return ""
    if len(found) > 1:
        return f"{len(found)} sessions of other machines match: type more of the id"
    return f"the machine {found[0].machine} has it: `{shown_with(found[0])}` reads it here"


def shown_with(found: ArchivedSession) -> str:
    """Return the command that shows a session of another machine: of a page, nothing is printed in a terminal."""
    is_page = found.form == FORMATS["html"].name
    return f"katod open {pasted(str(found.path))}" if is_page else f"katod show {pasted(str(found.key))}"


def matching_keys(keys: Iterable[SessionKey], text: str) -> list[SessionKey]:
    """Return the sessions that an id, the beginning of one or `agent:id` names: a whole id alone, if it is one.

    A sub-agent is named by its own id, alone or after that of its session, and never by that of its session.
    """
    keys = list(keys)
    best = [key for key in keys if text in _whole_ids(key)] or [key for key in keys if _matches(key, text)]
    return [key for key in best if not key.subagent] or best


def _whole_ids(key: SessionKey) -> tuple[str, ...]:
    return (key.subagent, f"{key.id}/{key.subagent}", str(key)) if key.subagent else (key.id, str(key))


def _matches(key: SessionKey, text: str) -> bool:
    agent, colon, prefix = text.partition(":")
    if not colon:
        agent, prefix = key.agent, text
    session, slash, subagent = prefix.partition("/")
    if agent != key.agent or _lacks_id(text):
        return False
    if slash:
        return _matches_subagent(key, session, subagent)
    return key.subagent.startswith(prefix) if key.subagent else AGENTS[key.agent].matches_id(key.id, prefix)


def _lacks_id(text: str) -> bool:
    """Return whether an id is empty where one belongs: `claude:$ID` without an ID would name any session."""
    _, colon, prefix = text.partition(":")
    return not all((prefix if colon else text).split("/"))


def _matches_family(key: SessionKey, text: str) -> bool:
    """Return whether a text names a session, or the one that started it."""
    return _matches(key, text) or _matches(key._replace(subagent=""), text)


def _matches_subagent(key: SessionKey, session: str, subagent: str) -> bool:
    """Return whether a session is this sub-agent. The names of some agents' files have a part of one id only."""
    if key.subagent:
        return key.id.startswith(session) and key.subagent.startswith(subagent)
    spec = AGENTS[key.agent]
    return spec.cuts_ids and bool(subagent) and spec.matches_id(key.id, subagent)
