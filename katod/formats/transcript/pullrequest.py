"""A conversation as one collapsed block for the description of a pull request. Pure."""

from collections.abc import Iterable
from typing import Any, Final

from katod.formats.text.mdtext import html
from katod.formats.text.quiet import apart, quiet
from katod.formats.transcript.content import (
    AskedQuestion,
    Attachment,
    Code,
    Fold,
    Inline,
    Link,
    Piece,
    Prose,
    Quoted,
    Thinking,
    TypedWords,
)  # fmt: skip
from katod.formats.transcript.markdown import details, print_fold, print_piece, printed
from katod.formats.transcript.turns import Conversation, TypedTurn, fitted

LIMIT: Final = 65_536  # characters: what GitHub takes


def pull_request(conversation: Conversation) -> str:
    """Return the conversation as Markdown of fewer than 65,536 characters; what was left out is named.

    Nobody is notified by it, and nothing in it links to a file of this machine.
    """
    head = conversation.head
    prompts = sum(_is_typed(turn) for turn in conversation.turns)
    asked = f"{prompts} prompt{'s' if prompts != 1 else ''}"
    about = " · ".join(part for part in (head.title, head.product, asked, head.date) if part)
    title = f"Conversation: {html(apart(about))}"
    room = LIMIT - len(details(title, "")) - 2
    return details(title, fitted(conversation.turns, room, shareable, _left_out).strip("\n")) + "\n"


def _is_typed(turn: TypedTurn) -> bool:
    return any(isinstance(piece, TypedWords) or getattr(piece, "words", "") for piece in turn.pieces[:2])


def _left_out(count: int, characters: int) -> str:
    return f"\n*{count} turn{'s' if count > 1 else ''} of {characters:,} characters left out here*\n"


def shareable(pieces: Iterable[Piece]) -> str:
    """Return pieces as text that notifies nobody; files are named, not linked."""
    return printed((piece for piece in pieces if not isinstance(piece, Link)), _print)


def _print(piece: Piece) -> str:
    """Print a piece: its code by its exact characters, its other words without names that a forge would find."""
    if isinstance(piece, Prose | TypedWords | Thinking | AskedQuestion):
        return quiet(print_piece(piece))
    if isinstance(piece, Attachment):
        piece = piece._replace(link="")
    if isinstance(piece, Fold):
        return print_fold(_apart_in(piece), _print)
    return print_piece(_apart_in(piece))


def _apart_in(value: Any) -> Any:
    """Return a piece, or a part of one, with the names in it apart; code and messages stay."""
    if isinstance(value, str):
        return apart(value)
    if isinstance(value, Code | Prose) or (isinstance(value, Inline) and value.kind == "code"):
        return value
    if isinstance(value, Quoted):
        return value._replace(label=apart(value.label))
    if isinstance(value, tuple):
        parts = [_apart_in(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
