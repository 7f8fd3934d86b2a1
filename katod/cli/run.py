"""`katod run`: the daemon in the foreground."""

import sys

import click

from katod.cli.context import Context
from katod.log import EventLog, stderr_sink


@click.command()
@click.option("--once", is_flag=True, help="Look at everything, process what is new, and exit.")
@click.pass_obj
def run(context: Context, once: bool) -> None:
    """Follow the agents' sessions and write what is recorded (the daemon, in the foreground).

    SIGTERM ends it after the step under way, SIGHUP has it read the configuration again.
    """
    from katod.daemon import start  # noqa: PLC0415 - the watcher's libraries load only here

    settings = context.settings
    if sys.stdout.isatty() and not once:
        click.echo("katod follows your agents. Type ::start in the chat to record; Ctrl-C ends katod.")
    start(settings, context.config_path, context.state, EventLog(stderr_sink(), settings.log.level), once=once)
