"""What the user typed, as parts: words, what was pasted, and the rest of a long message folded away. Pure."""

from collections.abc import Callable, Iterable
from typing import Final

from katod.formats.transcript.content import Piece, Quoted, TypedWords
from katod.formats.transcript.results import count_lines

_LONG_MESSAGE: Final = 60  # lines; of a longer one, the first 40 are shown
_SHOWN_OF_IT: Final = 40
Redact = Callable[[str], str]


def typed_parts(text: str, pasted: Iterable[tuple[int, int]], heading: str, redact: Redact) -> list[Piece]:
    """Return the parts of a message, of which some stretches were pasted; none if its heading says all of it."""
    pieces: list[Piece] = []
    at = 0
    for start, end in [*pasted, (len(text), len(text))]:
        pieces += _words(text[at:start], redact)
        if content := text[start:end].strip("\n"):
            pieces.append(Quoted(f"Pasted: {count_lines(content)}", redact(content)))
        at = end
    only = pieces[0] if len(pieces) == 1 else None
    return [] if isinstance(only, TypedWords) and only.text == heading else pieces


def _words(text: str, redact: Redact) -> list[Piece]:
    text = redact(text.strip("\n").rstrip())
    if not text:
        return []
    lines = text.split("\n")
    if len(lines) <= _LONG_MESSAGE:
        return [TypedWords(text)]
    rest = "\n".join(lines[_SHOWN_OF_IT:])
    return [TypedWords("\n".join(lines[:_SHOWN_OF_IT])), Quoted(f"{count_lines(rest)} more", rest)]
