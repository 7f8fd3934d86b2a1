"""The application: what is served where, behind its guard."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from katod.model import Options
from katod.serve.access import COOKIE, Policy, is_token
from katod.serve.answers import problem
from katod.serve.guard import Guard
from katod.serve.hub import Hub
from katod.serve.rest import Rest
from katod.serve.socket import Sockets

_FORM = """<!doctype html><html lang="en"><meta charset="utf-8"><title>katod</title>
<form method="post" action="/login"><label>Token <input type="password" name="token" autocomplete="off"></label>
<button>Show my sessions</button></form></html>
"""


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
        WebSocketRoute("/ws", Sockets(hub).talk),
        Route("/login", login.form, methods=["GET"]),
        Route("/login", login.take, methods=["POST"]),
        *Rest(hub, options).routes(),
        *pages,
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        hub.start()
        try:
            yield
        finally:
            hub.close()

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _wrong})
    app.router.redirect_slashes = False
    return Guard(app, policy)


class Login:
    """Gives a browser a cookie for the token."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def form(self, _: Request) -> Response:
        """Return a form for the token, for browsers without scripts."""
        return HTMLResponse(_FORM)

    async def take(self, request: Request) -> Response:
        """Take the token from a form."""
        given = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=8).get("token", [""])
        if not is_token(self._policy, given[0].strip()):
            return problem(401, "UNAUTHORIZED", "this is not the token: `katod serve` printed where it is")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, self._policy.cookie, httponly=True, samesite="strict", path="/")
        return answer


async def _wrong(_: Request, error: Exception) -> Response:
    """Return what is wrong with a request that nothing answers."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        return problem(405, "READ_ONLY", "katod shows sessions, and changes nothing in them", {"Allow": "GET, HEAD"})
    return problem(status, "NOT_FOUND" if status == 404 else "FAILED", "there is nothing here")
