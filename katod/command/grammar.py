"""The grammar of commands (design, section 5): a whole line at column 0, outside code fences."""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, cast

from katod.model import Command

Word = Literal["start", "stop", "capture", "export"]
WORDS: Final = ("start", "stop", "capture", "export")
_LINE: Final = re.compile(r"::([A-Za-z]+)(?![^\s])[ \t]*(.*)")
_NEAR: Final = re.compile(r"::[A-Za-z]")
MOST_COMMANDS: Final = 1000  # in one message; all others are text: each event and range of it is held at once
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SWITCH: Final = re.compile(r"([+-])(thinking|tools)", re.IGNORECASE)
_QUOTED: Final = re.compile(r"""(?:"([^"]+)"|'([^']+)'|`([^`]+)`|\[[^\]]*\]\(<?([^)>]+)>?\))(?=\s|$)""")
_BARE: Final = re.compile(r"\S+")


class Piece(NamedTuple):
    """A run of a message: text (kept as it was) or one command."""

    text: str = ""
    command: Command | None = None


class Parsed(NamedTuple):
    """A message in its pieces, and how many lines looked like a command and were none."""

    pieces: tuple[Piece, ...]
    near_misses: int

    @property
    def commands(self) -> list[Command]:
        """The commands, in their order."""
        return [piece.command for piece in self.pieces if piece.command]

    @property
    def words(self) -> str:
        """The text without the command lines."""
        return "\n".join(piece.text for piece in self.pieces if not piece.command)


def parse(text: str) -> Parsed:
    """Split a typed text at its command lines; a text without any is one piece."""
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
    """Return the command that this line is, None if it is ordinary text."""
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
    """Read `[name] [options]` in any order; None when more than one bare word stands there."""
    name = ""
    switches: dict[str, bool] = {}
    at = 0
    while at < len(rest):
        if rest[at] in " \t":
            at += 1
            continue
        quoted = _QUOTED.match(rest, at)
        match = quoted or _BARE.match(rest, at)
        if match is None:
            return None
        switch = None if quoted else _SWITCH.fullmatch(match[0])
        if switch:
            switches[switch[2].lower()] = switch[1] == "+"
        elif name or (not quoted and match[0][0] in "\"'`+-"):
            return None
        else:
            name = next(group for group in match.groups() if group) if quoted else match[0]
        at = match.end()
    return name, switches


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line and whether it stands in (or marks) a code fence."""
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            closes = match and match[1][0] == fence[0] and len(match[1]) >= len(fence)
            if match and closes and not match[2].strip():
                fence = ""
            yield line, True
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            yield line, True
        else:
            yield line, False


def _flush(plain: list[str], pieces: list[Piece]) -> None:
    """Make a piece of the lines gathered so far; blank lines alone are none."""
    text = "\n".join(plain)
    plain.clear()
    if text.strip():
        pieces.append(Piece(text.strip("\n")))
