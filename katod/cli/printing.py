"""What the commands print for people."""

import click

from katod.formats.mdtext import clean


def cleaned(text: str) -> str:
    """Return text without what would affect the terminal: paths, titles and messages come from anywhere."""
    return clean(text.encode("utf-8", "replace").decode())


def say(text: object, *, err: bool = False) -> None:
    """Print text, cleaned."""
    click.echo(cleaned(str(text)), err=err)
