"""Upper and lower case, as words and texts are compared: a folded text has the length of the text. Pure."""

import re
from typing import Final

# Their lower case is, or begins with, a letter of ASCII, and they are never escaped: they stay as they are.
_ALONE: Final = re.compile("([\u0130\u212a])")
# Unicode folds each of these pairs to one letter, `lower` does not. A final sigma depends on what follows it.
_MERGED: Final = (("\u03c2", "\u03c3"), ("\u00b5", "\u03bc"))
# They fold to an ordinary letter, but no upper-casing of that leads back to them.
_TWINS: Final = {
    "\u00df": "\u1e9e", "\u00e5": "\u212b", "\u03b8": "\u03f4", "\u03bc": "\u00b5", "\u03c3": "\u03c2",
    "\u03c9": "\u2126",
}  # fmt: skip


def fold(text: str) -> str:
    """Return a text in lower case, as words and texts are compared: character by character, of the same length."""
    if text.isascii():
        return text.lower()
    folded = _lowered(text)
    for char, same in _MERGED:
        folded = folded.replace(char, same)
    return folded


def _lowered(text: str) -> str:
    if not _ALONE.search(text):
        return text.lower()
    return "".join(part if _ALONE.match(part) else part.lower() for part in _ALONE.split(text))


def unfolded(char: str) -> list[str]:
    """Return all characters that fold to a folded one, itself first."""
    others = {char.upper(), char.title(), *_TWINS.get(char, "")} - {char}
    return [char, *sorted(other for other in others if len(other) == 1 and fold(other) == char)]
