"""Lines that look like commands but are not: what kind of mistake they are, and which command they resemble."""

import re
from typing import Final, Literal, get_args

from katod.model import NearMiss, Word

_LIKE: Final = re.compile(r"([ \t]*)::([ \t]?)([A-Za-z]+)(?![^\s])[ \t]*(.*)")
# How many letters may be wrong: more in longer words.
_TOLERANCE: Final[dict[Word, int]] = {"start": 1, "stop": 1, "capture": 2, "export": 2, "keep": 1}
# What kato calls it: people who come from there type these by habit.
_OF_ANOTHER_TOOL: Final[dict[str, Word]] = {"record": "start", "init": "start"}
_NO_COUNT: Final = re.compile(r"0[0-9]*|[0-9]{3,}")
_OPTION: Final = re.compile(r"[+\-\u2013\u2014]+\w")


def near_miss(line: str) -> NearMiss | None:
    """Return the problem of a line that is not a command, None if it does not look like one."""
    match = _LIKE.fullmatch(line.rstrip())
    if match is None:
        return None
    indent, gap, said, rest = match.groups()
    if said.lower() in _OF_ANOTHER_TOOL:
        return NearMiss("of another tool", _OF_ANOTHER_TOOL[said.lower()])
    word = _resembled(said.lower())
    if word is None:
        return None
    if said.lower() != word:
        return NearMiss("misspelt", word)
    if indent or gap:
        return NearMiss("indented", word)
    return NearMiss(_wrong_in(word, rest), word)


def _wrong_in(word: Word, rest: str) -> Literal["unknown option", "count", "extra words"]:
    """Return what is wrong with the words after a command."""
    words = rest.split()
    if any(map(_OPTION.match, words)):
        return "unknown option"
    return "count" if word == "keep" and words[:1] and _NO_COUNT.fullmatch(words[0]) else "extra words"


def _resembled(said: str) -> Word | None:
    found = [(_distance(said, word), word) for word in get_args(Word)]
    return next((word for distance, word in sorted(found) if distance <= _TOLERANCE[word]), None)


def _distance(one: str, other: str) -> int:
    """Return how many letters are wrong, missing, too many, or in each other's place."""
    if abs(len(one) - len(other)) > max(_TOLERANCE.values()):
        return max(len(one), len(other))
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return row[-1]
