"""What is served, in this process: who gets it, the sessions live, lists, pages, exports and searches."""

import asyncio
import json
import os
from contextlib import AsyncExitStack
from functools import cache, partial
from urllib.parse import quote
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from starlette.applications import Starlette

from katod import __version__
from katod.errors import LedgerError
from katod.log import EventLog
from katod.model import Options, SessionKey
from katod.serve.access.limits import SOCKETS
from katod.serve.app import application
from katod.serve.page.sessionlist import SessionList
from katod.serve.protocol import connection
from katod.serve.worker import Busy
from tests.formats.schemas import schema
from tests.formats.stream.bridging import wrong_in
from tests.formats.stream.test_bridge import described, wrong_by_description
from tests.serve.serving import BEARER, POLICY, ids, serving
from tests.support.records import SESSION, Claude, GeminiDocument, OpenCode, calls, result, says, user

PROJECT = "/projects/%2Fhome%2Fme%2Fapp"
SESSIONS = f"{PROJECT}/sessions"
ONE = f"{SESSIONS}/{SESSION}"
ORIGIN = {"origin": "http://127.0.0.1:3100"}


def talked(world, *, recorded=False):
    """Return a session in which something was said, and tools were used."""
    maker = world.claude()
    maker.say(user("::start\nbegin here") if recorded else user("begin here"), says("with pleasure"))
    maker.say(calls("call_1", "ls"), result("call_1", "a b"), says("two files"))
    return maker


def run(world, work, **options):
    """Return what some work with an application of a world returns."""

    async def within():
        async with serving(world, **options) as app:
            return await work(app)

    return asyncio.run(within())


def asked(world, *paths, **options):
    """Return the answers to GET."""

    async def work(app):
        return [await app.ask(path) for path in paths]

    return run(world, work, **options)


# -- what is valid ----------------------------------------------------------------------------------

DESCRIBED = {
    "health": "HealthResponse", "metrics": "MetricsResponse", "projects": "ProjectListResponse",
    "recent": "RecentSessionsResponse", "sessions": "SessionListResult", "count": "SessionCountResult",
    "session": "SessionMetadata", "messages": "GetMessagesResponse", "search": "SearchResponse", "problem": "CLIError",
}  # fmt: skip


@cache
def by_name(name):
    whole = schema("bridge-rest").schema
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": whole["$defs"]})


def wrong(name, body):
    """Return what is wrong with a body, by the schema and, where it is at hand, by the server's own description."""
    errors = [error.message[:200] for error in by_name(name).iter_errors(body)]
    try:
        known = {"components": described().schema["components"]}
    except pytest.skip.Exception:
        return errors
    if name in DESCRIBED:
        root = Draft202012Validator({"$ref": f"#/components/schemas/{DESCRIBED[name]}"} | known)
        errors += [error.message[:200] for error in root.iter_errors(body)]
    return errors


def test_answers_are_valid(world):
    """Each has the fields that it must have, and no others."""
    talked(world)
    paths = {
        "health": "/health", "metrics": "/metrics", "projects": "/projects", "recent": "/sessions/recent",
        "sessions": SESSIONS, "count": f"{SESSIONS}/count?source=user", "session": ONE,
        "messages": f"{ONE}/messages?includeRawContent=true", "search": "/search?q=pleasure",
        "export": f"{ONE}/export?format=json&includeStructuredContent=true", "problem": f"{SESSIONS}/nobody",
    }  # fmt: skip
    answers = dict(zip(paths, asked(world, *paths.values()), strict=True))
    assert {name: found for name, one in answers.items() if (found := wrong(name, one.json))} == {}
    assert [name for name, one in answers.items() if one.status != 200] == ["problem"]
    bodies = {name: one.json for name, one in answers.items()}
    assert bodies["projects"]["projects"][0]["path"] == "/home/me/app"
    assert bodies["session"]["id"] == bodies["sessions"]["sessions"][0]["id"] == SESSION
    assert bodies["session"]["title"] == "begin here"
    assert bodies["count"] == {"total": 1, "user": 1, "agent": 0, "helper": 0, "source": "user", "count": 1}
    assert bodies["search"]["results"][0]["snippets"][0]["type"] == "assistant"
    text = bodies["search"]["results"][0]["snippets"][0]
    assert text["text"][text["matchStart"] :][: text["matchLength"]] == "pleasure"
    kinds = [
        row["message"]["type"]
        for row in bodies["messages"]["messages"]
        if "id" in row["message"] or "content" in row["message"]
    ]
    assert kinds == ["assistant", "tool_use", "assistant", "user"]
    assert bodies["session"]["messageCount"] == len(bodies["export"])


def test_frames_are_valid(world):
    """Of a start, live messages, a list that is subscribed to, and errors."""
    maker = talked(world)

    async def work(app):
        async with app.socket() as client:
            await client.start(SESSION.upper())
            await client.say(type="subscribe_sessions")
            await client.say(type="ping")
            await client.until("pong")
            maker.say(user("more"))
            app.hub._changed({str(maker.path)})
            while not {"session_event", "stream"} <= {row["type"] for row in client.frames}:
                await client.hear()
            await client.say(type="launch")
            await client.until("error")
            await client.say(type="reconnect", agentId=f"katod-{SESSION}", lastMessageId="nobody")
            await client.until("cursor_invalid")
            return client.frames

    frames = run(world, work)
    assert wrong_in(frames) == []
    assert {"connected", "history", "pong", "stream", "session_event", "error", "cursor_invalid"} == {
        row["type"] for row in frames
    }
    try:
        assert wrong_by_description([row for row in frames if row["type"] != "session_event"]) == []
    except pytest.skip.Exception:
        return


# -- sessions ---------------------------------------------------------------------------------------


def test_only_what_was_recorded_is_served(world):
    """Unless the settings say that all is; sessions of a ledger are known by their last words."""
    talked(world, recorded=True)
    other = world.session(2)
    other.say(user("not recorded"))
    world.once()
    recorded, everything = (
        asked(world, "/sessions/recent", everything=all_of_them)[0].json["sessions"] for all_of_them in (False, True)
    )
    assert [row["id"] for row in recorded] == [SESSION]
    assert {row["id"] for row in everything} == {SESSION, other.session}
    assert recorded[0]["title"] == "begin here"


def test_a_session_is_found_by_id_and_never_by_path(world):
    """Nor is one of another project."""
    maker = talked(world)
    wrong_paths = [
        f"{SESSIONS}/{maker.path}", f"{SESSIONS}/..%2F..%2F{maker.path.name}", f"{SESSIONS}/{maker.path.name}",
        f"/projects/%2Fetc/sessions/{SESSION}", f"{SESSIONS}/../../etc/passwd", f"{ONE}/messages/../../../x", "/projects/",
        f"{SESSIONS}/%00",
    ]  # fmt: skip
    assert [found.status for found in asked(world, *wrong_paths)] == [404] * len(wrong_paths)


def test_start_takes_the_newest_session_of_a_project(world):
    """If none is named; one that is unknown is an error after which the client may go on."""
    talked(world)

    async def work(app):
        async with app.socket() as client:
            await client.say(type="start", projectPath="/home/me/app/")
            first = (await client.until("history"))[0]
            await client.say(type="start", projectPath="/home/me/other")
            second = await client.hear()
            await client.say(type="start", projectPath="/home/me/app", sessionId="77777777-9d1e-4b7a-8c66-0123456789ab")
            third = await client.hear()
            await client.say(type="reconnect", agentId="katod-nobody")
            return first, second, third, await client.hear()

    first, *errors = run(world, work)
    assert first["sessionId"] == SESSION
    assert [(row["code"], row["recoverable"]) for row in errors] == [
        ("SESSION_NOT_FOUND", True), ("SESSION_NOT_FOUND", True), ("AGENT_NOT_FOUND", False),
    ]  # fmt: skip


def test_a_client_that_comes_back_is_sent_what_it_missed(world):
    """After an id in capitals, and after that of a call; then what is new."""
    maker = talked(world)

    async def work(app):
        body = (await app.ask(f"{ONE}/messages?order=asc&limit=100&denormalize=false")).json["messages"]
        everything = [row["id"] for row in body]
        call = next(number for number, row in enumerate(body) if row["message"]["type"] == "tool_use")
        found = []
        for since in (everything[1].upper(), body[call]["message"]["id"], everything[-1]):
            async with app.socket() as client:
                found.append(ids(await client.missed(SESSION, since)))
                last = client.frames[-1]
                assert (last["missedCount"], last["fromMessageId"]) == (len(found[-1]), since)
                if since == everything[-1]:
                    maker.say(user("more"))
                    app.hub._changed(set())
                    assert (await client.hear())["message"]["content"] == "more"
        return found, [everything[2:], everything[call + 1 :], []]

    found, wanted = run(world, work)
    assert found == wanted


def test_a_client_that_starts_again_sees_the_other_session_alone(world):
    """The first one is no longer sent."""
    first, second = (world.session(number).say(user("begin here")) for number in (1, 2))

    async def work(app):
        async with app.socket() as client:
            await client.start(first.session)
            await client.start(second.session)
            first.say(user("here"))
            second.say(user("there"))
            app.hub._changed(set())
            frames = await client.heard("there")
            app.hub._changed(set())
            return frames + await client.listen(0.1)

    assert "here" not in [row.get("message", {}).get("content") for row in run(world, work)]


def test_clients_are_asked_whether_they_are_there(world, monkeypatch):
    """Now and then, whatever they look at."""
    monkeypatch.setattr(connection, "_PING_EVERY", 0.01)

    async def work(app):
        async with app.socket() as client:
            return await client.until("ping", 5)

    assert wrong_in(run(world, work)) == []


@pytest.mark.parametrize("keep", [0, 2], ids=["all is gone", "the rest is gone"])
def test_a_client_is_told_if_what_it_has_is_no_longer_there(world, keep):
    """Else it goes on: what is still there is not sent again, and what comes after it is sent."""
    maker = world.claude()
    maker.say(user("one"), says("two"))
    size = maker.path.stat().st_size if keep else 0
    maker.say(user("three"), says("four"))

    async def work(app):
        async with app.socket() as behind, app.socket() as client:
            await client.start(SESSION)
            page = (await app.ask(f"{ONE}/messages?order=asc")).json["messages"]
            os.truncate(maker.path, size)
            app.hub._changed(set())
            [told] = await client.until("cursor_invalid")
            if not keep:
                return told["lastMessageId"], page[-1]["id"], []
            again = await behind.missed(SESSION, page[0]["id"])
            maker.say(user("five"))
            app.hub._changed(set())
            return told["lastMessageId"], page[-1]["id"], [*again, *await behind.heard("five")]

    told, last, after = run(world, work)
    assert told == last
    assert [row["message"]["content"] for row in after if row["message"]["type"] in ("user", "assistant")] == (
        ["two", "five"] if keep else []
    )


@pytest.mark.parametrize("make", [Claude, GeminiDocument, OpenCode], ids=lambda make: make.__name__)
def test_changes_are_told_of_without_a_hint(world, make):
    """Each second, also those of sessions in a database; a project may be named with a slash at its end."""
    maker = make(world).say(user("begin here"))

    async def work(app):
        async with app.socket() as client:
            [row] = (await app.ask("/sessions/recent")).json["sessions"]
            await client.say(type="subscribe_sessions", projectPath=row["projectPath"] + "/")
            await client.say(type="ping")
            await client.until("pong")
            await app.hub.reading.run(lambda: None)
            maker.say(says("more"))
            app.hub.index.look_again()
            app.hub._changed(set())
            return row["id"], await client.hear(5)

    name, told = run(world, work)
    assert (told["type"], told["action"], told["sessionId"]) == ("session_event", "updated", name)


def test_ids_that_are_none_are_given_some(world):
    """Sessions of agents whose ids are no UUIDs have one, by which they are found."""
    OpenCode(world).say(user("begin here"))

    async def work(app):
        (row,) = (await app.ask("/sessions/recent")).json["sessions"]
        path = f"/projects/{quote(row['projectPath'], safe='')}/sessions/{row['id'].upper()}/messages"
        return row, (await app.ask(path)).json["messages"]

    row, messages = run(world, work)
    assert UUID(row["id"]).version == 5
    assert "begin here" in [found["message"].get("content") for found in messages]


SECRET = "sk-ant-api03-" + "a1B2" * 24


@pytest.mark.parametrize("count", [3, pytest.param(4000, marks=pytest.mark.slow)])
def test_secrets_are_redacted_wherever_messages_come_from(world, count):
    """In the history, live, after a reconnect from any place, in every page, in exports and searches."""
    maker = world.claude()
    maker.put(*(maker.user(f"{number} {'x' * 900} the key is {SECRET}") for number in range(count)))

    async def work(app):
        found = []
        async with app.socket() as client:
            await client.start(SESSION)
            maker.say(user(f"and {SECRET}"))
            app.hub._changed(set())
            found += [*client.frames, await client.hear()]
        body = (await app.ask(f"{ONE}/messages?limit=100")).json
        for at in {0, 1, count // 3, count // 2, count - 1}:
            page = (await app.ask(f"{ONE}/messages?limit=30&offset={at}&order=asc")).json
            found += page["messages"]
            async with app.socket() as client:
                found += await client.missed(SESSION, page["messages"][0]["id"])
        texts = [
            (await app.ask(path)).body.decode()
            for path in (f"{ONE}/export", f"{ONE}/export?format=json", "/search?q=key")
        ]
        return [*map(json.dumps, [*found, body]), *texts]

    texts = run(world, work)
    assert sum("the key is" in text for text in texts) > 4
    assert [text[:200] for text in texts if SECRET[-40:] in text] == []


def test_the_server_says_which_one_it_is_and_how_many_sessions_are_open(world):
    """In its health, which also says that it is well, and in its metrics; its age is counted from its start."""
    talked(world)

    async def work(app):
        before = [(await app.ask(path)).json for path in ("/health", "/metrics")]
        async with app.socket() as client:
            await client.start(SESSION)
            return *before, (await app.ask("/metrics")).json

    healthy, idle, viewed = run(world, work)
    assert healthy == {"status": "ok"} | idle | {"uptime": healthy["uptime"]}
    assert (idle["agents"], viewed["agents"]) == (0, 1)
    assert (idle["version"], idle["uptime"] in range(60)) == (__version__, True)


def test_there_is_a_limit_to_clients(world):
    """Beyond it, a client has to come back later; one that leaves makes room."""
    talked(world)

    async def work(app):
        async with AsyncExitStack() as clients:
            for _ in range(SOCKETS - 1):
                await clients.enter_async_context(app.socket())
            async with app.socket() as last, app.socket() as refused:
                await last.say(type="ping")
                answered = (await last.until("pong"))[-1]
            async with app.socket() as again:
                await again.say(type="ping")
                return answered, refused, (await again.until("pong"))[-1]

    answered, refused, again = run(world, work)
    assert answered["type"] == again["type"] == "pong"
    assert (refused.status, refused.json["code"], refused.headers["retry-after"]) == (503, "BUSY", "5")


def test_what_is_not_there_is_a_page_for_browsers_alone(world):
    """Programs get a problem that they can read, and so does whoever asks for something else than a page."""
    browser = BEARER | {"accept": "text/html,*/*"}

    async def work(app):
        return [
            await app.ask("/nothing", headers=browser), await app.ask("/nothing"),
            await app.ask("/nothing", "PUT", browser), await app.ask("/login", "PUT", browser),
        ]  # fmt: skip

    page, *problems = run(world, work)
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert b"There is nothing here." in page.body
    assert [(one.status, one.json["code"]) for one in problems] == [
        (404, "NOT_FOUND"), (405, "READ_ONLY"), (405, "READ_ONLY"),
    ]  # fmt: skip


# -- who is let in ----------------------------------------------------------------------------------


def test_a_bridge_that_is_open_needs_no_token(world):
    """For programs; pages that a browser has open are no programs."""
    talked(world)

    async def work(app):
        async with app.socket({}) as client:
            connected, _ = await client.start(SESSION)
        async with app.socket(ORIGIN) as refused:
            asked = [await app.ask("/projects", method, headers={}) for method in ("GET", "POST")]
            return connected, refused.status, *(one.status for one in asked)

    connected, *statuses = run(world, work, policy=POLICY._replace(is_open=True))
    assert connected["sessionId"] == SESSION
    assert statuses == [401, 200, 405]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_can_be_written_anywhere(world, method):
    """Where nothing is served, either: a client learns that it may not write, not that the path is wrong."""
    talked(world)
    paths = [
        "/projects",
        ONE,
        "/sessions",
        "/sessions/x/input",
        f"{ONE}/input",
        "/nothing",
        "/s",
        "/",
        "/static/page.js",
    ]

    async def work(app):
        reads = [await app.ask("/nothing", read) for read in ("GET", "HEAD")]
        return [await app.ask(path, method) for path in paths], *reads

    found, read, head = run(world, work)
    assert head.status == 404
    assert {(one.status, one.json["code"], one.headers["allow"]) for one in found} == {(405, "READ_ONLY", "GET, HEAD")}
    assert (read.status, read.json["code"]) == (404, "NOT_FOUND")


def test_an_application_begins_and_ends_with_its_hub():
    """Whatever happens in between."""
    told = []

    class FakeHub:
        log = EventLog()

        async def start(self):
            told.append("start")

        def close(self):
            told.append("close")

    async def within():
        app = inner(application(FakeHub(), Options(), POLICY))
        with pytest.raises(ZeroDivisionError):
            async with app.router.lifespan_context(app):
                told.append(1 // 0)

    def inner(app):
        while not isinstance(app, Starlette):
            app = app._app
        return app

    asyncio.run(within())
    assert told == ["start", "close"]


@pytest.mark.parametrize("error", [Busy(), LedgerError("damaged"), ValueError("a fault of katod")])
@pytest.mark.breaks
def test_a_client_hears_that_the_sessions_cannot_be_read_now(world, monkeypatch, error):
    """Whatever the reason is, which is not said; the connection goes on, and a fault is noted for its session."""
    talked(world)
    noted = []
    monkeypatch.setattr(connection.failures, "note", lambda _log, error, key: noted.append((error, key)))

    async def work(app):
        async with app.socket() as client:
            await client.missed(SESSION, "")
            find = app.hub.find

            async def fail(_name):
                raise error

            monkeypatch.setattr(app.hub, "find", fail)
            await client.say(type="reconnect", agentId=f"katod-{SESSION}")
            heard = (await client.until("error"))[-1]
            monkeypatch.setattr(app.hub, "find", find)
            await client.say(type="ping")
            await client.until("pong")
            return heard

    heard = run(world, work)
    assert heard["code"] == "TIMEOUT"
    assert "fault" not in str(heard)
    assert noted == ([(error, SessionKey("claude", SESSION))] if isinstance(error, ValueError) else [])


def test_a_session_has_one_title_in_every_list(world):
    """Its person's own, else that of its agent, else its first words, else its project and day; exports have it, too."""
    said = ({}, {"customTitle": "Named in the agent"}, {}, {})
    for number, title in enumerate(said, 1):
        maker = world.session(number)
        maker.say(user("Fix the total" if number < 4 else "/clear"), says("Done."))
        maker.append(*([{"type": "custom-title", "sessionId": maker.session} | title] if title else ()))
    world.cli("rename", "00000001", "Payment rounding bug")
    world.once()

    async def work(app):
        rows = (await app.ask("/sessions/recent")).json["sessions"]
        names = [row["id"] for row in rows]
        project = (await app.ask("/projects/%2Fhome%2Fme%2Fapp/sessions")).json["sessions"]
        sessions = SessionList(app.hub.index, redact=True)
        listed = [await app.hub.reading.run(partial(sessions.row, app.hub.index.find(name))) for name in names]
        export = await app.ask(f"/projects/%2Fhome%2Fme%2Fapp/sessions/{world.session(1).session}/export")
        titles = [{row["id"]: row["title"] for row in found} for found in (rows, project)]
        return *titles, {row.name: row.title for row in listed}, export.body.decode()

    recent, project, listed, export = run(world, work)
    assert recent == project == listed
    assert {"Payment rounding bug", "Named in the agent", "Fix the total"} < set(recent.values())
    assert "# Payment rounding bug" in export
