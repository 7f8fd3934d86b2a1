"""Writes the man pages of katod and its commands, from the help texts: `python packaging/manual.py`.

They have no date: they change with the program, not with the day on which they are written.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from katod import __version__
from katod.cli import GROUPS, app

FOLDER: Final = Path(__file__).parent / "man"
_SPECIAL: Final = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "~": "\\(ti", "^": "\\(ha"}
_WIDTH: Final = 78
_CODE: Final = re.compile("`([^`]+)`")
_GENERAL: Final = """\
.SH EXIT STATUS
.TP
.B 0
Success.
.TP
.B 1
Failure; one line on standard error says why.
.TP
.B 2
Wrong usage, or an invalid configuration for \\fBkatod run\\fP.
.SH ENVIRONMENT
.TP
.B KATOD_CONFIG
The configuration file, unless \\fB\\-\\-config\\fP names one.
.TP
.B KATOD_STATE_DIR
The directory with the state of katod.
.TP
.B KATOD_DATA_DIR
The directory in which sessions saved from deletion are kept, in
\\fIrescued\\fP.
.TP
.B NO_COLOR
Use no colours.
.SH FILES
.TP
.I \\(ti/.config/katod/katod.toml
The configuration; on macOS
\\fI\\(ti/Library/Application Support/katod/katod.toml\\fP.
\\fBkatod config path\\fP prints where it is, \\fBkatod config init\\fP writes one
with all keys explained.
.TP
.I \\(ti/.config/katod/seal\\-key.pem
The key with which \\fBkatod seal\\fP signs; its public half is in
\\fIseal\\-key.pub.pem\\fP beside it.
.TP
.I \\(ti/.local/state/katod
The state; on macOS \\fI\\(ti/Library/Application Support/katod\\fP.
.TP
.I \\(ti/katod
The transcripts.
"""


def pages() -> dict[str, str]:
    """Return every man page by the name of its file."""
    return {f"{context.command_path.replace(' ', '-')}.1": _page(context) for context in _contexts(app, "katod", None)}


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield context
    for inner, subcommand in _subcommands(context):
        yield from _contexts(subcommand, inner, context)


def _subcommands(context: click.Context) -> list[tuple[str, click.Command]]:
    group = context.command
    if not isinstance(group, click.Group):
        return []
    found = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [(name, command) for name, command in found if command is not None]


def _page(context: click.Context) -> str:
    name = context.command_path.replace(" ", "-")
    pieces = context.command.collect_usage_pieces(context)
    parts = [
        f'.TH {_plain(name.upper())} 1 "" "katod {__version__}" "katod"\n',
        f".SH NAME\n{_plain(name)} \\-\n{_prose(_summary(context.command))}\n",
        f".SH SYNOPSIS\n.B {_plain(context.command_path)}\n{_plain(' '.join(pieces))}\n",
        f".SH DESCRIPTION\n{_description(context.command)}",
        _list("OPTIONS", _options(context)),
        _list("COMMANDS", _commands(context, name)) if context.parent else _grouped(context, name),
        "" if context.parent else _GENERAL,
        f".SH SEE ALSO\n{_references(context)}\n" if context.parent else "",
    ]
    return "".join(parts)


def _summary(command: click.Command) -> str:
    return command.get_short_help_str(limit=200).rstrip(".")


def _description(command: click.Command) -> str:
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return ".PP\n".join(map(_paragraph, paragraphs))


def _paragraph(text: str) -> str:
    """Return a paragraph; after the sign of click for one that is not wrapped, each line stays as it is."""
    if text.startswith("\b\n"):
        return ".nf\n" + "".join(f"{_plain(line)}\n" for line in text.splitlines()[1:]) + ".fi\n"
    return f"{_prose(' '.join(text.split()))}\n"


def _options(context: click.Context) -> Iterator[tuple[str, str]]:
    options = (option for option in context.command.get_params(context) if isinstance(option, click.Option))
    records = (option.get_help_record(context) for option in options)
    for record in filter(None, records):
        yield f".B {_plain(record[0])}", _prose(record[1])


def _commands(context: click.Context, name: str) -> Iterator[tuple[str, str]]:
    return _entries(name, _subcommands(context))


def _entries(name: str, commands: Iterable[tuple[str, click.Command]]) -> Iterator[tuple[str, str]]:
    for inner, command in commands:
        yield f".BR {_plain(f'{name}-{inner}')} (1)", _prose(_summary(command)) + "."


def _grouped(context: click.Context, name: str) -> str:
    """Return the commands of katod itself below the titles of their groups, as `katod --help` lists them."""
    known = dict(_subcommands(context))
    parts = [
        f".SS {title}\n{_rows(_entries(name, ((inner, known[inner]) for inner in commands)))}"
        for title, commands in GROUPS.items()
    ]
    return f".SH COMMANDS\n{''.join(parts)}"


def _list(title: str, rows: Iterator[tuple[str, str]]) -> str:
    text = _rows(rows)
    return f".SH {title}\n{text}" if text else ""


def _rows(rows: Iterator[tuple[str, str]]) -> str:
    return "".join(f".TP\n{term}\n{meaning}\n" for term, meaning in rows)


def _references(context: click.Context) -> str:
    names = []
    while context.parent is not None:
        context = context.parent
        names.append(f".BR {_plain(context.command_path.replace(' ', '-'))} (1)")
    return ",\n".join(names)


def _prose(text: str) -> str:
    """Return text in lines of its own, with what is code in bold."""
    parts = [_escaped(part, "-") for part in _CODE.split(" ".join(text.split()))]
    parts[1::2] = [f"\\fB{_hyphens(part)}\\fP" for part in parts[1::2]]
    lines = textwrap.wrap("".join(parts), _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_line, lines))


def _plain(text: str) -> str:
    return _line(_escaped(text))


def _hyphens(code: str) -> str:
    return code.replace("-", "\\-")


def _line(text: str) -> str:
    return f"\\&{text}" if text[:1] in (".", "'") else text


def _escaped(text: str, kept: str = "") -> str:
    signs = (sign if sign in kept else _SPECIAL.get(sign, sign) for sign in text)
    return "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in signs)


def write() -> None:
    """Write all pages, and remove those of commands that no longer exist."""
    FOLDER.mkdir(exist_ok=True)
    current = pages()
    for path in FOLDER.iterdir():
        if path.name not in current:
            path.unlink()
    for name, text in current.items():
        (FOLDER / name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    write()
