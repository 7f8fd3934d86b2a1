"""Requests of a homeserver, and what becomes of its answers."""

from pathlib import Path

import pytest

from katod.delivery import bounds
from katod.delivery import http as http_
from katod.delivery.http import HttpAnswer, HttpServer, require_httpx
from katod.destinations import MatrixSettings
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.matrix.client import Client, Response, read_token
from tests.matrix.homeserver import ROOM, TOKEN, Homeserver


@pytest.fixture
def client(server: Homeserver, tmp_path: Path) -> Client:
    """Return a client of the homeserver."""
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(f"{TOKEN}\n")
    found = Client(MatrixSettings(server.url, str(token), ROOM))
    yield found
    found.close()


def failing(server, fault):
    """Let all requests fail in one way."""
    server.fault = lambda *_: fault


def test_an_event_is_sent_once_per_transaction(client, server):
    """The same transaction returns the same event; a state event has no transaction."""
    first = client.send("t/1", "x.prompt", {"text": "a"})
    assert client.send("t/1", "x.prompt", {"text": "a"}) == first
    assert client.send("t/2", "x.prompt", {"text": "a"}) != first
    state = client.send("t/3", "x.state", {"status": "idle"}, "")
    assert [event["event_id"] for event in server.events] == [first, "$1:localhost", state]
    assert server.events[2]["state_key"] == ""
    assert client.user() == "@katod:localhost"
    client.check_room()


@pytest.mark.parametrize("fault", ["cut", "half", "nonsense", "broken", "proxy"])
def test_what_is_no_answer_is_asked_again(client, server, fault):
    """It says nothing of what the server did, and the error nothing of what the server said."""
    failing(server, fault)
    for ask in (client.user, client.check_room, lambda: client.send("t", "x", {}), lambda: client.upload(b"", "a/b")):
        with pytest.raises(DeliveryError) as caught:
            ask()
        assert type(caught.value) is DeliveryError
        assert caught.value.wait is None
        assert "words" not in str(caught.value)


def test_a_limit_says_how_long_to_wait(client, server):
    """In the answer, or in its header; never longer than an hour."""
    failing(server, "limit")
    server.retry_after_ms = 2500
    with pytest.raises(DeliveryError) as caught:
        client.send("t", "x", {})
    assert caught.value.wait == 2.5
    assert Response(HttpAnswer(429, b"", "7"), {}).wait == 7
    assert Response(HttpAnswer(429, b"", "\N{SUPERSCRIPT TWO}"), {}).wait is None  # a digit for Python alone
    assert Response(HttpAnswer(429, b""), {"retry_after_ms": 1e15}).wait == 3600
    assert Response(HttpAnswer(429, b"", "soon"), {"retry_after_ms": "soon"}).wait is None


def test_a_date_says_how_long_to_wait(monkeypatch):
    """Until then, not at all if it has passed; never longer than an hour."""
    monkeypatch.setattr(http_.time, "time", lambda: 1_792_567_680.0)  # 07:28:00
    for date, wait in (("07:28:30", 30), ("07:27:00", 0), ("23:59:59", 3600)):
        assert HttpAnswer(503, b"", f"Wed, 21 Oct 2026 {date} GMT").wait == wait


@pytest.mark.parametrize("proxy", ["socks9://127.0.0.1:1", "garbage://x"])
def test_a_proxy_that_cannot_be_used_is_named(monkeypatch, proxy):
    """By its variable, as its address may have a password in it."""
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(DeliveryStopped, match=r"\(ALL_PROXY\) cannot be used") as caught:
        HttpServer(require_httpx("matrix"), "the homeserver", "https://matrix.example.org", {})
    assert proxy not in str(caught.value)


@pytest.mark.whole
@pytest.mark.parametrize("fault", ["refuse", "forbid", "large"])
def test_what_is_refused_for_good(client, server, fault):
    """An event that the homeserver itself refuses; in a room that it knows nothing of, everything."""
    failing(server, fault)
    with pytest.raises(DeliveryRefused, match="the homeserver answers 4"):
        client.send("t", "x", {})
    with pytest.raises(DeliveryRefused):
        client.upload(b"", "a/b")
    with pytest.raises(DeliveryStopped):
        client.check_room()


def test_a_token_that_is_not_accepted_stops_all(client, server):
    """Nothing is asked again until somebody puts another one there."""
    failing(server, "revoke")
    for ask in (client.user, client.check_room, lambda: client.send("t", "x", {}), lambda: client.upload(b"", "a/b")):
        with pytest.raises(DeliveryStopped, match=r"is not accepted: .* 401 M_UNKNOWN_TOKEN"):
            ask()


def test_a_proxy_refuses_nothing_for_good():
    """An answer without an error code is not the homeserver's, except where a request is too large."""
    assert not Response(HttpAnswer(403, b""), {}).is_final
    assert not Response(HttpAnswer(404, b""), {"errcode": 7}).is_final
    assert Response(HttpAnswer(413, b""), {}).is_final
    assert Response(HttpAnswer(403, b""), {"errcode": "M_FORBIDDEN"}).is_final
    assert Response(HttpAnswer(403, b""), {"errcode": "my words \x1b[31m"}).problem == "the homeserver answers 403"


def test_a_redirect_is_not_followed(client, server, monkeypatch):
    """The token is not sent anywhere else."""
    monkeypatch.setattr("tests.matrix.homeserver._ERRORS", {"moved": (307, "")})
    failing(server, "moved")
    with pytest.raises(DeliveryError, match="307"):
        client.send("t", "x", {})
    assert len(server.requests) == 1


def test_an_answer_without_an_end_is_given_up(client, server, monkeypatch):
    """By its size, or by the time that it takes."""
    monkeypatch.setattr(http_, "_LARGEST", 10)
    with pytest.raises(DeliveryError, match="too large"):
        client.user()
    monkeypatch.setattr(http_, "_LARGEST", 10_000)
    monkeypatch.setattr(bounds, "_LONGEST", -1)
    with pytest.raises(DeliveryError, match="does not end"):
        client.user()


def test_a_type_of_content_cannot_add_headers(client, server):
    """Only plain ones are passed on; a request without content has none."""
    assert client.upload(b"x", "image/png\r\nX: y").startswith("mxc://")
    client.upload(b"y", "image/png")
    client.send("t", "x", {})
    client.user()
    assert server.uploads == {"mxc://localhost/0": b"x", "mxc://localhost/1": b"y"}
    assert server.kinds == ["application/octet-stream", "image/png", "application/json", ""]


def test_a_token_is_one_word_in_a_private_file(tmp_path):
    """In every other case, the problem says what to do and nothing of the content."""
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(" secret \n")
    assert read_token(file) == "secret"
    for content in ("", "two words", "line\nline", "h\N{LATIN SMALL LETTER E WITH ACUTE}"):
        file.write_text(content)
        with pytest.raises(DeliveryStopped, match="no access token") as caught:
            read_token(file)
        assert not content or content not in str(caught.value)
    file.chmod(0o604)
    with pytest.raises(DeliveryStopped, match="others have access"):
        read_token(file)
    with pytest.raises(DeliveryStopped, match="No such file"):
        read_token(tmp_path / "missing")


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "br"])
def test_a_compressed_answer_is_not_unpacked(client, server, coding):
    """A few bytes may be gigabytes; katod asks for none, and `identity` is none."""
    server.coding = coding
    with pytest.raises(DeliveryError, match="compressed"):
        client.user()
    server.coding = "identity"
    assert client.user() == "@katod:localhost"


@pytest.mark.parametrize("name", ["", "@", "katod", "@a b", "@a\x1b[31m", "@" + "a" * 255, 7])
def test_a_name_that_the_server_makes_is_one(client, server, name):
    """It is shown to people, and kept: at most 255 bytes, without spaces and terminal escapes."""
    server.get = lambda _: (200, {"user_id": name})
    with pytest.raises(DeliveryError, match="no user_id"):
        client.user()
    server.put = lambda *_: (200, {"event_id": f"${name}\n"})
    with pytest.raises(DeliveryError, match="no event_id"):
        client.send("t", "x", {})
    server.upload = lambda _: (200, {"content_uri": f"mxc://{'a' * 250}"})
    with pytest.raises(DeliveryError, match="no content_uri"):
        client.upload(b"", "a/b")
