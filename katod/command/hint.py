"""What to tell the user about the command lines of a prompt that is about to be sent."""

from typing import Final, NamedTuple

from katod.command.grammar import lines, near_miss, parse_line
from katod.model import NearMiss

_MOST: Final = 3


class CommandHints(NamedTuple):
    """Whether a prompt has command lines, and what is wrong with the lines that only resemble one."""

    commands: bool
    near_misses: tuple[str, ...] = ()


def hints(prompt: str) -> CommandHints:
    """Return what can be known of a prompt before it is sent: not whether its text is pasted, nor what comes of it."""
    commands, said = False, list[str]()
    for line, fenced in lines(prompt):
        if fenced or "::" not in line:
            continue
        if parse_line(line) is not None:
            commands = True
        elif (miss := near_miss(line)) is not None:
            said.append(_said_of(miss, line))
    return CommandHints(commands, tuple(dict.fromkeys(said))[:_MOST])


def _said_of(miss: NearMiss, line: str) -> str:
    typed = line.partition("::")[2].split(maxsplit=1)[0]
    if miss.kind in ("misspelt", "of another tool"):
        return f'"::{typed}" is not a command; did you mean "::{miss.word}"?'
    return f"this is not a command: {miss.advice}"
