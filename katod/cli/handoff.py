"""`katod handoff`: a brief of a session for another agent."""

from dataclasses import replace
from typing import Final

import click

from katod.cli.context import Context
from katod.cli.parameters import SESSION_OR_FILE
from katod.cli.printing import say_as_it_is
from katod.errors import SelectionError

# The limits of a budget, in characters.
_LEAST: Final = 2_000
_USUAL: Final = 16_000
_MOST: Final = 1_000_000


@click.command()
@click.argument("session", type=SESSION_OR_FILE, default="", metavar="[SESSION|FILE]")
@click.option(
    "--budget",
    type=click.IntRange(_LEAST, _MOST),
    default=_USUAL,
    show_default=True,
    metavar="N",
    help="The maximum length of the brief, in characters.",
)
@click.pass_obj
def handoff(context: Context, session: str, budget: int) -> None:
    """Write a brief of a session for another agent, within a given length.

    Prints the task, later requests, decisions, changed files, what is still to do, and the last turns word for word, as
    Markdown; secrets are redacted. SESSION is the same as for `katod export`, FILE an agent's session file or a JSONL
    file that katod wrote.
    """
    from katod.cli.exporting import events_of, options_of  # noqa: PLC0415 - loads all formats, as these do
    from katod.formats.transcript.brief import brief  # noqa: PLC0415
    from katod.formats.transcript.turns import gathered  # noqa: PLC0415

    name, events = events_of(context, session)
    conversation = gathered(events, replace(options_of(context, tools="summary"), redact=True))
    if conversation is None or not conversation.turns:
        raise SelectionError("nothing was said in it yet", path=session or name)
    say_as_it_is(brief(conversation, budget))
