"""Text as part of a file name."""

import re
import unicodedata
from typing import Final

_NOT_SLUG: Final = re.compile(r"[^\w]+", re.UNICODE)
_LENGTH: Final = 48


def slug(text: str, length: int = _LENGTH) -> str:
    """Return text as part of a file name: words of letters and digits, joined by hyphens; may be empty."""
    words = _NOT_SLUG.sub("-", unicodedata.normalize("NFC", text).lower()).strip("-_")
    if len(words) <= length:
        return words
    return words[: length + 1].rpartition("-")[0].strip("-_") or words[:length].strip("-_")
