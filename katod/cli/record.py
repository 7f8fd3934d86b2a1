"""`katod start`, `stop`, `capture` and `keep`: the commands of the chat, from the shell."""

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from katod.cli.context import Context
from katod.cli.parameters import RECORDED, SESSION
from katod.cli.printing import say
from katod.cli.selection import recorded_sessions, select_recorded
from katod.command.grammar import parse_line
from katod.errors import AlreadyRunning, ConfigError, KatodError, SelectionError, TargetRefused
from katod.model import MOST_EXCHANGES, SessionKey, Word
from katod.project.allowed import Allowed, CheckedFile, look, places
from katod.service import control
from katod.service.control import Request, RequestWord
from katod.service.lock import holder
from katod.service.manager import how_to_start
from katod.shell import pasted
from katod.store.integrity import quarantined
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import UNNAMED, OutputRow

_PATIENCE = 10.0


@click.command()
@click.argument("session", type=SESSION, default="")
@click.argument("name", default="")
@click.pass_obj
def start(context: Context, session: str, name: str) -> None:
    """Record a session from now on, like `::start` in the chat.

    SESSION is a session id or the beginning of one, `agent:id`, the number or the file of a recording, or `latest`.
    Without it, katod records the latest session of this directory; if there is none, katod asks you to choose one.
    NAME is the name of the file, as in the chat.
    """
    _ask(context, session, "start", name)


@click.command()
@click.argument("session", type=RECORDED, default="")
@click.pass_obj
def stop(context: Context, session: str) -> None:
    """Stop recording a session, like `::stop` in the chat.

    Without SESSION, katod stops the only running recording, or the one of this directory.
    """
    _ask(context, session, "stop", "")


@click.command()
@click.argument("session", type=SESSION, default="")
@click.argument("name", default="")
@click.pass_obj
def capture(context: Context, session: str, name: str) -> None:
    """Record a session from its beginning, like `::capture` in the chat.

    SESSION is a session id or the beginning of one, `agent:id`, the number or the file of a recording, or `latest`.
    Without it, katod records the latest session of this directory; if there is none, katod asks you to choose one.
    NAME is the name of the file, as in the chat.
    """
    _ask(context, session, "capture", name)


@click.command()
@click.argument("session", type=SESSION, default="")
@click.argument("words", metavar="[N] [NAME]", nargs=-1)
@click.pass_obj
def keep(context: Context, session: str, words: tuple[str, ...]) -> None:
    """Write the last exchange of a session to a file, like `::keep` in the chat.

    An exchange is what you asked, with everything up to the answer. N is how many are written, 1 to 99; 1 if you leave
    it out. This starts no recording, and does not affect a running one. SESSION and NAME are as for `katod start`.
    """
    if session.isdecimal() and not words:
        most = int(session) <= MOST_EXCHANGES
        latest = f", `katod keep latest {session}` for the last {session} of the latest session" if most else ""
        raise click.UsageError(
            f"A number alone names a recording: type `katod keep {session} 1` for its last exchange{latest}. An id that"
            f" begins with digits alone needs its agent: `katod keep claude:{session}`."
        )
    command = parse_line(" ".join(["::keep", *map(_as_typed, words)]))
    if command is None:
        raise click.UsageError(f"After SESSION comes N, from 1 to {MOST_EXCHANGES}, then NAME; each may be left out.")
    _ask(context, session, "keep", command.name, command.count)


def _as_typed(word: str) -> str:
    """Return a word of the shell as it is typed in the chat, where a name with blanks is quoted."""
    return word if word.isascii() and word.isalnum() else f'"{word}"'


def _ask(context: Context, session: str, word: Word, name: str, count: int = 1) -> None:
    key = _chosen(context, session, word, name)
    aside = quarantined(context.state, LEDGER_NAME)
    recorded = key in recorded_sessions(context)
    request = ask(context, key, word, name, count)
    for path in quarantined(context.state, LEDGER_NAME)[len(aside) :]:
        say(f"katod: the ledger was unusable and was moved to {path}; earlier commands are ignored", err=True)
    say(_result(context, request) if recorded or word != "stop" else f"{request.key} is not being recorded")
    for file in _projects_files(context, key) if word != "stop" else ():
        say(f"katod: {file.path}: {file.problem} ({file.advice})", err=True)
    if word not in ("stop", "keep") and holder(context.state) is None:
        say(f"katod is not running: run `{how_to_start()}` to continue recording", err=True)


def _projects_files(context: Context, key: SessionKey) -> list[CheckedFile]:
    """Return the files of a session's project that do not count; none if what was allowed cannot be read."""
    with context.reading() as ledger:
        session = ledger.find_session(key) if ledger else None
    if session is None or not session.cwd:
        return []
    with suppress(ConfigError):  # `katod status` says it
        known = Allowed(context.state).read()
        found = (look(path, known) for path in places(session.cwd, Path.home()))
        return [one for one in found if one is not None and one.problem]
    return []


def _chosen(context: Context, session: str, word: Word, name: str) -> SessionKey:
    """Return the session that is meant. Raises SelectionError; a single name that is no session may be meant as one."""
    try:
        return select_recorded(context, session, to_stop=word == "stop")
    except SelectionError as error:
        if name or word == "stop" or not error.what.startswith("no session matches") or "rescue" in error.hint:
            raise
        raise SelectionError(error.what, hint=f"to name the file: `katod {word} latest {pasted(session)}`") from error


def ask(context: Context, key: SessionKey | None, word: Word | RequestWord, name: str = "", count: int = 1) -> Request:
    """Have the daemon carry out a request; without one, carry it out here. Raises TargetRefused if it is refused.

    Without a key it is for no session.
    """
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if holder(context.state) is None:
        _ = context.settings  # checked before anything is asked: the request would stay
    request = Request((key.agent, key.id, key.subagent) if key else ("", "", ""), word, name, moment, count)
    refusal = _answered(context, control.enqueue(context.state, request))
    if refusal:
        raise TargetRefused(refusal)
    return request


def _answered(context: Context, answer: Path) -> str:
    """Wait for the daemon's answer; without a daemon, execute the request here."""
    from katod.daemon import run_daemon  # noqa: PLC0415 - the watcher's libraries load only here

    deadline = time.monotonic() + _PATIENCE
    while not answer.exists():
        if holder(context.state) is None:
            try:
                run_daemon(
                    context.settings, context.config_path, context.state, context.log, signals=None, for_request=True
                )
            except AlreadyRunning:
                continue  # a daemon has started in the meantime and will answer
            if answer.exists():
                break
        if time.monotonic() > deadline:
            raise KatodError("timed out waiting for the daemon; the request stays queued", hint="see `katod status`")
        time.sleep(0.02)
    text = answer.read_text("utf-8")
    answer.unlink(missing_ok=True)
    return text


def _result(context: Context, request: Request) -> str:
    ledger = Ledger.read(context.state)
    if ledger is None:
        return ""
    session = ledger.find_session(request.key)
    outputs = ledger.outputs(session.id) if session else []
    ledger.close()
    if request.word == "keep":
        return _done("kept in", next(row for row in reversed(outputs) if row.is_copy))
    rows = [row for row in outputs if session is not None and row.id == session.output]
    if not rows:
        return f"{request.key} is not being recorded"
    if rows[0].held is not None:
        return f"recording: {UNNAMED}"
    return _done("recording to" if rows[0].open else "stopped recording to", rows[0])


def _done(what: str, row: OutputRow) -> str:
    """Return what was done to which file; of one that is parked or gone, only that it is not written, and why."""
    if row.made and not row.problem and os.path.lexists(row.path):
        return f"{what} {row.path}"
    ended = "" if row.open or row.is_copy else "stopped recording, but "
    return f"{ended}{row.path} is not written: {row.problem or 'see `katod status`'}"
