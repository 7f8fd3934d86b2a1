"""Lines that are no wider than the terminal: broken between words, and indented below their beginning. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

Piece = tuple[str, str]  # a piece of a line, and its style
_WORDS: Final = re.compile(r"\s+|\S+")
_LEAST: Final = 12  # cells for words, however far a line is indented


def wrapped(pieces: Sequence[Piece], width: int) -> Iterator[list[Piece]]:
    """Yield a line as lines of at most so many cells; a word that is longer, such as a path, is left whole."""
    whole = "".join(text for text, _ in pieces)
    if len(whole) <= width and whole.isascii():
        yield list(pieces)
        return
    from rich.cells import cell_len  # noqa: PLC0415 - few lines are that long

    indent = " " * min(len(whole) - len(whole.lstrip()) + 2, max(0, width - _LEAST))
    line: list[Piece] = []
    used, blanks = 0, list[Piece]()  # those that are printed only if a word follows them
    for word, style in _words(pieces):
        if word.isspace():
            blanks.append((word, style))
            continue
        size, gap = cell_len(word), sum(len(blank) for blank, _ in blanks)
        if used and used + gap + size > width:
            yield line
            line, used, blanks, gap = [(indent, "")], len(indent), [], 0
        line += [*blanks, (word, style)]
        used, blanks = used + gap + size, []
    yield line


def _words(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield words, and the blanks between them."""
    for text, style in pieces:
        for word in _WORDS.findall(text):
            yield word, style
