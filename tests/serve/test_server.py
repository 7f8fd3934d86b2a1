"""The server as a process: live messages, an exact reconnect after kills, many viewers, slow ones, its end, memory."""

import asyncio
import signal
import time

import pytest

from tests.serve.serving import Served, all_messages, big_session, ids
from tests.support.live import Live, until
from tests.support.records import says, user

pytestmark = pytest.mark.slow
MEMORY = 64  # MB: 60, and what runs differ by, as where fewer pages are shared


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
    world.configure(sessions="recorded")
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
            return await client.heard("the daemon is gone")

    with Live(world) as daemon, Served(world) as server:
        assert server.get("/sessions/recent").json() == {"sessions": []}
        assert len(ids(asyncio.run(look(server, daemon)))) >= 1
