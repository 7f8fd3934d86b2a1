"""`katod mcp`: what was recorded, for other agents."""

import click

from katod.cli.context import Context
from katod.cli.layout import is_terminal
from katod.errors import KatodError, with_extra

_HOW = "to add it to Claude Code: claude mcp add -s user katod -- katod mcp"


@click.command()
@click.pass_obj
def mcp(context: Context) -> None:
    """Let agents search and read what you recorded (MCP).

    An agent starts this, and speaks to it through a pipe. It gets three tools: they list, search and read the sessions
    that you recorded, without secrets and only by their ids. Other sessions cannot be seen. Nothing is written, and
    katod need not run.

    \b
    claude mcp add -s user katod -- katod mcp
    codex mcp add katod -- katod mcp
    gemini mcp add -s user katod katod mcp
    """  # noqa: D301 - click reads the escape
    try:
        from katod.mcp.server import serve  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise KatodError(
            "this needs the package mcp, version 2, which is not installed", hint=with_extra("mcp")
        ) from None
    if is_terminal():
        raise KatodError("this is started by an agent", hint=_HOW)
    serve(context.state)
