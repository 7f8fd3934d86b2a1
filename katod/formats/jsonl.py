"""JSONL: the canonical events as they are, one per line, all kinds."""

from typing import Any, Final

import orjson

from katod import events as ev
from katod.events import Event, to_json
from katod.formats.redact import may_contain_secret, redact_json
from katod.metadata import SessionMetadata
from katod.model import Mark, Options

# orjson writes at most 254 levels; agents never nest that deep, hostile files do.
_TOO_DEEP: Final = "nested too deep to be written as JSON"


class Jsonl:
    """Writes every event in full, without a head or marks."""

    def __init__(self, options: Options, _: dict[str, Any] | None = None) -> None:
        self._redact = options.redact

    def head(self, _metadata: SessionMetadata, _time: str) -> str:
        """Return nothing: a JSONL output has no head."""
        return ""

    def event(self, event: Event, _metadata: SessionMetadata) -> str:
        """Return the event as one line."""
        row = to_json(event)
        line = _line(row)
        if self._redact and may_contain_secret(line):
            row["payload"] = redact_json(row["payload"])
            line = _line(row)
        return line.decode() + "\n"

    def mark(self, _: Mark) -> str:
        """Return nothing: marks are not events."""
        return ""

    def end(self) -> str:
        """Return nothing: an output may always go on."""
        return ""

    def pause(self) -> str:
        """Return nothing: nothing is held back."""
        return ""

    def state(self) -> dict[str, Any]:
        """Return no state: none is needed."""
        return {}


def _line(row: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(row)
    except TypeError:
        row["payload"] = {"rawType": row["kind"], "raw": _TOO_DEEP}
        row["kind"] = ev.PROVIDER_RAW
        return orjson.dumps(row)
