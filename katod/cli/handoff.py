"""`katod handoff`: a brief of a session for another agent."""

from dataclasses import replace
from typing import Final

import click

from katod.cli.context import Context
from katod.cli.export import events_of, options_of
from katod.cli.printing import say
from katod.errors import SelectionError
from katod.formats.brief import LEAST, USUAL, brief
from katod.formats.turns import gathered

_MOST: Final = 1_000_000


@click.command()
@click.argument("session", metavar="SESSION|FILE")
@click.option(
    "--budget",
    type=click.IntRange(LEAST, _MOST),
    default=USUAL,
    show_default=True,
    metavar="N",
    help="The most characters that the brief may have.",
)
@click.pass_obj
def handoff(context: Context, session: str, budget: int) -> None:
    """Brief another agent about a session, within a budget.

    Prints the task, what was asked since, the decisions, the files that were changed, what is still to do, and the
    last turns word for word, in Markdown without secrets. SESSION is a session id, a unique prefix of one,
    `agent:prefix`, or `latest`; FILE is an agent's session file or a JSONL file that katod wrote.
    """
    _, events = events_of(context, session)
    conversation = gathered(events, replace(options_of(context, tools="summary"), redact=True))
    if conversation is None:
        raise SelectionError("there is nothing in it yet", path=session)
    say(brief(conversation, budget))
