"""Requests and answers: JSON, forms, and work that ends when its client leaves."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from katod.formats.text.markup import Markup

T = TypeVar("T")
_FIELDS: Final = 8


class Disconnected(Exception):
    """A client has left, or was disconnected because it does not read, or sends too much."""


class ClosedStream(StreamingResponse):
    """An answer piece by piece. What makes the pieces is closed with it, also if the client has left.

    Otherwise that is left to the collector of garbage, which closes what belongs together in any order.
    """

    async def stream_response(self, send: Send) -> None:
        """Send all pieces."""
        try:
            await super().stream_response(send)
        finally:
            if isinstance(self.body_iterator, AsyncGenerator):
                await self.body_iterator.aclose()


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


def html_response(page: Markup, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a page as an answer."""
    return HTMLResponse(page, status, headers)


def problem(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as an answer."""
    return json_response({"error": message, "code": code}, status, headers)


def fields(body: bytes, *, blank: bool = False) -> dict[str, str]:
    """Return the fields of a form, each with its first value; none if there are too many. `blank` keeps empty ones."""
    try:
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_FIELDS, keep_blank_values=blank)
    except ValueError:
        return {}
    return {name: values[0] for name, values in form.items()}


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, which is cancelled when the client leaves. Raises Disconnected then."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Disconnected
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


def until_left(app: ASGIApp) -> ASGIApp:
    """Return an application that ends without an answer when its client leaves: that is no failure."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(Disconnected, ClientDisconnect):
            await app(scope, receive, send)

    return answer


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
