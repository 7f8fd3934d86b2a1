"""A conversation as one collapsed block for the description of a pull request. Pure."""

import re
from typing import Final

from katod.formats.content import Attachment, Piece, Prose, Typed
from katod.formats.markdown import details, printed
from katod.formats.mdtext import html
from katod.formats.turns import Conversation, Turn, fitted

LIMIT: Final = 65_536  # characters: what GitHub takes
_FRAME: Final = 600
_CODE: Final = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)", re.DOTALL)
_MENTION: Final = re.compile(r"(?<![\w.`/@-])@(?=[A-Za-z0-9])[A-Za-z0-9-]+(?:/[\w.-]+)?")
_LOCAL: Final = re.compile(r"!?\[([^\]\n]+)\]\((?!https?://|mailto:|#)[^)\n]*\)")


def pull_request(conversation: Conversation) -> str:
    """Return the conversation as Markdown of fewer than 65,536 characters; what was left out is named.

    Nobody is notified by it, and nothing in it links to a file of this machine.
    """
    head = conversation.head
    texts = [printed([_shareable(piece) for piece in turn.pieces]) for turn in conversation.turns]
    prompts = sum(_is_typed(turn) for turn in conversation.turns)
    title = " · ".join(part for part in (head.title, head.product, f"{prompts} prompts", head.date) if part)
    shown = fitted(texts, LIMIT - _FRAME - len(title) * 5, _left_out)
    return details(f"Conversation: {html(title)}", "".join(shown).strip("\n")) + "\n"


def _is_typed(turn: Turn) -> bool:
    return any(isinstance(piece, Typed) or getattr(piece, "words", "") for piece in turn.pieces[:2])


def _left_out(count: int, characters: int) -> str:
    return f"\n*{count} turn{'s' if count > 1 else ''} of {characters:,} characters left out here*\n"


def _shareable(piece: Piece) -> Piece:
    if isinstance(piece, Prose | Typed):
        return piece._replace(text=_quiet(piece.text))
    if isinstance(piece, Attachment):
        return piece._replace(link="")
    return piece


def _quiet(text: str) -> str:
    """Return text in which no name is mentioned, and no link leads to a file, outside code."""
    parts = _CODE.split(text)
    parts[::2] = [_MENTION.sub(r"`\g<0>`", _LOCAL.sub(r"`\1`", part)) for part in parts[::2]]
    return "".join(parts)
