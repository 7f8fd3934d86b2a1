"""Text that is safe to show, or as part of a file name. Pure.

Every text that is shown goes through `clean`, which removes what affects a terminal.
"""

import re
import unicodedata
from hashlib import blake2b
from typing import Final

# Terminal sequences, control characters (newline and tab are kept) and bidirectional overrides.
# A sequence that contains text must end in its line: an open one would hide everything after it.
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_HARMLESS: Final = bytes((9, 10, *range(32, 127)))
_NOT_SLUG: Final = re.compile(r"[^\w]+", re.UNICODE)
_PLAIN_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_LENGTH: Final = 48


def clean(text: str) -> str:
    """Remove what would affect a terminal or reverse the direction of text."""
    if text.isascii():  # eight times faster than the search
        if not text.encode().translate(None, _HARMLESS):
            return text
    elif text.replace("\n", "").replace("\t", "").isprintable() or not _CONTROLS.search(text):  # also much faster
        return text
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _CONTROLS.sub("", text)


def slug(text: str, length: int = _LENGTH) -> str:
    """Return text as part of a file name: words of letters and digits, joined by hyphens; may be empty."""
    words = _NOT_SLUG.sub("-", unicodedata.normalize("NFC", text).lower()).strip("-_")
    if len(words) <= length:
        return words
    return words[: length + 1].rpartition("-")[0].strip("-_") or words[:length].strip("-_")


def is_plain_name(text: str) -> bool:
    """Return whether a text is a short name in lower case, which is one file name on every kind of disk."""
    return _PLAIN_NAME.fullmatch(text) is not None


def distinct(name: str, path: str) -> str:
    """Return a name with a short hash of the path that it is for, where another path has the name."""
    return f"{name}-{blake2b(path.encode(), digest_size=2).hexdigest()}"
