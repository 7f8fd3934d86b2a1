"""A whole conversation as turns, to be cut to a length: for a pull request, or for another agent. Pure."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from katod.formats.content import Head, Person, Piece
from katod.formats.transcript import Transcript
from katod.metadata import Replay, SessionMetadata
from katod.model import Options

Print = Callable[[Iterable[Piece]], str]


class Turn(NamedTuple):
    """A typed message and what follows it; what comes before the first message is a turn of its own."""

    pieces: list[Piece]


class Conversation(NamedTuple):
    """A conversation: its head, its turns, and what is still on the agent's list of things to do."""

    head: Head
    turns: list[Turn]
    todos: list[str]


def gathered(events: Replay, options: Options) -> Conversation | None:
    """Return a conversation as turns, None if it has no events."""
    transcript = Transcript(options)
    turns: list[Turn] = []
    metadata: SessionMetadata | None = None
    for event, now in events:
        if metadata is None:
            transcript.head(now, event.time)  # the day, which headings then leave out
        metadata = now
        _add(turns, transcript.event(event, now))
    if metadata is None:
        return None
    _add(turns, transcript.pause())
    return Conversation(transcript.head(metadata, metadata.started), turns, transcript.open_todos())


def _add(turns: list[Turn], pieces: Iterable[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, Person) or not turns:
            turns.append(Turn([]))
        turns[-1].pieces.append(piece)


def fitted(texts: list[str], limit: int, left_out: Callable[[int, int], str], *, first: bool = True) -> list[str]:
    """Return texts, in order, of at most `limit` characters: as many of the last ones as fit, and the `first` one.

    What is missing is named by `left_out(how many, how many characters)`. A text that alone is too long is cut at a
    line.
    """
    if sum(map(len, texts)) <= limit:
        return texts
    room = limit - len(left_out(len(texts), sum(map(len, texts))))
    begin = [_head(texts[0], room // 2)] if first and len(texts) > 1 else []
    rest = texts[len(begin) :]
    last = _last(rest, room - sum(map(len, begin)))
    missing = rest[: len(rest) - len(last)]
    note = [left_out(len(missing), sum(map(len, missing)))] if missing else []
    return [*begin, *note, *last]


def _last(texts: list[str], room: int) -> list[str]:
    """Return as many of the last texts as fit, at least a part of the last one."""
    found: list[str] = []
    for text in reversed(texts):
        if len(text) > room:
            return found or [_tail(text, room)]
        found.insert(0, text)
        room -= len(text)
    return found


def _head(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    kept = text[: max(room - len(_CUT), 0)]
    return kept[: kept.rfind("\n") + 1] + _CUT


def _tail(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    kept = text[len(text) - max(room - len(_CUT), 0) :]
    return _CUT + kept[kept.find("\n") + 1 :]


_CUT = "\n*… cut …*\n"
