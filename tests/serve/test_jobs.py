"""What one job of a thread takes, and what is done for clients that have left: work is counted, not timed."""

import asyncio
import re
import sys
from contextlib import contextmanager

import pytest

from katod.record import export, native
from katod.search import lines
from katod.search import sessions as searched
from katod.serve import worker
from katod.serve.feed import reader, tail
from katod.serve.page import reader as page
from katod.serve.page import sessionlist
from katod.serve.worker import WorkerThread
from tests.examples import mostly
from tests.serve.test_app import ONE as REST
from tests.serve.test_app import run
from tests.support.records import SESSION, calls, result, says, user

ONE = f"/s/{SESSION}"
SEARCHES = ("/search?q=words", "/find?q=words", f"/find?q=words&in={SESSION}")
# What reads a whole session. Not here: /usage, which reads a hundred megabytes a second, and a session at once.
READ = (
    *SEARCHES, "/find?q=words&days=30", "/find?q=nowhere", ONE, f"{ONE}/files", f"{ONE}/markdown", f"{ONE}/markdown?only=x",
    f"{ONE}/record?only=x", f"{ONE}/download/html", REST, f"{REST}/messages", f"{REST}/export", f"{REST}/export?format=json",
)  # fmt: skip
BEGUN = 12  # jobs, after which a client leaves
SORTED = 20  # functions that are called for each session in a list of all
LACKED = 12  # messages; of the others, only the last four are kept
SOON = 12  # jobs that are done until the server knows


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Have each job take one step, and each step little, so that small sessions are long ones."""
    monkeypatch.setattr(worker, "_SLICE", -1.0)
    monkeypatch.setattr(worker, "_AT_ONCE", 1)
    parts = (
        (lines, "_CHUNK"), (searched, "_HEAD"), (export, "_READ_BYTES"), (native, "_READ_BYTES"), (reader, "_READ_BYTES"),
        (reader, "_LAST_BYTES"), (page, "READ_BYTES"),
    )  # fmt: skip
    for module, name in parts:
        monkeypatch.setattr(module, name, 2048)


def talk(world, turns):
    """Write a session of so many turns again."""
    maker = world.claude()
    maker.path.unlink(missing_ok=True)
    for turn in range(turns):
        maker.say(user(f"some words {turn}"), says("more words " * 10))
        maker.say(calls(f"c{turn}", "ls words"), result(f"c{turn}", "words " * 20))


@contextmanager
def watched(monkeypatch, begun=lambda _: None):
    """Yield how many functions each job calls that begins within the block; `begun` is told how many have begun."""
    sizes, real = [], WorkerThread.run

    def run(self, job):
        def counted():
            number = len(sizes)
            sizes.append(0)
            begun(len(sizes))

            def note(_frame, event, _):
                sizes[number] += event in ("call", "c_call")

            sys.setprofile(note)
            try:
                return job()
            finally:
                sys.setprofile(None)

        return real(self, counted)

    with monkeypatch.context() as patch:
        patch.setattr(WorkerThread, "run", run)
        yield sizes


@pytest.mark.parametrize("path", mostly(SEARCHES[1:2], READ))
def test_no_job_takes_longer_in_a_longer_session(world, monkeypatch, path):
    """Else everything that is asked for meanwhile would wait for it."""
    longest = []
    for turns in (60, 180):
        talk(world, turns)

        async def work(app):
            await app.ask(ONE)
            with watched(monkeypatch) as sizes:
                assert (await app.ask(path)).status in (200, 404)
            return max(sizes)

        longest.append(run(world, work))
    assert longest[1] < 1.5 * longest[0]


async def _page_returns(app):
    """Have a page come back that lacks the last messages."""
    *_, last = re.findall(r'<section class="e[^"]*" id="([0-9a-f-]{36})"', (await app.ask(ONE)).body.decode())[:-LACKED]
    yield
    async with app.events(f"{ONE}/live?after={last}") as event:
        while (await event())[0] != "message":
            pass


async def _client_returns(app):
    """Have a client come back that lacks the last messages."""
    *_, last = (await app.ask(f"{REST}/messages?order=desc&limit={LACKED}")).json["messages"]
    async with app.socket() as client:
        yield
        assert await client.missed(SESSION, last["id"])


@pytest.mark.slow
@pytest.mark.parametrize("returning", [_page_returns, _client_returns])
def test_no_job_takes_longer_for_a_viewer_that_comes_back_to_a_longer_session(world, monkeypatch, returning):
    """What it has is looked up in the files, and read from there, while others have their turn."""
    monkeypatch.setattr(tail, "MOST", 4)
    longest = []
    for turns in (60, 180):
        talk(world, turns)

        async def work(app):
            steps = returning(app)
            await anext(steps)
            with watched(monkeypatch) as sizes:
                await anext(steps, None)
            return max(sizes)

        longest.append(run(world, work))
    assert longest[1] < 1.5 * longest[0]


@pytest.mark.parametrize("path", ["/find?q=words&days=30", "/find?q=nowhere"])
def test_no_job_takes_longer_where_there_are_more_sessions(world, monkeypatch, path):
    """To decide which of them are searched, or are called what is looked for, each may have to be read; sorting them is cheap."""
    monkeypatch.setattr(sessionlist, "MOST", 2)  # of a list, which is one job
    longest = []
    for begin, end in ((1, 17), (17, 65)):
        for number in range(begin, end):
            world.session(number).say(user("words"), says("more"), calls("c1", "ls"), result("c1", "x"), says("done"))

        async def work(app):
            await app.ask("/?days=30")
            with watched(monkeypatch) as sizes:
                await app.ask(path)
            return max(sizes)

        longest.append(run(world, work))
    assert longest[1] - longest[0] < SORTED * 48


@pytest.mark.parametrize("path", mostly(SEARCHES, READ))
def test_nothing_is_done_for_a_client_that_has_left(world, monkeypatch, path):
    """Its request ends soon, so that others have their turn, and the processor its rest."""
    talk(world, 60)

    async def work(app):
        await app.ask("/")
        left = asyncio.Event()
        loop = asyncio.get_running_loop()
        begun = lambda number: number == BEGUN and loop.call_soon_threadsafe(left.set)  # noqa: E731
        with watched(monkeypatch, begun) as sizes:
            await asyncio.wait_for(app.leave(path, left), 60)
            for thread in (app.hub.reading, app.hub.searching):
                await thread.run(lambda: None)
            await app.ask("/health")
            return len(sizes)

    assert run(world, work) <= BEGUN + SOON


@pytest.mark.parametrize("name", ["reading", "searching"])
def test_what_waits_for_a_client_that_has_left_is_not_begun(world, name):
    """However many of them there are, the next one is not kept waiting by them."""

    async def work(app):
        thread, gate, done = getattr(app.hub, name), asyncio.Event(), []
        loop = asyncio.get_running_loop()
        first = asyncio.create_task(thread.run(lambda: asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(10)))
        waiting = [asyncio.create_task(thread.run(lambda: done.append("waited"))) for _ in range(10)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        gate.set()
        await first
        await thread.run(lambda: done.append("next"))
        return done

    assert run(world, work) == ["next"]
