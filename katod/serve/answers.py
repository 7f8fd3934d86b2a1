"""Answers in JSON."""

from typing import Any

import orjson
from starlette.responses import Response


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


def problem(status: int, code: str, told: str, headers: dict[str, str] | None = None) -> Response:
    """Return an answer that says what is wrong."""
    return json_response({"error": told, "code": code}, status, headers)
