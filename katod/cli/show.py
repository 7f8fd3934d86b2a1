"""`katod show`: a transcript in the terminal."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import split
from typing import Any

import click

from katod.cli.content import content_options
from katod.cli.context import Context
from katod.cli.layout import terminal_width
from katod.cli.parameters import TRANSCRIPT
from katod.cli.printing import cleaned
from katod.errors import KatodError
from katod.search.query import Query
from katod.search.sections import MARK, messages, place_in, sections_of


@click.command()
@click.argument("what", type=TRANSCRIPT, default="", metavar="[SESSION|RECORDING]")
@click.option(
    "--find",
    metavar="WORDS",
    help="Start at the first message that contains all of these words, as in `katod search`; n goes to the next one.",
)
@content_options
@click.pass_context
def show(ctx: click.Context, /, what: str, find: str | None, **content: Any) -> None:
    """Show a transcript in the pager, in colour.

    RECORDING is the number or the file of a recording; its transcript is shown as it is now, with your edits. SESSION
    shows the whole session as `katod export` prints it, whether it is recorded or not, also one that another machine
    shares (`archive.folders`); nothing is stored. Without an argument, katod uses the only running recording. If there
    is none, or more than one, katod asks you to choose; outside a terminal, it uses the latest session of this
    directory. With --thinking, --tools or --no-redact, a recording is rendered again from its session, without your
    edits.

    In a pipe, the output is plain Markdown; with --find, only the messages that contain these words. The pager is
    `$PAGER`, by default `less`. If it is set but empty, no pager is used.
    """
    from katod.cli.transcripts import transcript  # noqa: PLC0415 - loads all formats

    context: Context = ctx.obj
    chosen = transcript(context, what)
    pieces, is_recording = chosen.markdown(context, content), chosen.row is not None
    query = Query.parse(split(find)) if find else None
    width = terminal_width()
    if width is None:
        _print(pieces if query is None else _found(pieces, query, is_recording=is_recording))
        return
    from katod.cli.rendering import render  # noqa: PLC0415 - loads the renderer

    shown = render(pieces, width, query, is_recording=is_recording)
    _page(shown, has_colour=ctx.color is not False, at=MARK if query else "")


def _print(pieces: Iterable[str]) -> None:
    for piece in pieces:
        click.echo(cleaned(piece), nl=False)


def _found(pieces: Iterable[str], query: Query, *, is_recording: bool) -> Iterator[str]:
    """Yield the messages with all words. Raises KatodError if there are none."""
    is_found = False
    for message in messages(sections_of(pieces, is_recording=is_recording)):
        if place_in(message, query) is not None:
            is_found = True
            yield "".join(section.shown for section in message)
    if not is_found:
        raise KatodError("nothing found", hint="`--tools full` also shows the input and output of tools")


def _page(texts: Iterator[str], *, has_colour: bool, at: str = "") -> None:
    """Show text that is made while it is read; `less` begins where `at` stands first."""
    if at:
        os.environ["LESS"] = f"{os.environ.get('LESS', '-R')} +/{at}"
    pager = os.environ.get("PAGER")
    if (pager is not None and not pager.strip()) or not sys.stdin.isatty():
        for text in texts:
            click.echo(text, nl=False)
        return
    # `click` asks `less` whether it shows colours; of other pagers it would assume that they do not.
    is_less = Path((pager or "less").split()[0]).name == "less"
    click.echo_via_pager(texts, color=None if is_less and has_colour else has_colour)
