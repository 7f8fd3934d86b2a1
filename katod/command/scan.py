"""Scans the raw lines of unrecorded sessions for commands and decodes almost nothing."""

import re
from collections.abc import Iterator
from typing import Final

from katod.agents import AGENTS
from katod.command.grammar import parse_message
from katod.model import Identity, Line, NearMiss, TypedText
from katod.tail.decode import decode, strip_record
from katod.tail.reader import Batch

# In a JSON string, a line begins after the opening quote or after an escaped newline; the first line may also begin
# after a tag with an attribute, in which Cline writes what was typed. The look-behinds come after
# the colons because `re` skips quickly to a literal prefix of two characters, more quickly than `bytes.find`.
# What is indented is at most a near miss: it is looked at if it begins like a command.
_BEGINS: Final = re.compile(
    rb'::(?:(?:(?<="::)|(?<=\\[nr]::)|(?<=\\u000[aAdD]::)|(?<=\\">::)) ?[A-Za-z]'
    rb"|(?:(?<= ::)|(?<=\\t::)) ?(?i:st[aop]|cap|exp|kee|rec|ini))"
)


def find_command(identity: Identity, batch: Batch) -> tuple[Line | None, list[NearMiss]]:
    """Return the first line that may contain a typed command, judged by that line alone, and the near misses before it.

    The line is returned decoded, so that it need not be decoded again. Where in its message a command is does not
    matter: that is judged by the message, which may be less than the text of the record.
    """
    near_misses: list[NearMiss] = []
    if identity.key.subagent:
        return None, near_misses
    for raw in _candidates(batch):
        line = raw._replace(records=tuple(decode(raw)))
        parsed = [parse_message(*typed) for typed in _typed_texts(identity.key.agent, line)]
        if any(message.commands for message in parsed):
            return line, near_misses
        near_misses += (miss for message in parsed for miss in message.near_misses)
    return None, near_misses


def _candidates(batch: Batch) -> Iterator[Line]:
    """Yield the lines with a string in which a line begins like a command; line ends are found only around a match."""
    data, at = batch.data, 0
    if not data:
        yield from (line for line in batch.lines if _BEGINS.search(line.data))
        return
    while match := _BEGINS.search(data, at):
        begin, end = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.end()) + 1
        offset = batch.start + begin
        yield Line(offset, batch.start + end, strip_record(data[begin : end - 1], offset))
        at = end


def _typed_texts(agent: str, line: Line) -> list[TypedText]:
    spec = AGENTS[agent]
    values = [record.value for record in line.records if record.value is not None] if spec.commands else []
    return [typed for value in values for typed in spec.adapter.typed_texts(value)]
