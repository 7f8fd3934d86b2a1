"""The guard: how much a request may say."""

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import pytest

from katod.serve.access import guard
from katod.serve.access.guard import _SECURITY, ABORT, UNSENT, Guard, _bounded, _hardened, _patient
from katod.serve.access.limits import BODY, Rate
from katod.serve.http import Disconnected
from tests.looping import each
from tests.serve.serving import POLICY, TOKEN

SCOPE: dict[str, Any] = {"type": "http", "extensions": {}}


@each(("sizes", "is_taken"), [((BODY,), True), ((BODY + 1,), False), ((BODY - 1, 1), True), ((BODY, 1), False)])
def test_all_parts_of_a_body_count(sizes: tuple[int, ...], is_taken: bool) -> None:
    """A request whose body is too large is disconnected, in how many parts ever it comes."""
    parts = iter([{"type": "http.request", "body": b"x" * size, "more_body": True} for size in sizes])

    async def receive() -> Any:
        return next(parts)

    async def read() -> None:
        bounded = _bounded(SCOPE, receive)
        for _ in sizes:
            await bounded()

    if is_taken:
        asyncio.run(read())
    else:
        with pytest.raises(Disconnected):
            asyncio.run(read())


def test_a_request_that_takes_too_long_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever of its body has come; after the body, an answer may take as long as it needs."""
    monkeypatch.setattr(guard, "PATIENCE", 0.0)
    parts: list[Any] = [{"type": "http.request", "body": b"x", "more_body": True}]

    async def receive() -> Any:
        await asyncio.sleep(0)
        return parts.pop() if parts else await asyncio.Event().wait()

    with pytest.raises(Disconnected):
        asyncio.run(_bounded(SCOPE, receive)())  # type: ignore[arg-type]


def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the answer that it is sent, for as long as it likes."""
    told: list[str] = []
    scope: dict[str, Any] = {"type": "http", "extensions": {ABORT: lambda: told.append("cut off")}}

    async def send(message: Any) -> None:
        told.append(message["type"])
        if message["type"] == "second":
            await asyncio.Event().wait()

    async def answer() -> None:
        patient = _patient(scope, send)
        await patient({"type": "first"})
        with pytest.raises(Disconnected):
            await patient({"type": "second"})

    monkeypatch.setattr("katod.serve.access.guard.PATIENCE", 0.0)
    asyncio.run(answer())
    assert told == ["first", "second", "cut off"]


@each(
    ("unsent", "is_cut"),
    [((9, 9), True), ((9, 10), True), ((9, 8, 7, 0), False), ((9, 8, 8), True), ((900, 899, 898, 897, 1), False)],
)
def test_a_client_that_reads_slowly_is_sent_all(unsent: tuple[int, ...], is_cut: bool) -> None:
    """However little it reads: fewer bytes are unsent with each look. One that reads nothing is cut off."""
    looks, cut, last = iter(unsent), list[bool](), asyncio.Event()

    def look() -> int:
        left = next(looks)
        if left == unsent[-1]:
            last.set()
        return left

    async def send(_message: Any) -> None:
        await last.wait()
        await (asyncio.Event().wait() if is_cut else asyncio.sleep(0))

    scope: dict[str, Any] = {"type": "http", "extensions": {ABORT: lambda: cut.append(True), UNSENT: look}}
    with pytest.MonkeyPatch.context() as patch, suppress(Disconnected):
        patch.setattr(guard, "PATIENCE", 0.0)
        asyncio.run(_patient(scope, send)({"type": "http.response.body"}))
    assert bool(cut) is is_cut


def test_after_a_body_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for an answer says nothing, for as long as that takes."""
    monkeypatch.setattr(guard, "PATIENCE", 0.0)
    parts: list[Any] = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"x", "more_body": False}]

    async def receive() -> Any:
        if len(parts) == 1:
            for _ in range(5):
                await asyncio.sleep(0)
        return parts.pop()

    async def read() -> list[str]:
        bounded = _bounded(SCOPE, receive)
        return [(await bounded())["type"] for _ in range(2)]

    assert asyncio.run(read()) == ["http.request", "http.disconnect"]


def test_the_application_begins_and_ends_with_the_server() -> None:
    """Nothing is refused then; in requests, no part of a path is taken for where the application is."""
    seen: list[Any] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope)

    async def none(*_given: Any) -> Any:
        return {"type": "http.disconnect"}

    guarded = Guard(app, POLICY, lambda _scope, _refusal: None, Rate(2, 20))  # type: ignore[arg-type]
    asyncio.run(guarded({"type": "lifespan"}, none, none))  # type: ignore[arg-type]
    headers = [(b"host", b"127.0.0.1:3100"), (b"authorization", f"Bearer {TOKEN}".encode())]
    request = {
        "type": "http", "method": "GET", "raw_path": b"/s/a%2Fb", "path": "/s/a/b", "query_string": b"", "headers": headers,
        "root_path": "/s", "client": ("127.0.0.1", 1), "extensions": {},
    }  # fmt: skip
    asyncio.run(guarded(request, none, none))  # type: ignore[arg-type]
    assert [scope["type"] for scope in seen] == ["lifespan", "http"]
    assert (seen[1]["path"], seen[1]["root_path"]) == ("/s/a%2Fb", "")


def test_whoever_guesses_is_slowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty times at once, and then twice a second; whoever has the token is not, and who sends none is later."""
    now = [0.0]
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def none(*_given: Any) -> Any:
        return {"type": "http.disconnect"}

    guarded = Guard(none, POLICY, lambda _scope, _refusal: None, Rate(2, 20))

    def ask(token: str) -> int:
        sent: list[Any] = []
        headers = [(b"host", b"127.0.0.1:3100"), (b"authorization", f"Bearer {token}".encode())]
        scope = {
            "type": "http", "method": "GET", "raw_path": b"/s", "path": "/s", "query_string": b"", "headers": headers,
            "client": ("127.0.0.1", 1), "extensions": {},
        }  # fmt: skip

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(guarded(scope, none, send))
        return sent[0]["status"] if sent else 200

    assert [ask("wrong") for _ in range(22)] == [401] * 20 + [429] * 2
    assert ask(TOKEN) == 200
    now[0] = 0.5
    assert [ask("wrong") for _ in range(2)] == [401, 429]


@each("kind", ["http.response.start", "websocket.http.response.start"])
def test_an_answer_has_each_security_header_once(kind: str) -> None:
    """What the answer says itself stays; a socket that is refused is answered, too."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    own = (b"referrer-policy", b"origin")
    asyncio.run(_hardened(send)({"type": kind, "status": 200, "headers": [own]}))
    names = [name for name, _ in sent[0]["headers"]]
    assert own in sent[0]["headers"]
    assert {name for name, _ in _SECURITY} <= set(names)
    assert len(names) == len(set(names))


TWICE: Final = [(b"content-length", b"1"), (b"transfer-encoding", b"chunked")]


@each(
    ("headers", "answer"),
    [
        ([(b"host", b"127.0.0.1:3100")], (401, b"www-authenticate", b"Bearer")),
        ([(b"host", b"127.0.0.1:3100"), *TWICE], (400, b"connection", b"close")),
        (TWICE, (400, b"connection", b"close")),
    ],
)
def test_a_refusal_says_what_is_to_be_done(headers: list[Any], answer: tuple[int, bytes, bytes]) -> None:
    """Who has no token learns how to send one; a connection on which nobody knows where a request ends is closed."""
    sent: list[Any] = []
    scope = {
        "type": "http", "method": "GET", "raw_path": b"/s", "path": "/s", "query_string": b"", "headers": headers,
        "client": ("127.0.0.1", 1), "extensions": {},
    }  # fmt: skip

    async def send(message: Any) -> None:
        sent.append(message)

    async def none(*_given: Any) -> Any:
        return {"type": "http.disconnect"}

    asyncio.run(Guard(none, POLICY, lambda _scope, _refusal: None, Rate(2, 20))(scope, none, send))
    status, name, value = answer
    assert (sent[0]["status"], dict(sent[0]["headers"])[name]) == (status, value)


@each(
    ("path", "is_let_in"),
    [
        ("/sessions", True),
        ("/sessions/one", True),
        ("/sessions-by-day", False),
        ("/searches", False),
        ("/s/one", False),
    ],
)
def test_an_open_bridge_is_its_paths_and_what_is_below_them(path: str, is_let_in: bool) -> None:
    """A page whose address only begins like one of them needs the token."""
    sent: list[Any] = []
    scope = {
        "type": "http", "method": "GET", "raw_path": path.encode(), "path": path, "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:3100")], "client": ("127.0.0.1", 1), "extensions": {},
    }  # fmt: skip

    async def send(message: Any) -> None:
        sent.append(message["status"])

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    guarded = Guard(app, POLICY._replace(is_open=True), lambda _scope, _refusal: None, Rate(2, 20))
    with suppress(KeyError):  # the body of a refusal
        asyncio.run(guarded(scope, app, send))
    assert sent == [200 if is_let_in else 401]
