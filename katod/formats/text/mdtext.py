"""Text for Markdown: makes sure that nothing in a message takes effect outside its place. Pure."""

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from katod.formats.text.mdblocks import neutral
from katod.formats.text.ownlines import SIGN
from katod.text import clean

_TICKS: Final = re.compile("`+")
_MANY_TICKS: Final = 8
# Text without any of these needs no escaping.
_MARKUP: Final = re.compile(rf"[\\`*\[\]_~&<{SIGN}]|^[\d#>+=-]")
_ENTITY: Final = re.compile(r"&(?=#?\w+;)")
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
# What would begin a heading, a quotation or a list at the start of a line.
_BLOCK_MARK: Final = re.compile(r"^(?:(?=[#>+=~-])|(\d{1,9})(?=[.)](?:\s|$)))")
_UNDERSCORE: Final = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# A forge ends an address before these signs, with the backslash that escapes them as its last character.
_ADDRESS: Final = re.compile(r"://|www\.|@", re.IGNORECASE)
# By what viewers recognise the addresses that they make links of.
_LINKED: Final = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
_ESCAPED: Final = (r"\*", r"\\_", r"\~~")
_ENTITIES: Final = ("&ast;", "&lowbar;", "&#126;~")
_BLANK_LINES: Final = re.compile(r"\A(?:[ \t]*+\n)++")


def body(text: str) -> str:
    """Return a message's text for use below the headings of the conversation.

    Headings move three levels down (outside fences), so that none can pose as a speaker. A fence, comment or HTML block
    that is left open is closed at the end.
    """
    return _flush(neutral, clean(text))


def typed(text: str) -> str:
    """Return typed text for display: like `body`, but each line stays a line."""
    return _flush(partial(neutral, hard=True), clean(text))


def _flush(shown: Callable[[str], str], text: str) -> str:
    """Return text that does not continue the list before it: its first line is not indented.

    If that is code by its indentation, an empty comment ends the list.
    """
    text = _BLANK_LINES.sub("", text).rstrip()
    rest = text.lstrip(" \t")
    if len(text) - len(rest) < 4 and "\t" not in text[: len(text) - len(rest)]:
        return shown(rest)
    return f"<!-- -->\n\n{shown(text)}"


def inline(text: str) -> str:
    """Return text for the middle of a line: one line, with all markup escaped."""
    text = " ".join(clean(text).split())
    if not _MARKUP.search(text):
        return text
    text = _ENTITY.sub("&amp;", text) if "&" in text else text
    for mark in ("\\", "`", "[", "]", SIGN):
        if mark in text:
            text = text.replace(mark, f"\\{mark}")
    star, line, tildes = _ENTITIES if _ADDRESS.search(text) else _ESCAPED
    text = text.replace("*", star).replace("~~", tildes)
    text = _UNDERSCORE.sub(line, text) if "_" in text else text
    text = _TAG.sub("&lt;", text) if "<" in text else text
    return _BLOCK_MARK.sub(r"\1\\", text)


def heading(text: str) -> str:
    """Return text for a heading: like `inline`, but no viewer makes a link of a web address in it."""
    return unlinked(inline(text))


def unlinked(shown: str) -> str:
    """Return what `inline` returned so that no viewer makes a link of a web address in it."""
    return _LINKED.sub(r"\\\g<0>", shown) if "://" in shown or "www." in shown.lower() else shown


def code(text: str) -> str:
    """Return text as inline code, by its exact characters but line ends; the delimiter is longer than any backticks."""
    text = " ".join(clean(text).strip().splitlines())
    ticks = "`" * (_longest(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block; the fence is longer than any run of backticks in it."""
    text = clean(text).rstrip("\n")
    ticks = "`" * max(3, _longest(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def html(text: str) -> str:
    """Return text for the inside of an HTML element: one line, with all markup escaped."""
    text = " ".join(clean(text).split())
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quoted(text: str) -> str:
    """Return text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in body(text.expandtabs(4)).split("\n"))


def _longest(text: str) -> int:
    """Return how many backticks the longest run of them has; nearly always three or fewer."""
    longest = 0
    while "`" * (longest + 1) in text:
        longest = longest + 1 if longest < _MANY_TICKS else max(map(len, _TICKS.findall(text)))
    return longest
