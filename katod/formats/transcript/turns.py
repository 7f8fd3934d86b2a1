"""A whole conversation as turns, to be cut to a length: for a pull request, or for another agent. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeGuard

from katod.formats.transcript.base import Transcript
from katod.formats.transcript.between import TASK
from katod.formats.transcript.content import (
    AgentHeading,
    AskedQuestion,
    ChosenAnswer,
    Code,
    Delegation,
    Fold,
    Head,
    Note,
    Outcome,
    Person,
    Piece,
    Prose,
    Quoted,
    Thinking,
    TypedWords,
)  # fmt: skip
from katod.formats.transcript.markdown import printed
from katod.metadata import Replay, SessionMetadata
from katod.model import Options

Print = Callable[[Iterable[Piece]], str]
LeftOut = Callable[[int, int], str]
Part = Callable[[str, int, bool], str]  # of words, at most so many characters; whether they are code


class TypedTurn(NamedTuple):
    """A typed message and what follows it; what comes before the first message is a turn of its own."""

    pieces: list[Piece]


class Conversation(NamedTuple):
    """A conversation: its head, its turns, what is still on the agent's list of things to do, and where it works."""

    head: Head
    turns: list[TypedTurn]
    todos: list[str]
    folder: str


def gathered(events: Replay, options: Options) -> Conversation | None:
    """Return a conversation as turns, None if it has no events."""
    transcript = Transcript(options)
    turns: list[TypedTurn] = []
    metadata: SessionMetadata | None = None
    for event, now in events:
        if metadata is None:
            transcript.head(now, event.time)  # the day, which headings then leave out
        metadata = now
        _add(turns, transcript.event(event, now))
    if metadata is None:
        return None
    _add(turns, transcript.pause())
    return Conversation(transcript.head(metadata, metadata.started), turns, transcript.open_todos(), metadata.cwd)


def is_task(piece: Piece) -> TypeGuard[Delegation]:
    """Return whether a piece is what a sub-agent was given, which is the prompt of its turn."""
    return isinstance(piece, Delegation) and piece.name == TASK


def _add(turns: list[TypedTurn], pieces: Iterable[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, Person) or is_task(piece) or not turns:
            turns.append(TypedTurn([]))
        turns[-1].pieces.append(piece)


def fitted(turns: list[TypedTurn], limit: int, show: Print, left_out: LeftOut, *, first: bool = True) -> str:
    """Return turns as text of at most `limit` characters: as many of the last ones as fit, and the `first` one.

    What is missing is named by `left_out(how many turns, how many characters)`. A turn that alone is too long is cut
    between its pieces, and within the words of a piece, so that each block is whole.
    """
    sizes = [len(printed(turn.pieces)) for turn in turns]
    if sum(sizes) <= _SHRINKS * limit and len(whole := "".join(show(turn.pieces) for turn in turns)) <= limit:
        return whole
    room = limit - len(left_out(len(turns), sum(sizes)))
    begin = beginning(turns[0].pieces, room // 2, show) if first and len(turns) > 1 else ""
    last = _last(turns[bool(begin) :], room - len(begin), show)
    missing = sizes[bool(begin) : len(turns) - len(last)]
    note = left_out(len(missing), sum(missing)) if missing and room > 0 else ""
    return "".join([begin, note, *last])


def _last(turns: list[TypedTurn], room: int, show: Print) -> list[str]:
    """Return as many of the last turns as fit; the end of the one before them, if that is worth it."""
    texts: list[str] = []
    for turn in reversed(turns):
        text = show(turn.pieces) if len(printed(turn.pieces)) <= _SHRINKS * room else ""
        if not text or len(text) > room:
            end = ending(turn.pieces, room, show) if room > _WORTH or not texts else ""
            return [end, *texts] if end else texts
        texts.insert(0, text)
        room -= len(text)
    return texts


def beginning(pieces: list[Piece], room: int, show: Print) -> str:
    """Return the first pieces, in at most so many characters; if some are missing, a note says so."""
    return _within(room, show, lambda most: [*_some(pieces, most, show, _beginning_of), _CUT], pieces)


def ending(pieces: list[Piece], room: int, show: Print) -> str:
    """Return the heading of a turn and its last pieces, in at most so many characters, with a note in between.

    The last pieces have the heading of their speaker, and an outcome has its call.
    """
    heading = pieces[:1] if isinstance(pieces[0], Person) else []
    rest = pieces[len(heading) :]

    def cut(most: int) -> list[Piece]:
        last = _some(rest[::-1], most - len(show([*heading, _CUT])), show, _ending_of)[::-1]
        before = rest[: len(rest) - len(last)]
        speaker = [piece for piece in before if isinstance(piece, AgentHeading)][-1:]
        call = before[-1:] if last and isinstance(last[0], Outcome) else []
        return [*heading, _CUT, *speaker, *call, *last]

    return _within(room, show, cut, pieces)


def _within(room: int, show: Print, cut: Callable[[int], list[Piece]], pieces: list[Piece]) -> str:
    """Return pieces as text, or as much of them as fits: pieces may need more room together than one by one."""
    if len(printed(pieces)) <= _SHRINKS * room and len(text := show(pieces)) <= room:
        return text
    most = room
    while most > 0:
        text = show(cut(most))
        if len(text) <= room:
            return text
        most -= max(len(text) - room, most // 8, 1)
    return ""


def _some(pieces: Sequence[Piece], room: int, show: Print, part: Part) -> list[Piece]:
    """Return as many pieces as fit, the next one shortened if it consists of words."""
    kept: list[Piece] = []
    for piece in pieces:
        size = len(show([piece])) if len(printed([piece])) <= _SHRINKS * room else room + 1
        if size > room:
            short = _shortened(piece, room, show, part)
            return [*kept, short] if short else kept
        kept.append(piece)
        room -= size
    return kept


def _shortened(piece: Piece, room: int, show: Print, part: Part) -> Piece | None:
    """Return a piece of words in at most so many characters, None for any other one, or if hardly a word would fit.

    How long words become in print is known when they are printed, so fewer are tried until they fit.
    """
    if isinstance(piece, Fold):
        return _shortened_fold(piece, room, show, part)
    if not isinstance(piece, _WORDS):
        return None
    most = room
    while most >= _LEAST:
        short = piece._replace(text=part(piece.text, most, isinstance(piece, Code | Quoted)))
        if len(show([short])) <= room:
            return short
        most = most * 3 // 4
    return None


def _shortened_fold(fold: Fold, room: int, show: Print, part: Part) -> Fold | None:
    """Return a fold with those of its parts that fit."""
    room -= len(show([fold._replace(parts=(_CUT,))]))
    if room < _LEAST:
        return None
    if part is _ending_of:
        return fold._replace(parts=(_CUT, *_some(fold.parts[::-1], room, show, part)[::-1]))
    return fold._replace(parts=(*_some(fold.parts, room, show, part), _CUT))


def _beginning_of(words: str, most: int, _: bool) -> str:
    """Return the first words: whole lines, if that does not take much of the room."""
    if len(words) <= most:
        return words
    end = words.rfind("\n", most * 3 // 4, most)
    return words[: end if end > 0 else most]


def _ending_of(words: str, most: int, literal: bool) -> str:
    """Return the last words: whole lines, if that does not take much of the room. A fence that was cut begins again."""
    start = max(0, len(words) - most)
    line = words.find("\n", start, start + most // 4) + 1
    start = line or start
    fence = "" if literal else _open_fence(words[:start])
    return f"{fence}\n{words[start:]}" if fence else words[start:]


def _open_fence(words: str) -> str:
    """Return the line that begins the fence which words leave open, empty if they leave none."""
    opened, marks = "", ""
    for line in _FENCES.finditer(words):
        if not opened:
            opened, marks = line[0], line[1]
        elif line[1].startswith(marks) and not line[2].strip():
            opened = ""
    return opened


_FENCES: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_WORDS: Final = (TypedWords, Prose, Quoted, Code, Thinking, Note, ChosenAnswer, AskedQuestion)
_CUT: Final = Note("… cut …")
_SHRINKS: Final = 4  # how many times shorter a text may become when links are left out; a longer one is not even shown
_WORTH: Final = 400  # characters for which a turn is cut, if later ones are there
_LEAST: Final = 40  # characters of a piece below which nothing of it is shown
