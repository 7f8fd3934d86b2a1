"""Lines of text as hashes: enough to tell whether two are equal, and nothing of what they say. Pure."""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

_SIGN: Final = re.compile(r"[^\W_]")
_MOST: Final = 255
# A line with fewer letters and digits, such as `}`, says nothing about where it comes from.
_TELLING: Final = 4
_REMEMBERED: Final = 200_000


class HashedLine(NamedTuple):
    """One line: its hash, its hash without indentation, and how many letters and digits it has (at most 255)."""

    exact: int
    unindented: int
    weight: int

    @property
    def is_distinctive(self) -> bool:
        """Whether it says enough to be recognised elsewhere."""
        return self.weight >= _TELLING


class LineHasher:
    """Makes hashed lines of text; `number` is the hash. Lines that occur again are not hashed again."""

    def __init__(self, number: Callable[[str], int]) -> None:
        self.number = number
        self._known: dict[str, HashedLine] = {}

    def lines(self, text: str) -> tuple[HashedLine, ...]:
        """Return the lines of a text; neither the end of its last line nor a carriage return counts."""
        return self.of(split_lines(text))

    def of(self, lines: Iterable[str]) -> tuple[HashedLine, ...]:
        """Return these lines."""
        return tuple(map(self._line, lines))

    def _line(self, line: str) -> HashedLine:
        found = self._known.get(line)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            stripped = line.strip()
            found = HashedLine(self.number(line), self.number(stripped), min(len(_SIGN.findall(stripped)), _MOST))
            self._known[line] = found
        return found


def split_lines(text: str) -> list[str]:
    """Return the lines of a text as an editor counts them."""
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines
