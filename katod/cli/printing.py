"""What the commands print for people."""

import click

from katod.formats.mdtext import clean


def say(text: object, *, err: bool = False) -> None:
    """Print a line without what would affect the terminal: paths, titles and messages come from anywhere."""
    click.echo(clean(str(text).encode("utf-8", "replace").decode()), err=err)
