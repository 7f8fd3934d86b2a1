"""The commands: how they are typed, what is nearly one, and what each does to the state of a session. Pure.

A command is a whole line at column 0, outside code fences. A message is split at its command lines, so that ranges are
positions between events.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, assert_never, cast, get_args

from katod import events as ev
from katod.events import Event
from katod.model import Command, NearMiss, Span, TypedText, Word

_LIKE: Final = re.compile(r"([ \t]*)::([ \t]?)([A-Za-z]+)(?![^\s])[ \t]*(.*)")
# How many letters may be wrong: more in longer words.
_TOLERANCE: Final[dict[Word, int]] = {"start": 1, "stop": 1, "capture": 2, "export": 2, "keep": 1}
# What kato calls it: people who come from there type these by habit.
_OF_ANOTHER_TOOL: Final[dict[str, Word]] = {"record": "start", "init": "start"}
_NO_COUNT: Final = re.compile(r"0[0-9]*|[0-9]{3,}")
_OPTION: Final = re.compile(r"[+\-\u2013\u2014]+\w")
WORDS: Final = get_args(Word)
Origin = Literal["pasted", "delegated"]
Doubt = Literal["pasted", "delegated", "inside"]
_LINE: Final = re.compile(r"::([A-Za-z]+)(?![^\s])[ \t]*(.*)")
MOST_COMMANDS: Final = 1000  # per message; the rest is text: all events and ranges of a message are in memory at once
_END: Final = 4096  # characters of each end of a long message that a command is compared with files by
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


class RecordingState(NamedTuple):
    """The state of a session's recording: the path of the output being recorded to, and of the current output."""

    recording: str = ""
    present: str = ""


class Action(NamedTuple):
    """What to do, in this order: end the recording, then begin one or copy.

    `target` is `none`, `present` (the session's current output), `named` (what was typed) or `generated`.
    """

    end: bool = False
    begin: Literal["", "here", "beginning"] = ""
    copy: bool = False
    target: Literal["none", "present", "named", "generated"] = "none"


def decide(command: Command, state: RecordingState, named: str = "") -> Action:
    """Return the effect of a command; `named` is the path that its name resolves to, empty if it has none."""
    word, recording = command.word, bool(state.recording)
    fresh: Literal["named", "generated"] = "named" if named else "generated"
    if word == "stop":
        return Action(end=recording)
    if word == "export" or word == "keep":  # noqa: PLR1714 - mypy does not narrow `in`
        return Action(copy=True, target=fresh)
    if word == "capture":
        return Action(end=recording, begin="beginning", target=fresh)
    if word == "start":
        return _start(state, named, fresh)
    assert_never(word)  # another word must not start a recording


def _start(state: RecordingState, named: str, fresh: Literal["named", "generated"]) -> Action:
    recording, present = bool(state.recording), state.present
    if recording and (named or present) in ("", state.recording):
        return Action()
    if not named and present:
        return Action(end=recording, begin="here", target="present")
    return Action(end=recording, begin="here", target=fresh)


class Split(NamedTuple):
    """The parts of one message; `words` is its text without command lines."""

    events: list[Event]
    words: str
    near_misses: tuple[NearMiss, ...] = ()


def split(event: Event, *, marks_pastes: bool) -> Split:
    """Split one `user.message`; text that a person is not known to have typed stays whole.

    `marks_pastes` says whether the agent marks what is pasted.
    """
    text = event.payload["text"]
    if event.payload.get("subtype") == "delegated":
        return Split([event], text, parse_message(*TypedText.by_agent(text)).near_misses)
    if not event.typed or "::" not in text:
        return Split([event], text)
    pasted = tuple((start, end) for start, end in event.payload.get("pasted", ()))
    parsed = parse_message(text, pasted, marks_pastes=marks_pastes)
    if not parsed.commands:
        return Split([event], text, parsed.near_misses)
    return Split(_parts(event, parsed), parsed.words, parsed.near_misses)


def command_of(event: Event) -> Command:
    """Return the command in a `user.kato-command` event."""
    payload = event.payload
    switches = tuple((option[1:], option[0] == "+") for option in payload["options"])
    name, count = payload.get("argument", ""), payload.get("number", 1)
    return Command(payload["command"], name, switches, payload["line"], event.words, count)


def _parts(event: Event, parsed: Parsed) -> list[Event]:
    out: list[Event] = []
    rest = {k: v for k, v in event.payload.items() if k not in ("text", "pasted")}
    beside = parsed.words
    if len(beside) > 2 * _END:
        beside = f"{beside[:_END]}\n{beside[-_END:]}"
    for n, piece in enumerate(parsed.pieces):
        part = event._replace(id=f"{event.id}.{n}", dedup_key=f"{event.dedup_key}.{n}")
        if piece.command is not None:
            below = parsed.pieces[n + 1 : n + 2]
            words = below[0].text if below and below[0].command is None else ""
            payload = _payload(piece.command)
            out.append(part._replace(kind=ev.USER_COMMAND, payload=payload, blobs=(), words=words, beside=beside))
            continue
        out.append(part._replace(payload=_text(piece) | rest))
        rest = {}
    if rest:  # attachments of a message that is nothing but commands
        n = len(out)
        part = event._replace(id=f"{event.id}.{n}", dedup_key=f"{event.dedup_key}.{n}")
        out.append(part._replace(payload={"text": ""} | rest))
    return out


def _text(piece: Piece) -> dict[str, object]:
    return {"text": piece.text} | ({"pasted": list(map(list, piece.pasted))} if piece.pasted else {})


def _payload(command: Command) -> dict[str, object]:
    options = [("+" if on else "-") + name for name, on in command.switches]
    row: dict[str, object] = {"command": command.word}
    if command.name:
        row["argument"] = command.name
    if command.word == "keep":
        row["number"] = command.count
    return row | {"options": options, "line": command.line}
