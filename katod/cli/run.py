"""`katod run`: the daemon in the foreground."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from katod.cli.context import Context
from katod.cli.layout import Span, show
from katod.cli.newsline import news_line
from katod.cli.printing import say
from katod.log import LEVELS, EventLog, stderr_sink
from katod.record.news import News, Tell, tell_nobody
from katod.service.signals import Signals

# What the log calls otherwise.
_SAID: Final = {
    "settings.rejected": "the configuration is wrong, the settings before it stay in effect",
    "root.unreadable": "a directory cannot be read now, katod tries again",
    "source.unreadable": "a session cannot be read now, katod tries again",
    "watch.lost": "a directory cannot be watched, its changes are found within a minute",
}
_TOLD: Final = frozenset({"command.refused", "output.parked"})


@click.command()
@click.option("--once", is_flag=True, help="Process everything that is new, then exit.")
@click.pass_obj
def run(context: Context, once: bool) -> None:
    """Run the daemon in the foreground.

    It follows the agents' sessions and writes the recordings. SIGTERM stops it after the current step, SIGHUP reloads
    the configuration. On a terminal it prints what happens to recordings, elsewhere a log with a JSON object a line.
    """
    signals = None if once else Signals.install()  # before anything that takes long: a SIGHUP would end the process
    from katod.daemon import run_daemon  # noqa: PLC0415 - the watcher's libraries load only here

    settings = context.usable_settings()
    if sys.stdout.isatty() and not once:
        say("katod is following your agents. Type ::start in a chat to record it. Press Ctrl-C to stop katod.")
    log = EventLog(stderr_sink(), settings.log.level)
    tell: Tell = tell_nobody
    if sys.stderr.isatty() and settings.log.level != "debug":
        log, tell = EventLog(_to_people, settings.log.level), _tell
    run_daemon(settings, context.config_path, context.state, log, signals, tell)
    if sys.stdout.isatty() and not once:
        say("katod has stopped. What is said now is recorded when it runs again.")


def _tell(news: News) -> None:
    show([news_line(news, _clock(), str(Path.home()))], err=True)


def _to_people(level: str, event: str, fields: dict[str, Any]) -> None:
    """Print a problem from the log as a line for people, unless it is shown as news."""
    if LEVELS.index(level) < LEVELS.index("warning") or event in _TOLD:
        return
    output = f"recording {fields['output']}" if "output" in fields else ""
    where, problem = fields.get("path") or fields.get("session") or output, str(fields.get("problem", ""))
    said = problem if where and where in problem else ": ".join(filter(None, (where, problem)))
    what = _SAID.get(event, event.replace(".", " ").replace("_", " "))
    show([(Span(f"{_clock()} ", "dim"), Span(f"! {what}", "yellow"), Span(f": {said}"))], err=True)


def _clock() -> str:
    return datetime.now().astimezone().strftime("%H:%M")
