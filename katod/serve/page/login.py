"""Lets a browser in: accepts the token in a form, and sets a cookie; redirects visitors who followed a link to a page.

A link in a page of another site comes without the cookie (`SameSite=Strict`), and nothing may be shown to that site. So
it leads to a page with nothing in it, which then asks for the one that is meant, as a page of this server.
"""

import re
import time
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from katod.formats.text.markup import NOTHING, Markup, escape, fill
from katod.serve.access.limits import Rate
from katod.serve.access.policy import COOKIE, LINK, TLS, AccessPolicy, Refusal, is_proxied, is_token
from katod.serve.http import fields, html_response
from katod.serve.page.frame import framed, plain

_FORM: Final = (
    "<h1>Your sessions</h1>\n{wrong}"
    '<form id="door" method="post" action="/login"><input type="hidden" name="to" value="{to}">'
    '<label for="token">Token</label><input id="token" type="password" name="token" autocomplete="off" required '
    'autofocus><button>Show my sessions</button></form>\n<p class="quiet">Run '
    "<code>katod serve --url</code>, and open what it prints, or paste it here. You are asked again after this "
    "browser was closed.</p>\n"
)
_HOME: Final = "/"
_OWN: Final = re.compile(r"/(?:s/[0-9a-f-]{36}(?:/files)?|find)?")  # where the form may lead


class Login:
    """Gives a browser a cookie for the token."""

    def __init__(self, policy: AccessPolicy, guesses: Rate) -> None:
        """`guesses` is how many wrong tokens may be tried."""
        self._policy = policy
        self._guesses = guesses

    async def form(self, _: Request) -> Response:
        """Return a form for the token."""
        return html_response(login_page(_HOME))

    def door(self, scope: Scope, refused: Refusal) -> Response | None:
        """Return the form for a browser that asks for a page without a token, and what leads on from another site.

        None for other requests.
        """
        if scope["type"] != "http" or scope["method"] != "GET" or not is_browser(scope):
            return None
        if refused == LINK:
            return _arrival(scope["path"], scope["query_string"])
        return html_response(login_page(_place(scope["path"])), 401) if refused.status == 401 else None

    async def take(self, request: Request) -> Response:
        """Take the token from a form. The right one is taken however many wrong ones were tried."""
        form = fields(await request.body())
        given, to = form.get("token", "").strip(), _place(form.get("to", _HOME))
        given = given.rpartition("#token=")[2]  # of the whole address
        if not is_token(self._policy, given):
            if self._guesses.wait(time.monotonic()):
                return html_response(login_page(to, "Wrong token. There were too many attempts."), 429)
            return html_response(login_page(to, "Wrong token."), 401)
        answer = RedirectResponse(to, 303)
        is_secure = is_proxied(self._policy, request.headers.raw, TLS)
        answer.set_cookie(COOKIE, self._policy.cookie, secure=is_secure, httponly=True, samesite="strict", path="/")
        return answer


def is_browser(scope: Scope) -> bool:
    """Return whether a client is a browser that shows a page."""
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _arrival(path: str, query: bytes) -> Response:
    """Return the page that leads on; not to a search, the words of which another site would have chosen."""
    if query or not _OWN.fullmatch(path):
        message = "You followed a link from another site. Such links work only for the list and for sessions."
        return html_response(plain("Not here", message), 403)
    return html_response(onward_page(path))


def _place(path: str) -> str:
    """Return a page of this server that a form may lead to: the one that is named, or the list."""
    return path if _OWN.fullmatch(path) else _HOME


def onward_page(to: str) -> Markup:
    """Return the page to which a link of another site leads; a script goes on from it at once."""
    content = fill('<h1>Your sessions</h1>\n<p><a id="onward" href="{}">Go on</a></p>\n', escape(to))
    return framed("katod", "plain", content)


def login_page(to: str, problem: str = "") -> Markup:
    """Return the page that asks for the token; `to` is where it leads."""
    wrong = fill('<p class="failed" role="alert">{}</p>\n', escape(problem)) if problem else NOTHING
    return framed("katod", "login", fill(_FORM, wrong=wrong, to=escape(to)))
