"""The application: what is served where, behind its guard."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from katod.formats.transcript.style import STYLE
from katod.model import Options
from katod.serve import failures
from katod.serve.access.guard import Guard
from katod.serve.access.limits import Rate
from katod.serve.access.policy import AccessPolicy
from katod.serve.feed.hub import Hub
from katod.serve.http import html_response, problem, until_left
from katod.serve.page.frame import plain
from katod.serve.page.login import Login, is_browser
from katod.serve.protocol.connection import WebSocketEndpoint
from katod.serve.protocol.rest import RestApi

FOLDER: Final = Path(__file__).parent / "static"
_MEDIA: Final = {
    "page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
}  # fmt: skip
_TRANSCRIPT: Final = "transcript.css"
_READS: Final = frozenset({"GET", "HEAD"})


class _Whole(Convertor[str]):
    """A part of a path, which may be empty: the path of a project that is not known."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def application(hub: Hub, options: Options, policy: AccessPolicy, pages: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application that serves what a hub has; `pages` are what people look at."""
    register_url_convertor("whole", _Whole())
    guesses = Rate(each=2, burst=20)
    login = Login(policy, guesses)
    routes = [
        Route("/static/{name}", static),
        WebSocketRoute("/ws", WebSocketEndpoint(hub).talk),
        Route("/login", login.form, methods=["GET"]),
        Route("/login", login.take, methods=["POST"]),
        *RestApi(hub, options).routes(),
        *pages,
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        await hub.start()
        try:
            yield
        finally:
            hub.close()

    async def failed(request: Request, error: Exception) -> Response:
        """Log an unexpected error, and answer with 500."""
        failures.note(hub.log, error)
        if is_browser(request.scope):
            return html_response(plain("This failed", "katod could not show this. Its log says where it failed."), 500)
        return problem(500, "FAILED", "katod failed: its log says where")

    wrong = {HTTPException: _wrong, Exception: failed}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=wrong, middleware=[Middleware(until_left)])
    app.router.redirect_slashes = False
    app.router.default = _unserved(app.router.default)
    return Guard(app, policy, login.door, guesses)


def _unserved(missing: ASGIApp) -> ASGIApp:
    """Return the application for other addresses: there, too, a request to change something is refused first."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_write = scope["type"] == "http" and scope["method"] not in _READS
        await (_read_only() if is_write else missing)(scope, receive, send)

    return answer


def _read_only() -> Response:
    return problem(405, "READ_ONLY", "katod shows sessions, and changes nothing in them", {"Allow": "GET, HEAD"})


async def _wrong(request: Request, error: Exception) -> Response:
    """Return the error for a request that has no answer."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404 and is_browser(request.scope):
        return html_response(plain("Not here", "There is nothing here."), 404)
    if status == 405:
        return _read_only()
    return problem(status, "NOT_FOUND" if status == 404 else "FAILED", "there is nothing here")


async def static(request: Request) -> Response:
    """Return one of the files; there are no others."""
    name = request.path_params["name"]
    if name == _TRANSCRIPT:
        return Response(STYLE, media_type=_MEDIA["page.css"])
    if name not in _MEDIA:
        return problem(404, "NOT_FOUND", "there is nothing here")
    return Response((FOLDER / name).read_bytes(), media_type=_MEDIA[name])
