"""Answers in JSON, and forms."""

from typing import Any, Final
from urllib.parse import parse_qs

import orjson
from starlette.responses import Response

_FIELDS: Final = 8


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


def problem(status: int, code: str, told: str, headers: dict[str, str] | None = None) -> Response:
    """Return an answer that says what is wrong."""
    return json_response({"error": told, "code": code}, status, headers)


def fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form, each with its first value; none if there are too many."""
    try:
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_FIELDS)
    except ValueError:
        return {}
    return {name: values[0] for name, values in form.items()}
