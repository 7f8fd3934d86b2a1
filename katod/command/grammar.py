"""The grammar of commands: a whole line at column 0, outside code fences."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, cast, get_args

from katod.model import Command, Word

WORDS: Final = get_args(Word)
_LINE: Final = re.compile(r"::([A-Za-z]+)(?![^\s])[ \t]*(.*)")
_NEAR: Final = re.compile(r"::[A-Za-z]")
MOST_COMMANDS: Final = 1000  # per message; the rest is text: all events and ranges of a message are in memory at once
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SWITCH: Final = re.compile(r"([+-])(thinking|tools)", re.IGNORECASE)
_QUOTED: Final = re.compile(r"""(?:"([^"]+)"|'([^']+)'|`([^`]+)`|\[[^\]]*\]\(<?([^)>]+)>?\))(?=\s|$)""")
_BARE: Final = re.compile(r"\S+")
_NO_NAME: Final = tuple("\"'`+-")  # a bare word that begins like this is a malformed quotation or option


class Piece(NamedTuple):
    """A run of a message: text, unchanged, or one command."""

    text: str = ""
    command: Command | None = None


class Parsed(NamedTuple):
    """A message in pieces, and the number of lines that looked like commands but were not."""

    pieces: tuple[Piece, ...]
    near_misses: int

    @property
    def commands(self) -> list[Command]:
        """The commands, in order."""
        return [piece.command for piece in self.pieces if piece.command]

    @property
    def words(self) -> str:
        """The text without the command lines."""
        return "\n".join(piece.text for piece in self.pieces if not piece.command)


def parse_message(text: str) -> Parsed:
    """Split typed text at its command lines; text without any is one piece."""
    if "::" not in text:
        return Parsed((Piece(text),), 0)
    pieces: list[Piece] = []
    plain: list[str] = []
    near = commands = 0
    for line, fenced in _lines(text):
        command = None if fenced or commands == MOST_COMMANDS else parse_line(line)
        if command is None:
            near += not fenced and bool(_NEAR.match(line))
            plain.append(line)
            continue
        _flush(plain, pieces)
        pieces.append(Piece(command=command))
        commands += 1
    _flush(plain, pieces)
    return Parsed(tuple(pieces), near)


def parse_line(line: str) -> Command | None:
    """Return the command in this line, None if it is ordinary text."""
    match = _LINE.fullmatch(line.rstrip())
    if not match or match[1].lower() not in WORDS:
        return None
    word = cast("Word", match[1].lower())
    arguments = _arguments(match[2])
    if arguments is None:
        return None
    name, switches = arguments
    if word == "stop" and name:
        return None
    return Command(word, name, tuple(sorted(switches.items())), line.rstrip())


def _arguments(rest: str) -> tuple[str, dict[str, bool]] | None:
    """Read `[name] [options]` in any order; None if there is more than one bare word."""
    name = ""
    switches: dict[str, bool] = {}
    for word in _words(rest):
        if word is None:
            return None
        quoted = word.re is _QUOTED
        if not quoted and (switch := _SWITCH.fullmatch(word[0])):
            switches[switch[2].lower()] = switch[1] == "+"
        elif name or (not quoted and word[0].startswith(_NO_NAME)):
            return None
        else:
            name = next(filter(None, word.groups())) if quoted else word[0]
    return name, switches


def _words(rest: str) -> Iterator[re.Match[str] | None]:
    """Yield the quoted and bare words of a line, and None where neither begins."""
    at = 0
    while at < len(rest):
        if rest[at] in " \t":
            at += 1
            continue
        word = _QUOTED.match(rest, at) or _BARE.match(rest, at)
        yield word
        if word is None:
            return
        at = word.end()


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line and whether it is in a code fence or delimits one."""
    fence = ""
    for line in text.split("\n"):
        before, fence = fence, _fence_after(fence, line)
        yield line, bool(before or fence)


def _fence_after(fence: str, line: str) -> str:
    """Return the marks of the fence that is open after a line, given those before it; empty if none is open."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    marks, rest = match.groups()
    if fence:
        closes = marks.startswith(fence) and not rest.strip()
        return "" if closes else fence
    return "" if marks[0] == "`" and "`" in rest else marks


def _flush(plain: list[str], pieces: list[Piece]) -> None:
    """Make a piece of the lines gathered so far, unless all of them are blank."""
    text = "\n".join(plain)
    plain.clear()
    if text.strip():
        pieces.append(Piece(text.strip("\n")))
