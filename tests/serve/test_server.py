"""The server as a process: live messages, an exact reconnect after kills, many viewers, slow ones, its end, memory."""

import asyncio
import signal
import socket
import time
from contextlib import suppress

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from katod.serve import limits
from tests.serve.serving import Served, all_messages, big_session, ids
from tests.support.live import Live, until
from tests.support.records import says, user

pytestmark = pytest.mark.slow
MEMORY = 62  # MB; where fewer pages are shared, a little more than 60


def session_of(world, number=1):
    maker = world.session(number)
    maker.say(user("begin here"), says("with pleasure"))
    return maker


@pytest.fixture
def everything(world):
    world.configure(sessions="all")
    return world


def test_a_client_sees_a_session_grow(everything):
    """What is appended arrives, each message once and in order, and soon."""
    maker = session_of(everything)

    async def look(server):
        async with server.client() as client:
            connected, history = await client.start(maker.session)
            assert connected["sessionId"] == maker.session
            assert [row.get("content") for row in history["messages"] if row["type"] in ("user", "assistant")] == [
                "begin here", "with pleasure",
            ]  # fmt: skip
            waits = []
            for number in range(30):
                began = time.monotonic()
                maker.say(user(f"more {number}"))
                frame = await client.hear()
                waits.append(time.monotonic() - began)
                assert frame["message"]["content"] == f"more {number}"
                if number == 0:
                    await client.hear()
            return sorted(waits)[15]

    with Served(everything) as server:
        assert asyncio.run(look(server)) < 0.15


def test_what_was_missed_is_read_from_the_files(everything):
    """A client that comes back to a long session after a long time gets thousands of messages, in order."""
    maker = big_session(session_of(everything), 3)

    async def live(server, since):
        async with server.client() as client:
            return ids(await client.missed(maker.session, since))

    with Served(everything) as server:
        wanted = [row["id"] for row in all_messages(server, maker.session)]
        assert asyncio.run(live(server, wanted[9])) == wanted[10:]
        assert len(wanted) > 2000


def test_fifty_viewers_see_the_same(everything):
    """Each has all messages, though the session is read once; one of them leaves, others go on."""
    maker = session_of(everything)

    async def look(server, begun, number):
        async with server.client() as client:
            await client.start(maker.session)
            begun.append(number)
            frames = []
            while not frames or frames[-1].get("message", {}).get("content") != "last":
                frames.append(await client.hear())
            return ids(frames)

    async def all_of_them(server):
        begun = []
        tasks = [asyncio.create_task(look(server, begun, number)) for number in range(50)]
        await asyncio.to_thread(until, lambda: len(begun) == 50, "50 viewers")
        for number in range(200):
            maker.say(user(f"more {number}"))
        maker.say(user("last"))
        return await asyncio.gather(*tasks)

    with Served(everything, fresh=True) as server:
        found = asyncio.run(all_of_them(server))
        assert len(found) == 50
        assert all(one == found[0] for one in found)
        assert len(found[0]) >= 201
        assert server.memory() < MEMORY


def test_the_server_ends_soon(everything):
    """Within two seconds of SIGTERM or Ctrl-C, with code 0, whoever looks."""
    maker = session_of(everything)

    async def look(server, number):
        async with server.client() as client:
            await client.start(maker.session)
            await client.say(type="subscribe_sessions")
            return await asyncio.to_thread(server.stop, number)

    for number in (signal.SIGTERM, signal.SIGINT):
        with Served(everything) as server:
            code, seconds = asyncio.run(look(server, number))
        assert code == 0
        assert seconds < 2


def test_memory_stays_small_however_much_was_recorded(everything):
    """With 250 MB in sessions, lists, pages, searches and live views need no more than 60 MB."""
    makers = [big_session(session_of(everything, number), 10) for number in range(1, 26)]

    async def look(server, session):
        async with server.client() as client:
            await client.start(session)
            return len(client.frames)

    with Served(everything, fresh=True) as server:
        first = server.memory()
        assert len(server.get("/sessions/recent", limit=50).json()["sessions"]) == 25
        figures = {"start": first, "list": server.memory()}
        for maker in makers[:6]:
            assert asyncio.run(look(server, maker.session)) == 2
        figures["views"] = server.memory()
        path = f"/projects/%2Fhome%2Fme%2Fapp/sessions/{makers[0].session}/messages"
        assert server.get(path, offset=3000).json()["pagination"]["total"] > 4000
        figures["page"] = server.memory()
        assert server.get("/search", q="with pleasure").json()["total"] == 25
        figures["search"] = server.memory()
        assert server.memory() < MEMORY, figures


def test_a_recording_that_begins_is_told_at_once(world):
    """By the daemon's ledger: the session is served from then on, also when the daemon is killed."""
    maker = session_of(world)

    async def look(server, daemon):
        async with server.client() as client:
            await client.say(type="subscribe_sessions")
            await client.say(type="ping")
            await client.until("pong")
            maker.say(user("::start\nrecord this"))
            event = (await client.until("session_event"))[-1]
            assert (event["action"], event["sessionId"]) == ("created", maker.session)
            await client.start(maker.session)
            await asyncio.to_thread(daemon.kill)
            maker.say(user("the daemon is gone"))
            return await heard(client, "the daemon is gone")

    with Live(world) as daemon, Served(world) as server:
        assert server.get("/sessions/recent").json() == {"sessions": []}
        assert len(ids(asyncio.run(look(server, daemon)))) >= 1


# -- attacks ----------------------------------------------------------------------------------------


def test_a_client_that_does_not_read_is_dropped(everything, monkeypatch):
    """Others go on, and what it was sent does not pile up; it may come back for what it missed."""
    monkeypatch.setattr("katod.serve.guard.PATIENCE", 1.0)  # the server is a fork of this process
    maker = session_of(everything)

    async def look(server):
        async with server.client() as slow, server.client() as client:
            for one in (slow, client):
                await one.start(maker.session)
            slow.socket.transport.pause_reading()
            large = "x" * 200_000
            for number in range(60):
                maker.say(user(f"{number} {large}"))
            maker.say(user("last"))
            frames = await heard(client, "last")
            await asyncio.sleep(2)
            slow.socket.transport.resume_reading()
            with pytest.raises(ConnectionClosed):
                await heard(slow, "last")
            since = next(row["id"] for row in reversed(slow.frames) if row["type"] == "stream")
        async with server.client() as again:
            missed = await again.missed(maker.session, since)
        assert ids(slow.frames) + ids(missed) == ids(frames)

    with Served(everything) as server:
        asyncio.run(look(server))


async def heard(client, content):
    frames = []
    while not frames or frames[-1].get("message", {}).get("content") != content:
        frames.append(await client.hear())
    return frames


def test_what_is_too_large_ends_a_connection(everything):
    """A message on a socket, a body, and the headers of a request."""
    session_of(everything)

    async def shout(server):
        async with server.client() as client:
            await client.socket.send("x" * 1_000_000)
            with pytest.raises(ConnectionClosed) as closed:
                await client.hear()
            return closed.value.rcvd.code

    with Served(everything) as server:
        assert asyncio.run(shout(server)) == 1009
        origin = {"Origin": server.base}
        assert httpx.post(f"{server.base}/login", content=b"x" * 1_000_000, headers=origin).status_code == 413
        with pytest.raises(httpx.TransportError):
            httpx.post(
                f"{server.base}/login", content=(b"x" * 10_000 for _ in range(100)), headers=origin
            ).raise_for_status()
        assert httpx.get(f"{server.base}/login", headers={"X": "x" * 100_000}).status_code == 431
        assert server.get("/health").status_code == 200


def test_who_is_refused_is_told_so_in_the_handshake(everything):
    """By the status of its answer: no token, another page, another name."""

    async def status(server, **headers):
        with pytest.raises(InvalidStatus) as refused:
            async with server.client(**headers):
                pass
        return refused.value.response.status_code

    with Served(everything) as server:
        assert asyncio.run(status(server, Authorization="Bearer wrong")) == 401
        assert asyncio.run(status(server, Origin="http://evil.example")) == 403
        assert httpx.get(f"{server.base}/login", headers={"Host": "evil.example"}).status_code == 421


def test_a_body_that_never_ends_is_not_waited_for(everything, monkeypatch):
    """Nor are headers; the connection is ended."""
    monkeypatch.setattr("katod.serve.guard.PATIENCE", 0.5)  # the server is a fork of this process
    monkeypatch.setattr("katod.serve.limits.FIRST", 0.5)
    with Served(everything) as server:
        head = f"POST /login HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.base}\r\n"
        for begin in (f"{head}Content-Length: 100\r\n\r\ntoken=", head, ""):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one:
                one.sendall(begin.encode())
                with suppress(ConnectionResetError):
                    assert one.recv(1) == b""


def test_too_many_connections_are_refused(everything):
    """Those that say nothing are ended, and then others are let in."""
    with Served(everything) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        refused = 0
        for one in idle:
            one.settimeout(0.05)
            try:
                refused += one.recv(1) == b""
            except ConnectionResetError:
                refused += 1
            except TimeoutError:
                continue
        assert refused >= 200 - limits.CONNECTIONS
        until(lambda: _is_let_in(server), "a connection", seconds=limits.FIRST + 5)
        for one in idle:
            one.close()


def _is_let_in(server):
    try:
        return server.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def test_nothing_is_written_and_nothing_told_of_the_token(everything):
    """Neither to the ledger nor to outputs; the token is on one line that the person sees, and in one private file."""
    maker = session_of(everything)
    everything.once()

    def state():
        files = [path for path in everything.state.iterdir() if path.is_file() and path.suffix == ".db"]
        return {path.name: path.read_bytes() for path in [*files, *everything.files()]}

    before = state()
    with Served(everything) as server:
        for path in ("/sessions/recent", "/search?q=pleasure", f"/?token={server.token}", "/nothing"):
            server.get(path)
        httpx.get(f"{server.base}/projects", headers={"Authorization": "Bearer wrong"})
        token = everything.state / "serve-token"
        assert token.read_text() == f"{server.token}\n"
        assert token.stat().st_mode & 0o777 == 0o600
        assert len(server.token) >= 43
        assert server.stop()[0] == 0
        assert server.out.read_text().count(server.token) == 1
        assert server.out.read_text().count("\n") == 1
    assert state() == before
    assert maker.path.exists()
