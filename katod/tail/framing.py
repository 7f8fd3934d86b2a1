"""Bytes to lines, pure. Only a newline ends a line; offsets count bytes."""

from typing import Final

from katod.model import Line

BOM: Final = b"\xef\xbb\xbf"


def frame(data: bytes, base: int) -> list[Line]:
    """Split `data`, which begins at offset `base`, into its complete lines; the rest is left out.

    CRLF counts as a newline, a byte order mark at offset 0 and NUL bytes before a line are dropped,
    blank lines come as lines without data.
    """
    lines: list[Line] = []
    offset = base
    pieces = data.split(b"\n")
    pieces.pop()
    for piece in pieces:
        end = offset + len(piece) + 1
        whole = piece[:1] == b"{" and piece[-1:] == b"}"  # as nearly all lines are
        lines.append(Line(offset, end, piece if whole else clean(piece, offset)))
        offset = end
    return lines


def clean(piece: bytes, offset: int) -> bytes:
    """Strip what is not the record: BOM at offset 0, a NUL run before it, the CR of a CRLF."""
    if piece[-1:] == b"\r":
        piece = piece[:-1]
    if piece[:1] == b"{":
        return piece
    if offset == 0 and piece.startswith(BOM):
        piece = piece[len(BOM) :]
    return piece.lstrip(b"\0").strip()
