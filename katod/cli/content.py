"""The options of commands that print a session, by which they include thinking, tools and secrets."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from katod.cli.groups import Choice

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option("--thinking", is_flag=True, help="Include the agent's thinking."),
    click.option(
        "--tools",
        type=Choice(["none", "summary", "full"]),
        help="How to show tool calls. Default: the setting content.tools.",
    ),
    click.option("--no-redact", "redact", is_flag=True, flag_value=False, default=True, help="Do not redact secrets."),
)


def content_options(command: F) -> F:
    """Add the options `--thinking`, `--tools` and `--no-redact` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
