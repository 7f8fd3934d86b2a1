"""Events as JSON can hold them, without secrets: what every format of machines is made of. Pure."""

from typing import Any, Final

import orjson

from katod import events as ev
from katod.events import Event, to_json
from katod.formats.redact import may_contain_secret, redact_json

# orjson writes at most 254 levels; agents never nest that deep, hostile files do.
_TOO_DEEP: Final = "nested too deep to be written as JSON"


def row_of(event: Event, *, redact: bool) -> tuple[dict[str, Any], bytes]:
    """Return the JSON form of an event, and it as one line; with `redact`, its payload is redacted."""
    row = to_json(event)
    line = _line(row)
    if redact and may_contain_secret(line):
        row["payload"] = redact_json(row["payload"])
        line = _line(row)
    return row, line


def _line(row: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(row)
    except TypeError:
        row["payload"] = {"rawType": row["kind"], "raw": _TOO_DEEP}
        row["kind"] = ev.PROVIDER_RAW
        return orjson.dumps(row)
