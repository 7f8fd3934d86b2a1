"""Looks for commands in the raw lines of a session that nobody records, decoding next to nothing."""

import re
from typing import Final

from katod.agents import ADAPTERS
from katod.command.grammar import WORDS, parse
from katod.model import Identity, Line
from katod.tail.decode import decode

# Only lines that hold the two colons reach the pattern: a plain search is many times faster.
_COLONS: Final = b"::"
_CANDIDATE: Final = re.compile(rb"::(?:" + "|".join(WORDS).encode() + rb")", re.IGNORECASE)


def find_command(identity: Identity, lines: list[Line]) -> tuple[Line | None, int]:
    """Return the first line that may hold a typed command, judged by that line alone, and the near misses before it."""
    near_misses = 0
    if identity.key.subagent:
        return None, 0
    for line in lines:
        if _COLONS in line.data and _CANDIDATE.search(line.data):
            parsed = [parse(text) for text in _typed_texts(identity.key.agent, line)]
            if any(message.commands for message in parsed):
                return line, near_misses
            near_misses += sum(message.near_misses for message in parsed)
    return None, near_misses


def _typed_texts(agent: str, line: Line) -> list[str]:
    values = [record.value for record in decode(line) if record.value is not None]
    return [text for value in values for text in ADAPTERS[agent].typed_texts(value)]
