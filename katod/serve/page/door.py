"""Lets a browser in: takes the token by a form, and gives a cookie for it."""

import re
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from katod.serve.access import COOKIE, Policy, is_token
from katod.serve.page.frame import login

_HOME: Final = "/"
_OWN: Final = re.compile(r"/(?:s/[0-9a-f-]{36}(?:/files)?|find)?")  # where the form may lead


class Login:
    """Gives a browser a cookie for the token."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def form(self, _: Request) -> Response:
        """Return a form for the token."""
        return HTMLResponse(login(_HOME))

    def door(self, scope: Scope) -> Response | None:
        """Return the form in place of a page that a browser asks for without a token; None for other requests."""
        if scope["type"] != "http" or scope["method"] != "GET" or not is_browser(scope):
            return None
        return HTMLResponse(login(_place(scope["path"])), 401)

    async def take(self, request: Request) -> Response:
        """Take the token from a form."""
        form = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=8)
        given, to = form.get("token", [""])[0].strip(), _place(form.get("to", [_HOME])[0])
        if not is_token(self._policy, given):
            return HTMLResponse(login(to, "This is not the token."), 401)
        answer = RedirectResponse(to, 303)
        answer.set_cookie(COOKIE, self._policy.cookie, httponly=True, samesite="strict", path="/")
        return answer


def is_browser(scope: Scope) -> bool:
    """Return whether a client wants to show a page to somebody."""
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _place(path: str) -> str:
    """Return a page of this server that a form may lead to: the one that is named, or the list."""
    return path if _OWN.fullmatch(path) else _HOME
