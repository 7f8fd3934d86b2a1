"""`katod record`: the commands of the chat, from the shell."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import AlreadyRunning, KatodError, TargetRefused
from katod.model import SessionKey, Word
from katod.service import control
from katod.service.control import Request
from katod.service.lock import holder
from katod.store.integrity import quarantined
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import UNNAMED

_PATIENCE = 10.0


@click.group()
def record() -> None:
    """Start or stop recording a session, or capture it from its beginning.

    SESSION is a session id, a unique prefix of one, `agent:prefix`, or `latest`.
    """


@record.command()
@click.argument("session")
@click.argument("name", default="")
@click.pass_obj
def start(context: Context, session: str, name: str) -> None:
    """Record SESSION from now on, like `::start` in the chat."""
    _ask(context, session, "start", name)


@record.command()
@click.argument("session")
@click.pass_obj
def stop(context: Context, session: str) -> None:
    """Stop recording SESSION, like `::stop` in the chat."""
    _ask(context, session, "stop", "")


@record.command()
@click.argument("session")
@click.argument("name", default="")
@click.pass_obj
def capture(context: Context, session: str, name: str) -> None:
    """Record SESSION from its beginning, like `::capture` in the chat."""
    _ask(context, session, "capture", name)


def _ask(context: Context, session: str, word: Word, name: str) -> None:
    key = context.select_recorded(session, to_stop=word == "stop")
    aside = quarantined(context.state, LEDGER_NAME)
    recorded = context.is_recorded(key)
    request = ask_daemon(context, key, word, name)
    for path in quarantined(context.state, LEDGER_NAME)[len(aside) :]:
        say(f"katod: the ledger was unusable and was moved to {path}; earlier commands are ignored", err=True)
    say(_result(context, request) if recorded or word != "stop" else f"{request.key} is not being recorded")
    if word != "stop" and holder(context.state) is None:
        say("katod is not running: start `katod run` to keep recording", err=True)


def ask_daemon(context: Context, key: SessionKey, word: Word | Literal["restore"], name: str) -> Request:
    """Have the daemon carry out a request; without one, carry it out here. Raises TargetRefused if it is refused."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    request = Request((key.agent, key.id, key.subagent), word, name, moment)
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
                run_daemon(context.settings, context.config_path, context.state, context.log, signals=None)
            except AlreadyRunning:
                continue  # a daemon has started in the meantime and will answer
        elif time.monotonic() > deadline:
            raise KatodError("timed out waiting for the daemon; the request stays queued", hint="see `katod status`")
        else:
            time.sleep(0.02)
    text = answer.read_text()
    answer.unlink(missing_ok=True)
    return text


def _result(context: Context, request: Request) -> str:
    ledger = Ledger.read(context.state)
    if ledger is None:
        return ""
    session = ledger.find_session(request.key)
    rows = [row for row in ledger.outputs(session.id) if row.id == session.output] if session else []
    ledger.close()
    if not rows:
        return f"{request.key} is not being recorded"
    if rows[0].held is not None:
        return f"recording: {UNNAMED}"
    return f"{'recording' if rows[0].open else 'stopped recording'} to {rows[0].path}"
