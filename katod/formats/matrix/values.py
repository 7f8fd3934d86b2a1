"""JSON as a Matrix homeserver takes it: what may be in an event, and how a large text is made to fit. Pure."""

import re
from hashlib import sha256
from typing import Any, Final

import orjson

Content = dict[str, Any]
Path = tuple[str | int, ...]

LARGEST: Final = 60_000  # bytes of a content in canonical JSON, after everything: the server counts 65,536 with its own
_ADDED: Final = 1_500  # bytes that delivery may add: longer ids in place of ours, and the address of an upload
_FITS: Final = LARGEST - _ADDED
_HEAD: Final = 16_000  # bytes of a large text that stay in the event
_SHORT: Final = 2_000  # bytes: such a text is never uploaded
_CLIPPED: Final = 500  # bytes of any other text in a content that is too large
_MOST_ITEMS: Final = 32
_LARGEST_INPUT: Final = 20_000  # bytes of an input that is sent as an object
_DEEPEST: Final = 40  # levels of an input: servers refuse 150
_LARGEST_NUMBER: Final = 2**53 - 1
_REFUSED: Final = re.compile("[\0\ud800-\udfff]")


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of Matrix: sorted keys, no spaces, UTF-8."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def clean(text: str) -> str:
    """Return a text that every server takes: without NUL, and U+FFFD for half of a surrogate pair."""
    if text.isascii() and "\0" not in text:
        return text
    return _REFUSED.sub(lambda found: "" if found[0] == "\0" else "\N{REPLACEMENT CHARACTER}", text)


def cleaned(value: Any) -> Any:
    """Return a JSON value with clean texts and keys."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): cleaned(inner) for key, inner in value.items()}
    return [cleaned(inner) for inner in value] if isinstance(value, list) else value


def integer(value: Any) -> int | None:
    """Return the value if it is an integer that Matrix takes, otherwise None."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) <= _LARGEST_NUMBER else None


def money(value: Any) -> str:
    """Return an amount as a decimal string of at least six decimals, empty if it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _LARGEST_NUMBER:
        return ""
    whole, _, decimals = f"{value:.10f}".partition(".")
    return f"{whole}.{decimals.rstrip('0'):0<6}"


def given_input(value: Any) -> tuple[Content, Path]:
    """Return the fields that say what a tool was given, and where in them a text may be long.

    An object is sent as `input` if Matrix takes all of it, otherwise as JSON in `input_json`: nothing is rounded.
    """
    if value is None:
        return {}, ()
    if isinstance(value, str):
        return {"input": {"text": clean(value)}}, ("input", "text")
    if isinstance(value, dict) and _is_plain(value, 0) and len(canonical(value)) <= _LARGEST_INPUT:
        return {"input": cleaned(value)}, ()
    return {"input_json": clean(orjson.dumps(value).decode())}, ("input_json",)


def _is_plain(value: Any, depth: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth < _DEEPEST and all(_is_plain(item, depth + 1) for item in inner)
    if value is None or isinstance(value, str | bool):
        return True
    return integer(value) is not None


def fitted(content: Content, at: Path) -> list[Content]:
    """Make a content fit; return the text that was too large for it, if there is one, to be uploaded.

    Of the text at this place a head stays, with its size and hash beside it. Only if that is not enough are the other
    texts clipped, and `katod_cut` says so.
    """
    if len(canonical(content)) <= _FITS:
        return []
    holder = _holder(content, at) if at else None
    text = holder.get(at[-1], "") if holder is not None else ""
    if len(canonical(text)) > _SHORT:
        return [_with_head(content, holder, at, text)]
    _clip(content)
    return []


def _with_head(content: Content, holder: Any, at: Path, text: str) -> Content:
    data = text.encode()
    about = {"size_bytes": len(data), "sha256": sha256(data).hexdigest()}
    holder |= about | {at[-1]: ""}
    if len(canonical(content)) > _FITS - _HEAD:
        _clip(content)
    holder[at[-1]] = _head(text, _HEAD)
    media = "application/json" if at[-1] == "input_json" else "text/plain"
    return {"sha256": about["sha256"], "media_type": media, "size_bytes": len(data), "text": text, "at": list(at)}


def _holder(content: Content, at: Path) -> Any:
    """Return the object that has the last key of a path."""
    inner: Any = content
    for key in at[:-1]:
        inner = inner[key]
    return inner


def _head(text: str, most: int) -> str:
    """Return the beginning of a text that has at most so many bytes in canonical JSON."""
    head = text[:most]
    while (size := len(canonical(head)) - 2) > most:
        head = head[: len(head) * most // size - 1] if len(head) > 1 else ""
    return head


def _clip(content: Content) -> None:
    content |= _clipped(content) | {"katod_cut": True}


def _clipped(value: Any) -> Any:
    if isinstance(value, str):
        return _head(value, _CLIPPED)
    if isinstance(value, dict):
        return {key: _clipped(inner) for key, inner in value.items()}
    return [_clipped(inner) for inner in value[:_MOST_ITEMS]] if isinstance(value, list) else value
