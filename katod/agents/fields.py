"""Reads the values of a decoded record, which may be of any type: a value of the wrong type reads as empty."""

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from typing import Any, Final

_MOST_COST: Final = 2**53  # US dollars
_LONGEST_TIME: Final = 10**15  # seconds
_LONGEST_URL: Final = 2000
# The parts of a remote's URL that are kept, as `scheme://host/path` and as `host:path`; who logs in is before an `@`.
_REMOTE: Final = (
    re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/\s]*@)?([\w.-]+(?::[0-9]+)?/[^\s@?#]+)(?:[?#].*)?"),
    re.compile(r"()(?:[^/\s]*@)?([\w.-]{2,}:(?!//)[^\s@?#]+)"),
)


def text_of(value: Any) -> str:
    """Return the value if it is a string, otherwise an empty one."""
    return value if isinstance(value, str) else ""


def dict_of(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the value if it is an array, otherwise an empty one."""
    return value if isinstance(value, list) else []


def dicts_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects in an array, an empty list for anything else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def texts_in(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the entries of an object that are non-empty strings."""
    return {name: text for name, text in row.items() if isinstance(text, str) and text}


def name_of(value: Any) -> str:
    """Return the value if it is a string, otherwise an empty one. Raises TypeError for an object or an array."""
    if isinstance(value, dict | list):
        raise TypeError("an object or an array is not a name")
    return text_of(value)


def int_or_none(value: Any) -> int | None:
    """Return the value if it is an integer of at most 64 bits, otherwise None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def cost_or_none(value: Any) -> float | None:
    """Return the value if it may be a cost in US dollars, otherwise None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST_COST else None


def repository_of(value: Any) -> str:
    """Return the URL of a repository's remote without user name, password, query and fragment, empty if it is none.

    What cannot be told apart from a password is no URL: one with a slash in it, for example.
    """
    text = text_of(value)
    found = (remote.fullmatch(text) for remote in _REMOTE) if len(text) <= _LONGEST_URL else ()
    return next((match[1] + match[2] for match in found if match and "@" not in text[match.end(2) :]), "")


def milliseconds(seconds: Any) -> int | None:
    """Return seconds in milliseconds, None if the value is not a number or not plausible."""
    meant = isinstance(seconds, int | float) and 0 <= seconds < _LONGEST_TIME
    return round(seconds * 1000) if meant else None


def iso_time(milliseconds: Any) -> str:
    """Return a time since 1970 in milliseconds as `2026-02-10T22:36:40.000Z`, empty if the value is none."""
    if not isinstance(milliseconds, int | float):
        return ""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def safe_repr(value: Any) -> str:
    """Return `repr(value)`, or a fixed text if the value is nested too deeply for Python."""
    try:
        return repr(value)
    except RecursionError:
        return "nested too deep"


def digest(*parts: str) -> str:
    """Return a short stable name for something without a native id."""
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def decoded(data: str) -> bytes:
    """Return the bytes of base64 data; text that is not base64 is returned unchanged."""
    try:
        return base64.b64decode(data, validate=False)
    except ValueError:
        return data.encode("utf-8", "replace")


def attachment(kind: str, media_type: str, data: str, name: str = "") -> dict[str, Any]:
    """Describe base64 data as an attachment: its decoded size in bytes and its SHA-256, never the data."""
    content = decoded(data)
    row: dict[str, Any] = {"type": kind}
    if media_type:
        row["mediaType"] = media_type
    if name:
        row["name"] = name
    return row | {"bytes": len(content), "sha256": sha256(content).hexdigest()}
