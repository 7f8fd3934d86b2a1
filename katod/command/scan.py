"""Looks for commands in the raw lines of a session that nobody records, decoding next to nothing."""

import re
from collections.abc import Iterator
from typing import Final

from katod.agents import AGENTS
from katod.command.grammar import parse
from katod.model import Identity, Line
from katod.tail.decode import decode
from katod.tail.framing import clean
from katod.tail.reader import Batch

# A line of a JSON string begins behind its quote, or behind an escaped newline. What stands before the colons is
# looked at last: to two plain characters in front `re` leaps, and faster than `bytes.find` does.
_BEGINS: Final = re.compile(rb'::(?:(?<="::)|(?<=\\[nr]::)|(?<=\\u000[aAdD]::))[A-Za-z]')


def find_command(identity: Identity, batch: Batch) -> tuple[Line | None, int]:
    """Return the first line that may hold a typed command, judged by it alone, and the near misses before it.

    The line comes decoded: whoever translates it need not do that again.
    """
    near_misses = 0
    if identity.key.subagent:
        return None, 0
    for raw in _candidates(batch):
        line = raw._replace(records=tuple(decode(raw)))
        parsed = [parse(text) for text in _typed_texts(identity.key.agent, line)]
        if any(message.commands for message in parsed):
            return line, near_misses
        near_misses += sum(message.near_misses for message in parsed)
    return None, near_misses


def _candidates(batch: Batch) -> Iterator[Line]:
    """Yield the lines with a string in which a line begins like a command; they are looked for only around it."""
    data, at = batch.data, 0
    if not data:
        yield from (line for line in batch.lines if _BEGINS.search(line.data))
        return
    while match := _BEGINS.search(data, at):
        begin, end = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.end()) + 1
        offset = batch.start + begin
        yield Line(offset, batch.start + end, clean(data[begin : end - 1], offset))
        at = end


def _typed_texts(agent: str, line: Line) -> list[str]:
    values = [record.value for record in line.records if record.value is not None]
    return [text for value in values for text in AGENTS[agent].adapter.typed_texts(value)]
