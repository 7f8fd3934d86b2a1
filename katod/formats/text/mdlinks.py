"""Links that would run or embed something when they are clicked are shown as text. Pure."""

import re
from bisect import bisect_right
from collections.abc import Callable
from html import unescape
from typing import Final

# What a message with such a link contains, as far as a quick search can tell: a scheme, or a way to spell one.
SUSPECT: Final = r"\](?:\([ \t]*$|\([ \t]*<?[^\s)/]{0,400}?(?i:script|data|&|\\))|<(?i:javascript|vbscript|data):"
_LINK: Final = re.compile(r"(?<!\\)\](?=\([ \t]*(?:<?([^\s)>]{1,400})|$))")
_AUTOLINK: Final = re.compile(r"<(?=(?i:javascript|vbscript|data):)")
_TICKS: Final = re.compile("`+")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_ACTIVE: Final = ("javascript:", "vbscript:", "data:")


def disarmed(line: str, is_continued: Callable[[], bool]) -> str:
    """Return a line of text, outside code, with its active links as text; code spans of the line are left alone.

    `is_continued` tells whether a code span of the lines before may end in this one: then nothing in it is certain.
    """
    if "](" in line:
        line = _without_active_links(line, is_continued)
    return _AUTOLINK.sub("&lt;", line) if "<" in line else line


def _without_active_links(line: str, is_continued: Callable[[], bool]) -> str:
    """Go through the ends of link texts once, knowing whether each is of a picture."""
    pieces: list[str] = []
    at = 0
    picture = False
    spans: list[tuple[int, int]] | None = None
    for match in _LINK.finditer(line):
        before = line[at : match.start()]
        opened, closed = before.rfind("!["), before.rfind("]")
        picture = opened > closed if max(opened, closed) >= 0 else picture
        active = _is_active(match[1], picture=picture)
        if active and "`" in line:
            spans = ([] if is_continued() else code_spans(line)) if spans is None else spans
            active = not is_within(match.start(), spans)
        pieces += before, "\\]" if active else "]"
        at, picture = match.end(), False
    return "".join([*pieces, line[at:]])


def code_spans(line: str) -> list[tuple[int, int]]:
    """Return where the code spans of a line certainly are.

    An escaped backtick, or one within a tag, begins none; a line that may have one is taken to have no code.
    """
    return [] if "\\`" in line or "<" in line else paired(line)


def paired(text: str) -> list[tuple[int, int]]:
    """Return the spans from a run of backticks to the next one of the same length, which may be code."""
    runs = [(run.start(), run.end()) for run in _TICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for number in reversed(range(len(runs))):
        later.setdefault(runs[number][1] - runs[number][0], []).append(number)
    spans, number = [], 0
    while number < len(runs):
        start, end = runs[number]
        same = later[end - start]
        while same and same[-1] <= number:
            same.pop()
        if same:
            spans.append((start, runs[same[-1]][1]))
            number = same[-1]
        number += 1
    return spans


def is_within(at: int, spans: list[tuple[int, int]]) -> bool:
    """Return whether a place is in one of the spans, which are in order."""
    number = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return number >= 0 and at < spans[number][1]


def _is_active(target: str | None, *, picture: bool) -> bool:
    """Return whether a target runs something: renderers resolve entities and escapes in it. None: on the next line."""
    if target is None:
        return True
    spelled = unescape(_ESCAPE.sub(r"\1", target)).lower()
    return spelled.startswith(_ACTIVE) and not (picture and spelled.startswith("data:image/"))
