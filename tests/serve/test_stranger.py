"""A client that was written from the protocol's description alone: it gets each message once, whatever is killed."""

import asyncio
import random
from contextlib import aclosing, suppress

import pytest

from tests.oracle.corpus import corpus_folder
from tests.serve.serving import PROJECT, Served, all_messages
from tests.serve.stranger.client import Client, Habits
from tests.serve.stranger.link import Timing
from tests.serve.stranger.schema import Schema
from tests.support.live import PATIENCE, Live
from tests.support.records import calls, result, says, user

pytestmark = pytest.mark.slow
RECONNECTS = 250  # with each habit
SERVER_KILLS, DAEMON_KILLS = 25, 40  # reconnects between two of them
TIMING = Timing(backoff_first=0.01, backoff_cap=0.05)
HABITS = [
    Habits(),
    Habits(upper_case=True, tool_cursor=True),
    Habits(upper_case=True, resume="start"),
    Habits(tool_cursor=True, resume="alternate"),
]


@pytest.fixture
def schema():
    """The description, where it is; the order and number of messages are checked without it, too."""
    path = corpus_folder() / "../targets/schemas/codingbridge-openapi.json"
    return Schema(path) if path.exists() else None


class Play:
    """A session that goes on, a daemon that records it and a server that are killed, and a client of the server."""

    def __init__(self, maker, daemon, server, client):
        self.maker, self.daemon, self.server, self.client = maker, daemon, server, client
        self.chance = random.Random(7)
        self.said = 0
        self.items = []

    async def hold(self):
        """Go on until the client has come back often enough, and has heard the last word."""
        listening = asyncio.create_task(self._listen())
        await self._soon(lambda: self.items)
        for number in range(1, RECONNECTS + 1):
            self._say()
            await asyncio.sleep(self.chance.random() * 0.03)
            before = self.client.reconnects
            if number % SERVER_KILLS == 0:
                await asyncio.to_thread(self.server.kill)
                self._say()
                await asyncio.to_thread(self.server.start)
            elif number % DAEMON_KILLS == 0:
                await asyncio.to_thread(self.daemon.kill)
                self._say()
                await asyncio.to_thread(self.daemon.start)
            await self.client.disconnect()
            await self._soon(lambda: self.client.reconnects > before)  # noqa: B023 - waited for at once
        self.maker.say(user("the last word"))
        await asyncio.wait_for(listening, PATIENCE)

    async def _soon(self, probe):
        """Wait for a condition of the client."""
        async with asyncio.timeout(PATIENCE):
            while not probe():  # noqa: ASYNC110 - a client does not tell
                await asyncio.sleep(0.001)

    async def _listen(self):
        async with aclosing(self.client.stream()) as items:
            async for item in items:
                self.items.append(item)
                if item.message.get("content") == "the last word":
                    return

    def _say(self):
        for _ in range(self.chance.randrange(4)):
            self.said += 1
            kind = self.chance.random()
            if kind < 0.3:
                self.maker.say(calls(f"call_{self.said}", "ls"))
                self.maker.say(result(f"call_{self.said}", "a b"))
            else:
                self.maker.say((user if kind < 0.6 else says)(f"words {self.said}"))


@pytest.mark.parametrize("habits", HABITS, ids=["plain", "app", "anew", "both"])
def test_a_stranger_gets_each_message_once(world, schema, habits):
    """Through hundreds of reconnects and kills of server and daemon; nothing that is sent contradicts the description."""
    maker = world.session(1)
    maker.say(user("hello"), user("::start\nbegin here"), says("with pleasure"))

    async def play(daemon, server):
        client = Client(server.base, server.token, PROJECT, maker.session, habits=habits, timing=TIMING, schema=schema)
        async with client:
            one = Play(maker, daemon, server, client)
            await one.hold()
            await looked_around(client)
            return one

    with Live(world) as daemon:
        daemon.until_written("with pleasure")
        with Served(world) as server:
            one = asyncio.run(play(daemon, server))
            wanted = [(row["id"], row["message"]) for row in all_messages(server, maker.session)]
    assert [(item.id, item.message) for item in one.items] == wanted
    client = one.client
    assert client.violations == []
    assert client.anomalies == []
    assert {error["code"] for error in client.errors} <= {"SESSION_NOT_FOUND", "TIMEOUT"}
    assert client.reconnects >= RECONNECTS
    assert client.replayed or client.paged


async def looked_around(client):
    """Ask for everything else that can be asked; what is wrong with the answers is kept by the client."""
    await client.health()
    await client.projects()
    await client.sessions()
    await client.search("pleasure")
    await client.export("markdown")
    with suppress(asyncio.CancelledError):
        await client.export("json")
