"""The grammar of commands: a whole line at column 0, outside code fences."""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, cast, get_args

from katod.command.near import near_miss
from katod.model import Command, NearMiss, Span, TypedText, Word

WORDS: Final = get_args(Word)
Origin = Literal["pasted", "delegated"]
Doubt = Literal["pasted", "delegated", "inside"]
_LINE: Final = re.compile(r"::([A-Za-z]+)(?![^\s])[ \t]*(.*)")
MOST_COMMANDS: Final = 1000  # per message; the rest is text: all events and ranges of a message are in memory at once
MOST_NEAR_MISSES: Final = 10  # per message
# Where nothing marks what is pasted, a command counts in a short message, and at both ends of a longer one.
MOST_SHORT: Final = 8  # lines, from the first to the last one that is not blank
MOST_AT_AN_END: Final = 2  # lines that are not blank, commands included
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SWITCH: Final = re.compile(r"([+\-\u2013\u2014])(thinking|tools)", re.IGNORECASE)  # keyboards make dashes of a minus
_QUOTED: Final = re.compile(r"""(?:"([^"]+)"|'([^']+)'|`([^`]+)`|\[[^\]]*\]\(<?([^)>]+)>?\))(?=\s|$)""")
_BARE: Final = re.compile(r"\S+")
_COUNT: Final = re.compile(r"[1-9][0-9]?")  # of exchanges, which `::keep` takes before a name
_NUMBER: Final = re.compile(r"[0-9]+")
_NO_NAME: Final = tuple("\"'`+-\u2013\u2014")  # a bare word that begins like this is a malformed quotation or option


class Piece(NamedTuple):
    """A run of a message: text, unchanged, or one command."""

    text: str = ""
    command: Command | None = None
    pasted: tuple[Span, ...] = ()


class Parsed(NamedTuple):
    """A message in pieces, and the lines that looked like commands but were not."""

    pieces: tuple[Piece, ...]
    near_misses: tuple[NearMiss, ...] = ()

    @property
    def commands(self) -> list[Command]:
        """The commands, in order."""
        return [piece.command for piece in self.pieces if piece.command]

    @property
    def words(self) -> str:
        """The text without the command lines."""
        return "\n".join(piece.text for piece in self.pieces if not piece.command)


def parse_message(
    text: str, pasted: tuple[Span, ...] = (), origin: Origin = "pasted", *, marks_pastes: bool = True
) -> Parsed:
    """Split typed text at its command lines; text without any is one piece. No pasted line is a command.

    If the agent does not mark what is pasted, neither is a line in the middle of a long message.
    """
    if "::" not in text:
        return Parsed((Piece(text, pasted=pasted),))
    typed, inner = TypedText(text, pasted), range(0) if marks_pastes else middle(text)
    pieces: list[Piece] = []
    near: list[NearMiss] = []
    at = plain = commands = 0  # where the line begins, and the text that is not in a piece yet
    for line, fenced in lines(text):
        command = None if fenced or commands == MOST_COMMANDS else parse_line(line)
        doubt = _doubt(typed, inner, at, origin)
        if command is not None and doubt is None:
            pieces += [*_plain(typed, plain, at), Piece(command=command)]
            commands, plain = commands + 1, at + len(line) + 1
        elif not fenced and len(near) < MOST_NEAR_MISSES:
            near += _near_misses(line, command, doubt)
        at += len(line) + 1
    return Parsed((*pieces, *_plain(typed, plain, len(text))), tuple(near))


def _doubt(typed: TypedText, inner: range, at: int, origin: Origin) -> Doubt | None:
    """Return why nobody may have typed the line at an offset, None if it counts as typed."""
    if typed.is_pasted(at):
        return origin
    return "inside" if at in inner else None


def _near_misses(line: str, command: Command | None, doubt: Doubt | None) -> list[NearMiss]:
    """Return the near miss in a line that is not executed, if it is one."""
    miss = NearMiss("pasted", command.word) if command else near_miss(line)
    if miss is None:
        return []
    return [miss._replace(kind=doubt)] if doubt else [miss]


def middle(text: str) -> range:
    """Return the offsets between the ends of a long message, which may be pasted; none in a short one."""
    if text.strip().count("\n") < MOST_SHORT:
        return range(0)
    begins, at = list[int](), 0
    for line in text.split("\n"):
        begins += [at] if line.strip() else []
        at += len(line) + 1
    inner = begins[MOST_AT_AN_END:-MOST_AT_AN_END]
    return range(inner[0], inner[-1] + 1) if inner else range(0)


def parse_line(line: str) -> Command | None:
    """Return the command in this line, None if it is ordinary text."""
    match = _LINE.fullmatch(line.rstrip())
    if not match or match[1].lower() not in WORDS:
        return None
    word = cast("Word", match[1].lower())
    arguments = _arguments(match[2])
    if arguments is None:
        return None
    names, switches = arguments
    count = _take_count(names) if word == "keep" else 1
    if not count or len(names) > (0 if word == "stop" else 1):
        return None
    return Command(word, names[0][0] if names else "", switches, line.rstrip(), count=count)


def _arguments(rest: str) -> tuple[list[tuple[str, bool]], tuple[tuple[str, bool], ...]] | None:
    """Read names, each with whether it is quoted, and options, in any order; None if a word can be neither."""
    names: list[tuple[str, bool]] = []
    switches: dict[str, bool] = {}
    for word in _words(rest):
        if word is None:
            return None
        quoted = word.re is _QUOTED
        if not quoted and (switch := _SWITCH.fullmatch(word[0])):
            switches[switch[2].lower()] = switch[1] == "+"
        elif not quoted and word[0].startswith(_NO_NAME):
            return None
        else:
            names.append((next(filter(None, word.groups())) if quoted else word[0], quoted))
    return names, tuple(sorted(switches.items()))


def _take_count(names: list[tuple[str, bool]]) -> int:
    """Take the number of exchanges from before a name, which may be a number itself; 0 if so many cannot be kept."""
    if not names or names[0][1] or not _NUMBER.fullmatch(names[0][0]):
        return 1
    number, _ = names.pop(0)
    return int(number) if _COUNT.fullmatch(number) else 0


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


def lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line of a message, and whether it is in a code fence or delimits one."""
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


def _plain(typed: TypedText, start: int, end: int) -> list[Piece]:
    """Return a piece of text without the line breaks around it, none if it is blank."""
    text = typed.text[start:end]
    if not text.strip():
        return []
    start += len(text) - len(text.lstrip("\n"))
    part = typed.part(start, start + len(text.strip("\n")))
    return [Piece(part.text, pasted=part.pasted)]
