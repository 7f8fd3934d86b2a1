"""`katod pause`, and how it ends: nothing is recorded in between."""

import click

from katod.cli.context import Context
from katod.cli.printing import say
from katod.cli.record import ask
from katod.service.lock import holder
from katod.service.manager import how_to_start
from katod.service.pause import paused_since


@click.command()
@click.pass_obj
def pause(context: Context) -> None:
    """Record nothing until `katod resume`.

    What is said in the meantime is not recorded, and of the commands in it only `::stop` is obeyed; a mark in each
    transcript says so.
    A `::capture` or export that you ask for later contains the whole conversation.
    """
    if paused_since(context.state):
        say("katod is paused already")
        return
    ask(context, None, "pause")
    say("katod is paused: nothing is recorded until `katod resume`")


def go_on(context: Context) -> None:
    """End the pause. Raises KatodError if the daemon does not answer."""
    ask(context, None, "resume")
    if holder(context.state) is None:
        say(f"katod is no longer paused, but it is not running: `{how_to_start()}`")
    else:
        say("katod records again")
