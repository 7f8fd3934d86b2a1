"""Events as JSON values, without secrets: the basis of every format for programs. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from katod import events as ev
from katod.events import Event, to_json
from katod.formats.protocol import Spool
from katod.formats.redact.redactor import may_contain_secret, redact_json

# Encrypted thinking is random, so that a part of it may look like a token; nobody but its provider can read it.
_SEALED: Final = re.compile(r"[\w+/=-]{64,}", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:60|[0-5][0-9])"
    r"(?:\.[0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
Fields = dict[str, Any]


def row_of(event: Event, *, redact: bool) -> tuple[dict[str, Any], bytes]:
    """Return the JSON form of an event, and it as one line; with `redact`, its payload is redacted."""
    row = to_json(event)
    line = _line(row)
    if redact and may_contain_secret(line):
        sealed = row["payload"].get("encrypted")
        row["payload"] = redact_json(row["payload"])
        if isinstance(sealed, str) and _SEALED.fullmatch(sealed):
            row["payload"] = row["payload"] | {"encrypted": sealed}
        line = _line(row)
    return row, line


def recorded_time(row: Fields) -> str:
    """Return when an event happened, given its JSON form; empty if its agent did not record it as RFC 3339 wants it."""
    return timestamp(row["time"]) if row.get("timeSource") == "recorded" else ""


def timestamp(time: str) -> str:
    """Return a time if it is one of RFC 3339 with capitals, which all other formats take; empty for any other."""
    return time if _TIMESTAMP.fullmatch(time) else ""


def compact(value: Any) -> str:
    """Return JSON in one line, without spaces. Numbers may be of any size."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Items:
    """The elements of an array, kept in a spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.count = 0

    def add(self, text: str) -> None:
        """Add an element, as JSON."""
        self._spool.write(f",{text}" if self.count else text)
        self.count += 1

    def pieces(self) -> Iterator[str]:
        """Yield the elements with the commas between them."""
        return self._spool.pieces()


def _line(row: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(row)
    except TypeError:
        row.update(kind=ev.PROVIDER_RAW, payload=ev.too_deep(row["kind"]))
        return orjson.dumps(row)
