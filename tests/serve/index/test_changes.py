"""How the server hears of changed files: by hints at once, and now and then without one."""

import asyncio

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import find_roots
from katod.log import EventLog
from katod.serve.index import changes
from katod.serve.index.changes import FileChanges
from tests.support.records import user


def heard(watch, work):
    """Return what some work with a queue of all that is told returns."""

    async def within():
        told, found = asyncio.Queue(), FileChanges(find_roots(Settings(), AGENTS), EventLog(), watch=watch)
        found.start(asyncio.get_running_loop(), told.put_nowait)
        try:
            async with asyncio.timeout(20):
                return await work(told, found)
        finally:
            found.close()

    return asyncio.run(within())


def test_a_changed_file_is_told_of_at_once(world):
    """By its path; beside that, it is told now and then to look at everything."""
    maker = world.claude().say(user("one"))

    async def work(told, _):
        assert await told.get() == set()
        while True:
            maker.say(user("more"))
            while not told.empty():
                if str(maker.path) in told.get_nowait():
                    return True
            await asyncio.sleep(0.02)

    assert heard(True, work)


def test_it_is_told_to_look_once_in_a_while(world, monkeypatch):
    """Without hints, again and again, and no more often; the thread sleeps meanwhile."""
    monkeypatch.setattr(changes, "LOOK_EVERY", 0.2)
    waits, loop_times = [], []

    async def work(told, found):
        real = found._hints.wait
        found._hints.wait = lambda seconds: (waits.append(seconds), real(seconds))[1]
        for _ in range(3):
            assert await told.get() == set()
            loop_times.append(asyncio.get_running_loop().time())
        return loop_times

    first, _, last = heard(False, work)
    assert last - first > 0.3
    assert 1 <= len(waits) < 10
    assert max(waits) > 0.1


def test_it_is_told_to_look_at_once_where_hints_were_lost(world, monkeypatch):
    """Long before it is time to."""

    async def work(told, found):
        assert await told.get() == set()
        monkeypatch.setattr(changes, "LOOK_EVERY", 3600.0)
        found._hints.lost()
        return await told.get()

    assert heard(True, work) == set()
