"""Markdown for a forge: it notifies nobody, refers to no issue, and links to no file of this machine. Pure.

A forge notifies whom text names with an `@` in front, outside of code, and refers to issues by number. In plain words
these become code; beside markup, where a backtick more might change what is code, they get a blank without width.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from katod.formats.text.mdhtml import TAG
from katod.formats.text.mdlinks import is_within, paired
from katod.text import clean

_FLAGS: Final = re.ASCII | re.IGNORECASE
# An `@` or the beginning of a name may be an entity; in HTML, without its semicolon. Organisations have teams.
_AT: Final = r"(?:@|&(?:commat;|\#0*+64(?![0-9]);?+|\#[xX]0*+40(?![0-9a-f]);?+))"
_NAME: Final = (
    rf"(?<![A-Za-z0-9])(?P<at>{_AT})(?P<name>(?=[A-Za-z0-9&])[A-Za-z0-9-]*+(?:/[\w.-]++)?(?:[@\#][\w.-]++)*+)"
)
# An issue of this or of another repository; `closes #1` would even close one.
_ISSUE: Final = r"(?<![A-Za-z0-9])(?P<issue>(?:[A-Za-z0-9][\w.-]*+(?:/[\w.-]++)?)?\#[0-9]++|GH-[0-9]++)"
_NO_ENTITY: Final = r"(?!(?<=(?<!\\)&)\#[0-9]{1,7};)"
_NAMED: Final = re.compile(f"{_NAME}|{_ISSUE}", _FLAGS)
# What ends an address: a blank of any kind, a bracket, and what may be emphasis.
_SPACES: Final = "\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ADDRESS: Final = rf"(?<![A-Za-z0-9])https?://[A-Za-z0-9](?:[^\s{_SPACES}<>()\[\]`*~_]|[~_](?![~_@]))*+"
_IN_TEXT: Final = re.compile(rf"(?P<address>{_ADDRESS})|(?P<tag>(?<!\\)(?:{TAG}))|{_NAME}|{_NO_ENTITY}{_ISSUE}", _FLAGS)
_SUSPECT: Final = re.compile(rf"{_AT}|\]\(|<a\s|\#[0-9]|GH-[0-9]", _FLAGS)
_PLAIN: Final = re.compile(r"[^`<>\\|\[\]&*_~:]*+")
_BRACKETS: Final = re.compile(r"\\.|\[|\]")
_TARGET: Final = re.compile(
    r"\(\s*+(?:<[^<>\n]*+>|(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*+\))*+)"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?+\s*+\)"
)
_WEB: Final = re.compile(r"\s*+<?(?:https?://|mailto:|\#)", re.IGNORECASE)
_HREF: Final = re.compile(r"\bhref\s*+=\s*+[\"']?+", re.IGNORECASE)
_LABEL: Final = re.compile(r"[\w./ :@+-]*+")
_SWALLOWED: Final = re.compile(r"(?:https?://|ftp://|www\.)[^\s<`]*+`")  # to a forge, an address ends at a blank
_NUMBER: Final = re.compile(r"(?:(?<=\#)|(?<=GH-))(?=[0-9])", re.IGNORECASE)
_NO_WIDTH: Final = "\u200b"
_DEEPEST: Final = 200  # levels of quotations and lists, of which a list has two; in deeper ones all is uncertain
Span = tuple[int, int]


class _Block(NamedTuple):
    """Lines with words: the first, the one behind the last, and what a renderer takes for code; None if in doubt."""

    start: int
    end: int
    code: tuple[str, ...] | None


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table")


def apart(text: str) -> str:
    """Return text with a blank without width in what a forge would take for a name or an issue."""
    return _NAMED.sub(_apart, clean(text))


def quiet(text: str) -> str:
    """Return a message's Markdown, as it is printed, with no name or issue outside of code, and no link to a file."""
    if not _SUSPECT.search(text):
        return text
    lines = text.split("\n")
    tokens = _parser().parse(text)
    if any(token.level >= _DEEPEST - 2 for token in tokens):
        return apart(text)
    clear = _clear(lines)
    for start, end, code in _blocks(tokens, lines):
        shown = _quiet_block("\n".join(lines[start:end]), code if clear[start] else None)
        lines[start:end] = shown.split("\n")
    return "\n".join(lines)


def _clear(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether the lines around it, up to blank ones, leave no doubt about what is code.

    Renderers disagree about where a block between them ends, and so about what a backtick without counterpart begins.
    """
    clear: list[bool] = []
    for _, around in groupby(lines, lambda line: not line.strip(" \t>")):
        chunk = [*around]
        text = "\n".join(chunk)
        is_paired = text.count("`") == sum(text.count("`", *span) for span in paired(text))
        clear += [is_paired and not _SWALLOWED.search(text)] * len(chunk)
    return clear


def _blocks(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[_Block]:
    """Yield the blocks of words in order; the cells of a row are one. Indented code may be words to some renderers."""
    found: dict[int, _Block] = {}
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.type == "inline" and end:
            before = found.get(start, _Block(start, end, ())).code or ()
            found[start] = _Block(start, end, before + _code_of(token))
        elif token.type == "html_block" or (token.type == "code_block" and start and lines[start - 1].strip()):
            found[start] = _Block(start, end, None)
    yield from sorted(found.values())


def _code_of(token: Token) -> tuple[str, ...]:
    return tuple(_words_of(child.content) for child in token.children or () if child.type == "code_inline")


def _words_of(code: str) -> str:
    return " ".join(code.split())


def _quiet_block(block: str, code: tuple[str, ...] | None) -> str:
    if _PLAIN.fullmatch(block):
        return _NAMED.sub(_as_code, block)
    spans = paired(block)
    certain = code is not None and tuple(_words_of(block[slice(*span)].strip("`")) for span in spans) == code
    spans = spans if certain else []
    pieces: list[str] = []
    at = 0
    kept = [(start, end, block[start:end]) for start, end in spans]
    for start, end, shown in sorted([*kept, *_links(block, spans, certain=certain), (len(block), len(block), "")]):
        if start >= at:
            pieces += _IN_TEXT.sub(_shown, block[at:start]), shown
            at = end
    return "".join(pieces)


def _links(block: str, spans: list[Span], *, certain: bool) -> Iterator[tuple[int, int, str]]:
    """Yield what replaces the parts of links: of one to a file the label is code, or stays in its brackets."""
    opened: list[int] = []
    for match in _BRACKETS.finditer(block):
        if is_within(match.start(), spans):
            continue
        if match[0] == "[":
            opened.append(match.start())
        elif match[0] == "]" and opened:
            start, target = opened.pop(), _TARGET.match(block, match.end())
            if target is not None:
                yield _link(block, start, target, certain=certain)


def _link(block: str, start: int, target: re.Match[str], *, certain: bool) -> tuple[int, int, str]:
    if _WEB.match(block, target.start() + 1):
        return target.start(), target.end(), target[0]
    start -= block[start - 1 : start] == "!"
    label = block[start : target.start() - 1].lstrip("![")
    beside = {block[start - 1 : start], block[target.end() : target.end() + 1]}
    if certain and _LABEL.fullmatch(label) and not beside & {"`", "\\"}:
        return start, target.end(), f"`{label}`"
    return target.start(), target.end(), ""


def _shown(match: re.Match[str]) -> str:
    if match["tag"]:
        href = _HREF.search(match[0]) if match[0][1:2] in ("a", "A") else None
        return "<a>" if href and not _WEB.match(match[0], href.end()) else match[0]
    return match[0] if match["address"] else _apart(match)


def _as_code(match: re.Match[str]) -> str:
    after = match.string[match.end() : match.end() + 1]
    return _apart(match) if after.isalnum() or after in ("@", "#") else f"`{match[0]}`"


def _apart(match: re.Match[str]) -> str:
    """Return a name that is none for a forge, and looks like one."""
    at, name = (f"@{_NO_WIDTH}", match["name"]) if match["at"] else ("", match["issue"])
    return at + _NUMBER.sub(_NO_WIDTH, name.replace("@", f"@{_NO_WIDTH}"))  # emphasis may end before another name
