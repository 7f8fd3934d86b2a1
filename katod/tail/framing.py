"""Splits bytes into lines. Pure. Only a newline ends a line; offsets are in bytes."""

from typing import Final

from katod.model import Line

BOM: Final = b"\xef\xbb\xbf"


def frame(data: bytes, base: int) -> list[Line]:
    """Split `data`, which begins at offset `base`, into complete lines; an unterminated rest is left out.

    CRLF counts as a newline. A byte order mark at offset 0 and NUL bytes before a line are dropped. Blank lines are
    returned without data.
    """
    lines: list[Line] = []
    offset = base
    pieces = data.split(b"\n")
    pieces.pop()
    for piece in pieces:
        end = offset + len(piece) + 1
        whole = piece[:1] == b"{" and piece[-1:] == b"}"  # like nearly every line
        lines.append(Line(offset, end, piece if whole else strip_record(piece, offset)))
        offset = end
    return lines


def strip_record(piece: bytes, offset: int) -> bytes:
    """Strip what is not part of the record: a BOM at offset 0, leading NUL bytes, the CR of a CRLF."""
    if piece[-1:] == b"\r":
        piece = piece[:-1]
    if piece[:1] == b"{":
        return piece
    if offset == 0 and piece.startswith(BOM):
        piece = piece[len(BOM) :]
    return piece.lstrip(b"\0").strip()
