"""`katod mcp`: what was recorded, for other agents."""

import click

from katod.cli.context import Context
from katod.cli.layout import is_terminal
from katod.config import shown_zone
from katod.errors import KatodError, with_extra

_HOW = "to add it to Claude Code: claude mcp add -s user katod -- katod mcp"


@click.command()
@click.pass_obj
def mcp(context: Context) -> None:
    """Let agents search and read what you recorded (MCP).

    A server for the Model Context Protocol, which agents start themselves. It has three tools: they list, search and
    read the sessions that you recorded. Secrets are redacted, and other sessions are not accessible. It writes nothing,
    and the daemon does not have to be running. To add it to an agent:

    \b
    claude mcp add -s user katod -- katod mcp
    codex mcp add katod -- katod mcp
    gemini mcp add -s user katod katod mcp
    """  # noqa: D301 - click reads the escape
    try:
        from katod.mcp.recordings import Library  # noqa: PLC0415 - loads all formats
        from katod.mcp.server import serve  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise KatodError(
            "this needs the package mcp, version 2, which is not installed", hint=with_extra("mcp")
        ) from None
    if is_terminal():
        raise KatodError("`katod mcp` is started by an agent, not from a terminal", hint=_HOW)
    settings = context.settings
    serve(Library(context.state, settings.archive.folders, shown_zone(settings.output)))
