"""Text as part of a file name."""

import re
import unicodedata
from hashlib import blake2b
from typing import Final

_NOT_SLUG: Final = re.compile(r"[^\w]+", re.UNICODE)
_LENGTH: Final = 48


def slug(text: str, length: int = _LENGTH) -> str:
    """Return text as part of a file name: words of letters and digits, joined by hyphens; may be empty."""
    words = _NOT_SLUG.sub("-", unicodedata.normalize("NFC", text).lower()).strip("-_")
    if len(words) <= length:
        return words
    return words[: length + 1].rpartition("-")[0].strip("-_") or words[:length].strip("-_")


def distinct(name: str, path: str) -> str:
    """Return a name with a short hash of the path that it is for, where another path has the name."""
    return f"{name}-{blake2b(path.encode(), digest_size=2).hexdigest()}"
