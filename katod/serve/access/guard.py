"""The guard before everything that is served: it refuses requests, and bounds what the others may ask for."""

import time
from asyncio import Timeout, get_running_loop, timeout, timeout_at
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from katod.serve.access.limits import BODY, HEAD, PATIENCE, Rate
from katod.serve.access.policy import (
    AccessPolicy,
    Refusal,
    gives_header,
    gives_token,
    knows_token,
    refusal,
    refusal_without_token,
)
from katod.serve.http import Disconnected, problem

ABORT: Final = "katod.abort"  # the extension with which a connection is ended at once,
UNSENT: Final = "katod.unsent"  # and the one that says how many bytes wait for its client
# What needs no token: the form for it, and its styles.
LOGIN: Final = "/login"
OPEN: Final = frozenset({
    LOGIN, "/static/icon.svg", "/static/page.css", "/static/page.js", "/static/transcript.css",
})  # fmt: skip
# What `serve.bridge_open` opens to programs without a token: each of these, and what is below it.
BRIDGE: Final = ("/ws/", "/health/", "/metrics/", "/projects/", "/sessions/", "/search/")
_TWO_LENGTHS: Final = Refusal(400, "TWO_LENGTHS", "the request has two lengths")
_TOO_LARGE: Final = Refusal(413, "TOO_LARGE", "the request is too large")
_TOO_LONG: Final = Refusal(431, "TOO_LARGE", "the headers are too large")
_TOO_FAST: Final = Refusal(429, "RATE_LIMITED", "too many requests")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_UNKNOWN: Final = 401
_HEADERS: Final = {_UNKNOWN: {"WWW-Authenticate": "Bearer"}, 400: {"Connection": "close"}}
_SECURITY: Final = [(name.encode(), value.encode()) for name, value in SECURITY.items()]


Door = Callable[[Scope, Refusal], ASGIApp | None]


class Guard:
    """The outermost application. Decides by raw headers and the raw path, never by an address made of them."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy, door: Door, guesses: Rate) -> None:
        """`door` returns the page to send instead of a refusal, None to send the refusal itself.

        `guesses` is how many wrong tokens may be tried, here or in the form.
        """
        self._app = app
        self._door = door
        self._policy = policy
        # What comes without the token has rates that nothing else uses up, and uses up nothing else.
        self._known = Rate(each=100, burst=400)
        self._open = Rate(each=100, burst=400)
        self._refused = Rate(each=20, burst=200)
        self._guesses = guesses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let it go on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        path = scope["raw_path"].decode("latin-1")
        scope = {**scope, "path": path, "root_path": ""}  # a path in a parameter stays one part of it
        send = _hardened(_patient(scope, send))
        answer = self._answer(scope, path)
        with suppress(Disconnected):
            await answer(scope, _bounded(scope, receive), send)

    def _answer(self, scope: Scope, path: str) -> ASGIApp:
        """Return what answers a request. The form for the token, and what leads to it, have no rate: all may see it."""
        refused = self._refusal(scope, path)
        if refused is None:
            return _problem(_TOO_FAST) if self._is_too_fast(scope, path) else self._app
        page = self._door(scope, refused)
        if page is not None and not gives_header(scope["headers"]):
            return page
        rate = self._guesses if refused.status == _UNKNOWN and gives_token(scope["headers"]) else self._refused
        return _problem(_TOO_FAST) if rate.wait(time.monotonic()) else page or _problem(refused)

    def _refusal(self, scope: Scope, path: str) -> Refusal | None:
        """Return why a request is refused, None if it is not, unless there are too many."""
        is_socket, headers = scope["type"] == "websocket", scope["headers"]
        is_bridge = f"{path}/".startswith(BRIDGE)  # nothing there changes anything, whatever the method
        refused = _two_lengths(headers) or refusal(
            self._policy, scope.get("method", "GET"), headers, is_socket=is_socket, may_change=not is_bridge
        )
        if refused is None and path not in OPEN:
            refused = refusal_without_token(self._policy, headers, is_bridge=is_bridge)
        return refused or _too_much(scope)

    def _is_too_fast(self, scope: Scope, path: str) -> bool:
        """Return whether there are too many requests of those who are let in: with the token, or without it."""
        is_known = knows_token(self._policy, scope["headers"])
        if not is_known and path in OPEN:
            return False
        return (self._known if is_known else self._open).wait(time.monotonic()) > 0


def _problem(refused: Refusal) -> ASGIApp:
    return problem(refused.status, refused.code, refused.message, _HEADERS.get(refused.status))


def _two_lengths(headers: list[tuple[bytes, bytes]]) -> Refusal | None:
    """Refuse a request that says its length in both ways: a server in front may have believed the other one."""
    return _TWO_LENGTHS if {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers} else None


def _too_much(scope: Scope) -> Refusal | None:
    line = len(scope["raw_path"]) + len(scope["query_string"])
    if line + sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD:
        return _TOO_LONG
    return _TOO_LARGE if _length(scope["headers"]) > BODY else None


def _length(headers: list[tuple[bytes, bytes]]) -> int:
    """Return the length that a request gives of its body."""
    given = next((value for name, value in headers if name == b"content-length"), b"0")
    return int(given) if given.isdigit() and len(given) < 20 else BODY + 1


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """Wrap `receive`: a body that is too large, or takes too long, ends the connection."""
    got, is_whole, until = 0, scope["type"] != "http", 0.0

    async def bounded() -> Message:
        nonlocal got, is_whole, until
        until = until or get_running_loop().time() + PATIENCE
        try:
            async with timeout_at(None if is_whole else until):
                message = await receive()
        except TimeoutError:
            _abort(scope)
            raise Disconnected from None
        if message["type"] == "http.request":
            got += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
        if got > BODY:
            _abort(scope)
            raise Disconnected
        return message

    return bounded


def _patient(scope: Scope, send: Send) -> Send:
    """Wrap `send`: a client that reads nothing for some time is disconnected; one that reads slowly is not."""
    unsent: Callable[[], int] = scope.get("extensions", {}).get(UNSENT, lambda: 0)

    async def patient(message: Message) -> None:
        try:
            async with timeout(None) as end:
                with _UnsentWatch(end, unsent):
                    await send(message)
        except TimeoutError:
            _abort(scope)
            raise Disconnected from None

    return patient


class _UnsentWatch:
    """Within the block, looks now and then whether fewer bytes are unsent; lets the time be over when they are not."""

    def __init__(self, end: Timeout, unsent: Callable[[], int]) -> None:
        self._end, self._unsent = end, unsent
        self._left = unsent()
        self._next = get_running_loop().call_later(PATIENCE, self._look)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._next.cancel()

    def _look(self) -> None:
        before, self._left, loop = self._left, self._unsent(), get_running_loop()
        if self._left < before:
            self._next = loop.call_later(PATIENCE, self._look)
        else:
            self._end.reschedule(loop.time())


def _hardened(send: Send) -> Send:
    """Wrap `send`: each answer has the security headers."""

    async def hardened(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            own = {name for name, _ in message.get("headers", ())}
            added = [row for row in _SECURITY if row[0] not in own]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return hardened


def _abort(scope: Scope) -> None:
    abort = scope.get("extensions", {}).get(ABORT)
    if abort is not None:
        abort()
