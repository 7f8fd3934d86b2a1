"""`katod run`: the daemon in the foreground."""

import sys
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from katod.agents.others import others_here
from katod.cli.context import Context
from katod.cli.layout import TextSpan, show
from katod.cli.newsline import news_line
from katod.cli.printing import say
from katod.log import LEVELS, EventLog, stderr_sink
from katod.paths import in_home
from katod.record.news import News, Tell, tell_nobody
from katod.service.signals import Signals
from katod.store.ledger import LEDGER_NAME

# The words for some events of the log.
_SAID: Final = {
    "settings.rejected": "the configuration is invalid; the previous settings stay in effect",
    "root.unreadable": "a directory cannot be read now; katod tries again",
    "source.unreadable": "a session cannot be read now; katod tries again",
    "watch.lost": "a directory cannot be watched; its changes are found within a minute",
    "watch.missed": "changes in a directory are not reported; they are found within a minute",
}
_TOLD: Final = frozenset({"command.refused", "output.parked", "state.lost"})
# What is only in the log: agents rewrite what they wrote, as when a prompt is withdrawn, and katod reads it again.
_ORDINARY: Final = frozenset({"source.changed"})


@click.command()
@click.option("--once", is_flag=True, help="Process everything new, then exit.")
@click.pass_obj
def run(context: Context, once: bool) -> None:
    """Run the daemon in the foreground.

    Follows the agents' sessions and writes the recordings. SIGTERM stops it after the current step. The configuration
    is reloaded when it changes, and on SIGHUP. On a terminal, it prints what happens to recordings; otherwise it writes
    a log with one JSON object per line.
    """
    signals = None if once else Signals.install()  # before anything that takes long: a SIGHUP would end the process
    from katod.daemon import run_daemon  # noqa: PLC0415 - the watcher's libraries load only here

    settings = context.usable_settings()
    if sys.stdout.isatty() and not once:
        say("katod is following your agents. Type ::start in a chat to record it. Press Ctrl-C to stop katod.")
        _name_others(context)
    log = EventLog(stderr_sink(), settings.log.level)
    tell: Tell = tell_nobody
    if sys.stderr.isatty() and settings.log.level != "debug":
        log, tell = EventLog(partial(_to_people, context), settings.log.level), _tell
    run_daemon(settings, context.config_path, context.state, log, signals, tell)
    if sys.stdout.isatty() and not once:
        say("katod has stopped. Anything said meanwhile is recorded at the next start.")


def _name_others(context: Context) -> None:
    """Name the agents that are here and not supported, when katod runs for the first time."""
    is_first = not (context.state / LEDGER_NAME).exists()
    if is_first and (names := others_here(Path.home())):
        say(f"Also here, not supported: {', '.join(names)}.")


def _tell(news: News) -> None:
    with suppress(OSError):  # the window was closed: katod goes on recording
        show([news_line(news, _clock(), str(Path.home()))], err=True)


def _to_people(context: Context, level: str, event: str, fields: dict[str, Any]) -> None:
    """Print what katod follows once it does, and each problem of the log that is not shown as news, for people."""
    if event == "daemon.started":
        show([(TextSpan(following(context, fields["sources"])),)], err=True)
    if LEVELS.index(level) < LEVELS.index("warning") or event in _TOLD | _ORDINARY:
        return
    output = f"recording {fields['output']}" if "output" in fields else ""
    where, problem = fields.get("path") or fields.get("session") or output, str(fields.get("problem", ""))
    said = problem if where and where in problem else ": ".join(filter(None, (where, problem)))
    what = _SAID.get(event, event.replace(".", " ").replace("_", " "))
    show([(TextSpan(f"{_clock()} ", "dim"), TextSpan(f"! {what}", "yellow"), TextSpan(f": {said}"))], err=True)


def following(context: Context, files: int) -> str:
    """Return how many session files katod follows, of which agents, and where it writes what is recorded."""
    agents = dict.fromkeys(root.spec.product for root in context.roots() if root.path.is_dir())
    of = f" of {', '.join(agents)}" if agents else ": no agent that it knows has sessions here yet"
    where = in_home(str(Path(context.settings.output.directory).expanduser()), str(Path.home()))
    return f"Following {files:,} session file{'' if files == 1 else 's'}{of}. Transcripts are written to {where}."


def _clock() -> str:
    return datetime.now().astimezone().strftime("%H:%M")
