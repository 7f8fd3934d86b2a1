"""Pictures and files of a message: which are saved, and under what name. Pure."""

from typing import Any, Final

from katod.events import Event

# Pictures that can be shown; an SVG could run something.
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LARGEST: Final = 10_000_000  # bytes
_MOST: Final = 100_000_000  # bytes of one transcript
_LONGEST_SUFFIX: Final = 16


def is_kept(row: dict[str, Any], saved: int) -> bool:
    """Return whether an attachment is saved, after so many bytes of others: a picture of a common type and size."""
    size = row.get("bytes")
    if row.get("mediaType") not in PICTURES or "sha256" not in row or not isinstance(size, int):
        return False
    return size <= _LARGEST and saved + size <= _MOST


def linked(event: Event, text: str) -> list[tuple[str, str]]:
    """Return the attachments that the text of an event links to: media type, base64."""
    return [(media, data) for digest, media, data in event.blobs if digest[:16] in text]


def asset_name(row: dict[str, Any]) -> str:
    """Return the file name of a saved attachment: its hash, and a suffix for its media type."""
    ending = str(row.get("mediaType", "")).rpartition("/")[2].partition("+")[0]
    suffix = f".{ending}" if ending.isascii() and ending.isalnum() and len(ending) <= _LONGEST_SUFFIX else ""
    return f"{row['sha256'][:16]}{suffix}"


def shown_size(count: Any) -> str:
    """Return `512 bytes` or `69.4 KB`, empty if the size is not known."""
    if not isinstance(count, int):
        return ""
    return f"{count} bytes" if count < 1024 else f"{count / 1024:.1f} KB"
