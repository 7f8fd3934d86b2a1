"""The tables of this package: files of sections, `## name`, with a row a line.

Control characters in rows are written as pictures: ⏎ a line end, ␉ a tab, ␛ an escape, ␍ a return, ␠ a blank at the
end. ¦ is nothing; it keeps scanners of secrets from taking a table for a leak.
"""

import re
from functools import cache
from pathlib import Path

_PICTURES = str.maketrans({"⏎": "\n", "␉": "\t", "␛": "\x1b", "␍": "\r", "␠": " ", "¦": ""})


def _lines(name: str) -> list[str]:
    return [line for line in Path(__file__).with_name(name).read_text("utf-8").split("\n") if line]


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of each section of a table."""
    found: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in _lines(name):
        if line.startswith("## "):
            rows = found.setdefault(line[3:], [])
        else:
            rows.append(line.translate(_PICTURES))
    return {section: tuple(lines) for section, lines in found.items()}


@cache
def rows(name: str) -> tuple[list[str], ...]:
    """Return the three columns of each row of a table without sections."""
    return tuple(re.split(r"\s{2,}", line, maxsplit=2) for line in _plain(name))


def _plain(name: str) -> list[str]:
    return [line.translate(_PICTURES) for line in _lines(name)]
