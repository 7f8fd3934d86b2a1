"""`katod run`: the daemon in the foreground."""

import sys

import click

from katod.cli.context import Context
from katod.cli.printing import say
from katod.log import EventLog, stderr_sink
from katod.service.signals import Signals


@click.command()
@click.option("--once", is_flag=True, help="Process everything that is new, then exit.")
@click.pass_obj
def run(context: Context, once: bool) -> None:
    """Run the daemon in the foreground.

    It follows the agents' sessions and writes the recordings. SIGTERM stops it after the current step, SIGHUP reloads
    the configuration.
    """
    signals = None if once else Signals.install()  # before anything that takes long: a SIGHUP would end the process
    from katod.daemon import run_daemon  # noqa: PLC0415 - the watcher's libraries load only here

    settings = context.settings
    if sys.stdout.isatty() and not once:
        say("katod is following your agents. Type ::start in a chat to record it. Press Ctrl-C to stop katod.")
    run_daemon(settings, context.config_path, context.state, EventLog(stderr_sink(), settings.log.level), signals)
