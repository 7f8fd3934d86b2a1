"""The application: what is served where, behind its guard."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from katod.model import Options
from katod.serve.access import Policy
from katod.serve.answers import problem
from katod.serve.guard import Guard
from katod.serve.hub import Hub
from katod.serve.page.door import Login, is_browser
from katod.serve.page.frame import plain
from katod.serve.page.static import static
from katod.serve.rest import Rest
from katod.serve.sockets import Sockets


class _Whole(Convertor[str]):
    """A part of a path, which may be empty: the path of a project that nobody noted."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def application(hub: Hub, options: Options, policy: Policy, pages: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application that serves what a hub has; `pages` are what people look at."""
    register_url_convertor("whole", _Whole())
    login = Login(policy)
    routes = [
        Route("/static/{name}", static),
        WebSocketRoute("/ws", Sockets(hub).talk),
        Route("/login", login.form, methods=["GET"]),
        Route("/login", login.take, methods=["POST"]),
        *Rest(hub, options).routes(),
        *pages,
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        await hub.start()
        try:
            yield
        finally:
            hub.close()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _wrong})
    app.router.redirect_slashes = False
    return Guard(app, policy, login.door)


async def _wrong(request: Request, error: Exception) -> Response:
    """Return what is wrong with a request that nothing answers."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404 and is_browser(request.scope):
        return HTMLResponse(plain("Not here", "There is nothing here."), 404)
    if status == 405:
        return problem(405, "READ_ONLY", "katod shows sessions, and changes nothing in them", {"Allow": "GET, HEAD"})
    return problem(status, "NOT_FOUND" if status == 404 else "FAILED", "there is nothing here")
