"""Whether words may be in Markdown or in a page of HTML, before markup is taken out of it. Pure.

Letters and digits stand in both as they are, whatever is escaped around them. Of letters beyond ASCII this is only so
if there are no entities but those of markup's own signs, and no tags within words: a text with any of these is
searched for the other letters alone.
"""

import re
from typing import Final

from katod.search.prefilter import FoldingTable, is_of_one_length, utf8

_ASCII_WORDLIKE: Final = re.compile(r"[a-z0-9]+")
_ASCII_LETTERS: Final = re.compile(r"[a-z]+")
_WORDLIKE: Final = re.compile(r"[^\W_]+")
# An entity that may stand for a letter; Markdown may escape a sign of it.
_ENTITY: Final = r"&\\?(?!(?:lt|gt|amp|quot|apos|#39|#x27|#34);)[#a-z]"
_WITHIN: Final = r"[a-z0-9\x80-\xff]"
# It begins with a sign, which is found fast, and then looks back at what is before it.
_TAGS: Final = rf"<(?<={_WITHIN}<)/?[a-z][^<>\n]*>(?:</?[a-z][^<>\n]*>)*{_WITHIN}"
_HIDING: Final = re.compile(rf"{_ENTITY}|{_TAGS}".encode("latin-1"))
_ENTITIES: Final = re.compile(_ENTITY.encode())


class TextFilter:
    """Looks for one word in folded bytes of UTF-8."""

    def __init__(self, word: str, table: FoldingTable) -> None:
        """Look for a folded word; the table already folds its letters."""
        self._plain = _longest(_ASCII_WORDLIKE, word).encode()
        self._letters = _longest(_ASCII_LETTERS, self._plain.decode()).encode()
        safe = "".join(char if is_of_one_length(char) else " " for char in word)
        self._run = table.fold(utf8(_longest(_WORDLIKE, safe)))
        self._chars = [table.fold(utf8(char)) for char in dict.fromkeys(safe) if not char.isascii() and char.isalnum()]

    def may_be_in(self, folded: bytes) -> bool:
        """Return False if this text of Markdown certainly lacks the word."""
        if self._plain not in folded:
            return False
        return self._run in folded or _HIDING.search(folded) is not None

    def may_be_in_page(self, folded: bytes) -> bool:
        """Return False if this page of HTML certainly lacks the word: code has tags in it."""
        if self._letters not in folded:
            return False
        return all(char in folded for char in self._chars) or _ENTITIES.search(folded) is not None


def _longest(pattern: re.Pattern[str], word: str) -> str:
    return max(pattern.findall(word), key=lambda run: len(utf8(run)), default="")
