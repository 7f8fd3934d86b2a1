"""`katod pause`: stops all recording until the pause is ended."""

import click

from katod.cli.context import Context
from katod.cli.printing import say
from katod.cli.record import ask
from katod.service.lock import holder
from katod.service.manager import how_to_start
from katod.service.pause import paused_since


@click.command()
@click.option("--end", is_flag=True, help="End the pause.")
@click.pass_obj
def pause(context: Context, end: bool) -> None:
    """Record nothing until `katod pause --end`.

    Nothing that is said in the meantime is recorded. Commands typed in the chat are ignored, except for `::stop`. A
    line in each transcript marks the pause. A later `::capture` or export still contains the whole conversation.
    """
    if bool(paused_since(context.state)) is not end:
        say("katod is not paused" if end else "katod is already paused: `katod pause --end` ends the pause")
    elif end:
        _end(context)
    else:
        ask(context, None, "pause")
        say("katod is paused: nothing is recorded until `katod pause --end`")


def _end(context: Context) -> None:
    """End the pause. Raises KatodError if the daemon does not answer."""
    ask(context, None, "resume")
    if holder(context.state) is None:
        say(f"katod is no longer paused, but it is not running: run `{how_to_start()}`")
    else:
        say("katod is no longer paused")
