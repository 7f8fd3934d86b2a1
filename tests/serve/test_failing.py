"""What fails: one failure ends no stream for good, takes nothing else with it, and is an answer instead of silence."""

import asyncio
import re
import threading
from contextlib import suppress
from functools import partial

import pytest

from katod.formats.stream.messages import Messages
from katod.serve.access import guard
from katod.serve.feed.reader import MessageReader
from katod.serve.http import ClosedStream, Disconnected, while_there
from katod.serve.index.sessions import SessionIndex
from katod.serve.page import listwatch as watch
from katod.serve.page import reader
from katod.serve.page.reader import PageReader
from katod.serve.page.sessionlist import SessionList
from katod.serve.worker import Busy, WorkerThread
from tests.serve.serving import BEARER
from tests.serve.test_app import run, talked
from tests.serve.test_page import ONE, next_of
from tests.support.records import SESSION, says, user


def failing(monkeypatch, where, name, when, error=ValueError):
    """Have a method fail with words in the error as long as `when` says so."""
    real = getattr(where, name)

    def replaced(self, *arguments):
        if when(*arguments):
            raise error("words of somebody")
        return real(self, *arguments)

    monkeypatch.setattr(where, name, replaced)


@pytest.mark.parametrize("error", [KeyError, ValueError])
def test_an_event_that_cannot_be_shown_is_said_to_be_there(world, monkeypatch, error):
    """The others beside it are shown, on the page and live; the log says where it failed, and nothing of what it is."""
    maker, lines = talked(world), []
    failing(monkeypatch, reader.Html, "event", lambda event, _: "boom" in str(event.payload), error)

    async def work(app):
        async with app.events(f"{ONE}/live") as event:
            await next_of(event, "held")
            maker.say(says("kept before"), says("boom"), says("kept after"))
            app.hub._changed(set())
            told = [(await next_of(event, "message"))[2] for _ in range(3)]
        return told, (await app.ask(ONE)).body.decode()

    told, page = run(world, work, log=lambda *line: lines.append(line))
    assert ["kept before" in told[0], "cannot be shown" in told[1], "kept after" in told[2]] == [True] * 3
    assert "".join(told) in page
    assert {(name, fields["session"], fields["problem"]) for _, name, fields in lines} == {
        ("serve.failed", f"claude:{SESSION}", error.__name__)
    }
    assert all(fields["where"].startswith("katod.serve.page.reader:") for _, _, fields in lines)


@pytest.mark.parametrize("opened", [PageReader, MessageReader], ids=["page", "socket"])
def test_a_session_that_cannot_be_read_is_an_answer(world, monkeypatch, opened):
    """A stream ends, so that a page comes back; a client is told to. It is read when that is possible again."""
    talked(world)
    wrong, lines = [True], []
    failing(monkeypatch, opened, "sent", lambda: wrong)

    async def work(app):
        async with asyncio.timeout(5), app.socket() as client:
            if opened is PageReader:
                assert (await app.ask(f"{ONE}/live")).body == b"retry: 1000\n\n"
            else:
                await client.say(type="start", projectPath="/home/me/app", sessionId=SESSION)
                assert (await client.hear())["code"] == "TIMEOUT"
            wrong.clear()
            async with app.events(f"{ONE}/live") as event:
                await next_of(event, "message")
            await client.start(SESSION)

    run(world, work, log=lambda *line: lines.append(line))
    assert {(fields["session"], fields["problem"]) for _, _, fields in lines} == {(f"claude:{SESSION}", "ValueError")}


def test_what_was_read_before_a_failure_is_not_lost(world, monkeypatch):
    """What fails is said once, and read on after that."""
    maker = talked(world)
    failed = []
    failing(
        monkeypatch, Messages, "take",
        lambda event, _: "boom" in str(event.payload) and not failed and (failed.append(1) or True),
    )  # fmt: skip

    async def work(app):
        async with app.socket() as client:
            await client.start(SESSION)
            maker.say(says("kept before"), says("boom"), says("kept after"))
            app.hub._changed(set())
            found = (await client.heard("kept before"))[-1]["id"]
            while "kept after" not in str(client.frames):
                app.hub._changed(set())
                await client.listen(0.05)
            return found

    assert run(world, work)


def test_an_export_has_what_was_said_after_a_failure(world, monkeypatch):
    """One event that cannot be made into messages takes no other one with it."""
    maker = world.claude().say(says("kept before"), says("boom"), says("kept after"))
    failing(monkeypatch, Messages, "take", lambda event, _: "boom" in str(event.payload))

    async def work(app):
        path = f"/projects/%2Fhome%2Fme%2Fapp/sessions/{maker.session}/export?format=json"
        return (await app.ask(path)).json

    texts = [row["message"].get("content") for row in run(world, work)]
    assert [text for text in texts if text] == ["kept before", "kept after"]


def test_the_list_goes_on_after_a_failure(world, monkeypatch):
    """Of one look: open pages are told what changed later."""
    monkeypatch.setattr(watch, "_EVERY", 0.01)
    talked(world)
    wrong, lines, failed = [], [], asyncio.Event()
    failing(monkeypatch, SessionList, "look", lambda: wrong)

    async def work(app):
        async with app.events("/live") as event:
            await next_of(event, "all")
            wrong.append(1)
            await failed.wait()
            wrong.clear()
            world.session(2).say(user("a new one"))
            app.hub.index._looked = app.hub.index._swept = -99.0
            return await next_of(event, "rows")

    def log(*line):
        lines.append(line)
        failed.set()

    assert "a new one" in "".join(run(world, work, log=log)[2]["rows"])
    assert {(name, fields["session"]) for _, name, fields in lines} == {("serve.failed", "")}


@pytest.mark.parametrize("error", [Busy, ValueError])
def test_a_page_that_breaks_off_says_so(world, monkeypatch, error):
    """And ends as all pages do; one that cannot be begun is refused as a whole."""
    maker, read = talked(world), []
    failing(monkeypatch, PageReader, "sent", lambda: read or (read.append(1) and False), error)
    monkeypatch.setattr(reader, "READ_BYTES", 300)

    async def work(app):
        broken = await app.ask(ONE)
        failing(monkeypatch, SessionList, "row", lambda _: True, Busy)
        return broken, await app.ask(ONE)

    assert maker.path.stat().st_size > 600
    broken, refused = run(world, work)
    text = broken.body.decode()
    assert broken.status == 200
    assert "begin here" in text
    assert "The rest could not be read now: load this page again." in text
    assert text.endswith("</html>\n")
    assert "<katod-feed" not in text
    assert refused.status == 503


def test_a_job_that_ends_an_iterator_is_answered():
    """A future takes no StopIteration: whoever waits gets another error."""

    async def work():
        one = WorkerThread("test")
        try:
            async with asyncio.timeout(5):
                await one.run(lambda: next(iter(())))
        finally:
            one.close()

    with pytest.raises(RuntimeError):
        asyncio.run(work())


def test_work_ends_when_the_client_leaves():
    """It is cancelled; else it is answered."""

    class Request:
        def __init__(self, *kinds):
            self.kinds = list(kinds)

        async def receive(self):
            return {"type": self.kinds.pop(0)} if self.kinds else await asyncio.Event().wait()

    ended = asyncio.Event()

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def answer():
        return "done"

    async def work():
        assert await while_there(Request("http.request"), answer()) == "done"
        with pytest.raises(Disconnected):
            await while_there(Request("http.request", "http.disconnect"), endless())
        await ended.wait()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}  # nobody listens for a client any more

    asyncio.run(work())


FILLED = {
    "session": SESSION, "project:whole": "%2Fhome%2Fme%2Fapp", "number": "1", "form": "html", "name": "page.js",
    "machine": "laptop",
}  # fmt: skip
ASKED = {"/find": "?q=words", "/search": "?q=words", f"{ONE}/record": "?only=x"}


def addresses(app):
    """Return an address of each route, with its method."""
    for path, methods in app.routes():
        address = re.sub(r"\{([^}]+)\}", lambda found: FILLED[found[1]], path)
        if methods:
            yield address + ASKED.get(address, ""), "POST" if "POST" in methods else "GET"


def test_a_client_that_leaves_is_no_failure(world, tmp_path):
    """On no route, whether it leaves while the answer is made, while it is sent, or while it says what it wants."""
    talked(world)
    lines = []

    async def work(app):
        given, found = {"headers": BEARER | {"content-type": "application/x-www-form-urlencoded"}}, 0
        for path, method in addresses(app):
            for is_gone, is_whole in ((True, True), (False, True), (True, False)):
                left = asyncio.Event()
                if is_gone:
                    left.set()
                body = b"question=x" if is_whole else b"question="
                await asyncio.wait_for(app.leave(path, left, **given, method=method, body=body, is_whole=is_whole), 10)
            found += 1
        return found

    assert run(world, work, log=lambda *line: lines.append(line), folders=[tmp_path]) > 30
    assert lines == []


def test_a_client_that_does_not_read_is_no_failure(world, monkeypatch):
    """It is disconnected in the middle of an answer, and nothing is said of that."""
    talked(world)
    lines = []
    monkeypatch.setattr(guard, "PATIENCE", 0.0)

    async def stuck(message):
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def work(app):
        for path in ("/", ONE, f"{ONE}/live", "/sessions/recent"):
            await asyncio.wait_for(app.tell(path, stuck), 10)

    run(world, work, log=lambda *line: lines.append(line))
    assert lines == []


def test_a_viewer_that_leaves_takes_nothing_with_it(world):
    """What is read while it leaves is there for the others."""
    maker, gate = talked(world), threading.Event()

    async def work(app):
        async with app.hub.viewing(SESSION) as channel:
            before, real, began = channel.tail.end, channel.reader.sent, asyncio.Event()
            tell = partial(asyncio.get_running_loop().call_soon_threadsafe, began.set)
            channel.reader.sent = lambda: (tell(), gate.wait(5), real())[2]
            maker.say(says("more"))
            leaving = asyncio.create_task(channel.catch_up())
            await began.wait()
            leaving.cancel()
            await asyncio.wait([leaving])
            gate.set()
            await channel.catch_up()
            return "".join(sent.text for sent in channel.tail.since(before))

    assert '"more"' in run(world, work)


def test_a_session_that_was_left_makes_room_for_the_next(world):
    """Of those that nobody looks at, the one that was left last stays open for a while."""
    talked(world)
    other = world.session(2)
    other.append(other.user("hello"))

    async def work(app):
        for name in (SESSION, other.session):
            async with app.hub.viewing(name):
                pass
        return [name for name, _ in app.hub._opened]

    assert run(world, work) == [other.session]


def test_whatever_fails_is_an_answer_and_in_the_log(world, monkeypatch):
    """An answer 500 says where to look; the log has one line for each, with the module and its line, and no words."""
    talked(world)
    lines = []

    async def work(app):
        await app.ask("/projects")  # what is read in the background at the start has begun
        failing(monkeypatch, SessionIndex, "briefs", lambda *_: True)
        answers = []
        for _ in range(2):
            with suppress(ValueError):  # the server sees it, too
                answers.append(await app.ask("/projects"))
        return answers

    run(world, work, log=lambda *line: lines.append(line))
    assert [(name, fields["problem"]) for _, name, fields in lines] == [("serve.failed", "ValueError")] * 2
    assert all(fields["where"].startswith("katod.serve.") for _, _, fields in lines)


def test_what_makes_the_pieces_of_an_answer_is_closed_when_its_client_leaves():
    """At once, whoever keeps the error: nothing is left to the collector of garbage."""
    closed = []

    async def pieces():
        try:
            yield "first"
            yield "second"
        finally:
            closed.append(True)

    async def send(message):
        if message.get("body"):
            raise Disconnected

    async def work():
        with pytest.raises(Disconnected) as kept:
            await ClosedStream(pieces()).stream_response(send)
        return kept, list(closed)

    assert asyncio.run(work())[1] == [True]
