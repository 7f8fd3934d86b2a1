"""`katod open`: a transcript in the editor, or in the browser."""

from typing import Any

import click

from katod.cli.content import content_options
from katod.cli.context import Context
from katod.cli.parameters import TRANSCRIPT
from katod.formatspec import FORMATS


@click.command()
@click.argument("what", type=TRANSCRIPT, default="", metavar="[SESSION|RECORDING]")
@click.option("--web", is_flag=True, help="Open it in the browser, as an HTML page.")
@content_options
@click.pass_obj
def open(context: Context, /, what: str, web: bool, **content: Any) -> None:  # noqa: A001 - the name of the command
    """Open a transcript in your editor, or in the browser.

    RECORDING is the number or the file of a recording. Given a SESSION, katod opens its latest transcript, if it has
    one; your editor changes that file. What `::keep` or `::export` wrote counts only if nothing was recorded. For a
    session without a transcript, and with --web, katod writes a private temporary file: save it elsewhere to keep it.
    It is removed when the editor exits, or, if another program opened it, by a later `katod open`. Without an argument,
    katod uses the only running recording. If there is none, or more than one, katod asks you to choose; outside a
    terminal, it uses the latest session of this directory.

    The editor is `$VISUAL` or `$EDITOR`, or else the desktop's default program for such files.
    """
    from katod.cli.opening import clear, opened_in, temporary  # noqa: PLC0415 - loads what starts programs
    from katod.cli.transcripts import DEFAULT, transcript  # noqa: PLC0415 - loads all formats

    clear()
    chosen = transcript(context, what, recorded=content == DEFAULT)
    if (own := chosen.own(content, web=web)) is not None:
        opened_in(own, web=own.suffix == FORMATS["html"].suffix)
        return
    format_name = "html" if web else "markdown"
    name, pieces = chosen.rendered(context, format_name, content)
    temporary(f"{name}{FORMATS[format_name].suffix}", pieces, lambda path: opened_in(path, web=web))
