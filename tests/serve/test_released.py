"""What a viewer looked at is released when the viewer has left: not when Python next looks for cycles."""

import asyncio
import gc
from contextlib import contextmanager

import pytest

from katod.record.follow import Follower
from tests.looping import each
from tests.serve.serving import serving
from tests.support.records import says, user

SESSIONS = 4


async def starts(app, maker):
    """Look at a session as a client of CodingBridge, and at the list."""
    async with app.socket() as client:
        await client.say(type="subscribe_sessions")
        await client.start(maker.session)
        await client.start(maker.session)  # once more, instead


async def reconnects(app, maker):
    """Come back to a session, as a client of CodingBridge."""
    async with app.socket() as client:
        await client.missed(maker.session, "")


async def loses_its_place(app, maker):
    """Come back after a message that is not there."""
    async with app.socket() as client:
        await client.say(type="reconnect", agentId=f"katod-{maker.session}", lastMessageId="gone")
        await client.until("cursor_invalid")


async def opens_a_page(app, maker):
    """Look at the page of a session."""
    path = f"/s/{maker.session}"
    assert (await app.ask(path)).status == 200
    async with app.events(f"{path}/live") as event:
        await event()


@pytest.mark.slow
@each("look", [starts, reconnects, loses_its_place, opens_a_page])
def test_a_viewer_that_left_keeps_nothing(world, look):
    """However many sessions were looked at, only the last one stays open for a while."""
    world.configure(sessions="all")
    makers = [world.session(number) for number in range(1, SESSIONS + 1)]
    for maker in makers:
        maker.say(user("begin here"), says("with pleasure"))

    async def main():
        async with serving(world) as app:
            with nothing_collected():
                before = followers()
                for maker in makers:
                    await look(app, maker)
                await asyncio.sleep(0)
                return followers() - before

    assert asyncio.run(main()) <= 1


def followers():
    """Return how many there are: each is where a reader of one session is."""
    return sum(type(one) is Follower for one in gc.get_objects())


@contextmanager
def nothing_collected():
    """Have nothing freed but by counting references."""
    gc.collect()  # what others left
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
