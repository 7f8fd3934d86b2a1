"""The width and height of an image, read from its first bytes. Pure."""

from collections.abc import Callable
from typing import Final

Size = tuple[int, int]
_MOST: Final = 128 * 1024  # characters of base64 in which a size is looked for
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_NO_FRAME: Final = frozenset({0xC4, 0xC8, 0xCC})  # markers of JPEG between those of frames


def head_of(data: str) -> str:
    """Return as much of the base64 of a picture as is needed for its size."""
    return data[:_MOST]


def size_of(data: bytes) -> Size | None:
    """Return width and height of a PNG, GIF, JPEG or WebP, None for anything else."""
    for begins, read in _READERS:
        if data.startswith(begins):
            found = read(data)
            return found if found and min(found) > 0 else None
    return None


def _number(data: bytes, at: int, length: int, order: str = "little") -> int:
    return int.from_bytes(data[at : at + length], "big" if order == "big" else "little")


def _png(data: bytes) -> Size | None:
    return (_number(data, 16, 4, "big"), _number(data, 20, 4, "big")) if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> Size | None:
    return _number(data, 6, 2), _number(data, 8, 2)


def _jpeg(data: bytes) -> Size | None:
    """Return what the first frame says: segments before it have their lengths."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            return _number(data, at + 7, 2, "big"), _number(data, at + 5, 2, "big")
        at += 2 + _number(data, at + 2, 2, "big")
    return None


def _webp(data: bytes) -> Size | None:
    if data[8:12] != b"WEBP" or len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        return _number(data, 24, 3) + 1, _number(data, 27, 3) + 1
    if kind == b"VP8L":
        bits = _number(data, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return (_number(data, 26, 2) & 0x3FFF, _number(data, 28, 2) & 0x3FFF) if kind == b"VP8 " else None


_READERS: Final[tuple[tuple[bytes, Callable[[bytes], Size | None]], ...]] = (
    (_PNG, _png), (b"GIF8", _gif), (b"\xff\xd8", _jpeg), (b"RIFF", _webp),
)  # fmt: skip
