"""What the commands print for people."""

import shutil
import sys

import click

from katod.cli.wrapping import wrapped
from katod.text import clean


def cleaned(text: str) -> str:
    """Return text without what would affect the terminal: paths, titles and messages come from anywhere."""
    return clean(text.encode("utf-8", "replace").decode())


def width_of(*, err: bool = False) -> int | None:
    """Return the width of the terminal in cells, None if that stream is not one: then nothing is cut or broken."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else None


def say(text: object, *, err: bool = False) -> None:
    """Print text for people, cleaned; on a terminal, its lines are broken between words."""
    shown, width = cleaned(str(text)), width_of(err=err)
    if width is not None:
        lines = (line for whole in shown.split("\n") for line in wrapped([(whole, "")], width))
        shown = "\n".join("".join(word for word, _ in line) for line in lines)
    click.echo(shown, err=err)


def say_as_it_is(text: object) -> None:
    """Print text that is copied, or run, cleaned: no line of it is broken."""
    click.echo(cleaned(str(text)))


def say_to_programs(text: str | bytes) -> None:
    """Print text that programs read: exactly, but cleaned on a terminal."""
    shown = text.decode() if isinstance(text, bytes) else text
    (say_as_it_is if sys.stdout.isatty() else click.echo)(shown)
