"""`katod serve` for tests: in this process behind a test client, or as a process of its own, and clients of it."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote
from uuid import uuid4

import httpx
from websockets.asyncio.client import connect

from katod.agents import AGENTS
from katod.config import Settings, local_zone
from katod.discover.roots import find_roots
from katod.log import EventLog
from katod.model import Options
from katod.serve.access.policy import AccessPolicy, names_of
from katod.serve.app import application
from katod.serve.feed.hub import Hub
from katod.serve.index.changes import FileChanges
from katod.serve.index.sessions import IndexScope, SessionIndex
from katod.serve.page.machines import MachinePages, SharedSessions
from katod.serve.page.pages import Pages
from katod.serve.page.usage import UsagePages
from tests.support import program
from tests.support.live import PATIENCE, memory, until

TOKEN = "0123456789abcdef0123456789abcdef"
PORT = 3100
BEARER = {"authorization": f"Bearer {TOKEN}"}
POLICY = AccessPolicy(names_of("127.0.0.1", PORT), TOKEN)
PROJECT = "/home/me/app"


@asynccontextmanager
async def serving(world, *, everything=True, policy=POLICY, log=None, folders=()):
    """Yield an application for the sessions of a world, in this process; `log` is what log events are written to.

    `folders` are those that other machines share.
    """
    roots = tuple(find_roots(Settings(), AGENTS))
    index = SessionIndex(IndexScope(world.state, roots, everything), redact=True)
    hub = Hub(index, FileChanges(roots, EventLog(), watch=False), EventLog(log))
    await hub.start()
    try:
        options = Options(time_zone="Europe/Berlin", attachments="save")  # as the settings have it
        shared = SharedSessions(folders, world.state, everything=everything, redacted=True)
        usage = UsagePages(hub, world.state, "none", local_zone(), redacted=True, shared=shared.usable)
        machines = MachinePages(hub, shared, options)
        pages = Pages(hub, options, world.state, machines.find if folders else None)
        routes = [*pages.routes(), *usage.routes(), *machines.routes()]
        yield App(application(hub, options, policy, routes), hub)
    finally:
        hub.close()


class App:
    """Asks an application as a server does, with exactly these headers."""

    def __init__(self, app, hub):
        self._app, self.hub = app, hub

    def _scope(self, kind, path, headers):
        raw, _, query = path.partition("?")
        return {
            "type": kind, "http_version": "1.1", "scheme": "http", "path": unquote(raw), "raw_path": raw.encode(),
            "query_string": query.encode(), "root_path": "", "headers": raw_headers(headers), "extensions": {
                "websocket.http.response": {}
            }, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT), "state": {},
        }  # fmt: skip

    async def ask(self, path, method="GET", headers=BEARER, body=b""):
        """Return the answer to one request: `status`, `headers`, `body`, and `json` if that is what it is."""
        sent = []

        async def send(message):
            sent.append(message)

        await self.tell(path, send, method, headers, body)
        return _answer(sent, "http.response")

    async def leave(self, path, left, headers=BEARER, method="GET", body=b"", *, is_whole=True):
        """Ask, and disconnect once `left` is set; returns when the request has ended. What was sent is dropped.

        `left` is set at the first piece of an answer at the latest. Of a body that is not `is_whole`, more would come.
        """
        given = [{"type": "http.request", "body": body, "more_body": not is_whole}]

        async def receive():
            if given:
                return given.pop(0)
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.body":
                left.set()

        await self._app(self._scope("http", path, headers) | {"method": method}, receive, send)

    async def tell(self, path, send, method="GET", headers=BEARER, body=b""):
        """Ask, and hand what is answered to `send`; returns when the request has ended."""
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive():
            return given.pop(0) if given else await asyncio.Event().wait()

        await self._app(self._scope("http", path, headers) | {"method": method}, receive, send)

    def routes(self):
        """Return all that is served: of each route, its path and its methods, none for a WebSocket."""
        return [(route.path, getattr(route, "methods", None)) for route in self._app._app.routes]

    @asynccontextmanager
    async def events(self, path, headers=BEARER):
        """Yield what returns the next event of a stream: its kind, its id, and its data."""
        sent = asyncio.Queue()

        async def receive():
            return await asyncio.Event().wait()

        task = asyncio.create_task(self._app(self._scope("http", path, headers) | {"method": "GET"}, receive, sent.put))
        assert (await sent.get())["status"] == 200

        async def event():
            while "data: " not in (text := (await sent.get())["body"].decode()):
                pass
            fields = dict(line.split(": ", 1) for line in text.strip().split("\n"))
            return fields.get("event", "message"), fields.get("id", ""), json.loads(fields["data"])

        try:
            yield event
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @asynccontextmanager
    async def socket(self, headers=BEARER):
        """Yield a client of the WebSocket, or the answer that refuses it."""
        given, sent = asyncio.Queue(), asyncio.Queue()
        given.put_nowait({"type": "websocket.connect"})
        task = asyncio.create_task(self._app(self._scope("websocket", "/ws", headers), given.get, sent.put))
        first = await sent.get()
        try:
            if first["type"] == "websocket.accept":
                yield Client(_Pair(given, sent))
            else:
                yield _answer([first, await sent.get()], "websocket.http.response")
        finally:
            given.put_nowait({"type": "websocket.disconnect", "code": 1000})
            await task


class _Pair:
    """A WebSocket without a connection."""

    def __init__(self, given, sent):
        self._given, self._sent = given, sent

    async def send(self, text):
        self._given.put_nowait({"type": "websocket.receive", "text": text})

    async def recv(self):
        return (await self._sent.get())["text"]


def raw_headers(headers):
    """Return headers as a server has them; Host is the usual one unless there is any."""
    rows = list(headers.items() if isinstance(headers, dict) else headers)
    host = [] if any(name.lower() == "host" for name, _ in rows) else [("host", f"127.0.0.1:{PORT}")]
    return [(name.lower().encode(), value.encode()) for name, value in host + rows if value is not None]


def _answer(sent, kind):
    start = next(row for row in sent if row["type"] == f"{kind}.start")
    body = b"".join(row["body"] for row in sent if row["type"] == f"{kind}.body")
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    is_json = headers.get("content-type") == "application/json"
    return SimpleNamespace(
        status=start["status"], headers=headers, body=body, json=json.loads(body) if is_json and body else None
    )


class Served:
    """`katod serve` as a process in a world; started again, it listens at the same port."""

    def __init__(self, world, *options, fresh=False):
        """Serve in a fork of this process, or, if its memory is measured, in a `fresh` one."""
        self.world, self.port, self.options, self.fresh = world, 0, options, fresh
        self.out = world.home / "serve.out"
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        self.out.write_text("")
        arguments = ("serve", "--port", str(self.port), *self.options)
        with self.out.open("a") as log:
            self.process = self._fresh(arguments, log) if self.fresh else self._forked(arguments, log)
        found = until(lambda: re.search(r"http://\S+:(\d+)/#token=(\S+)\n", self.out.read_text()), "the address")
        self.port, self.token = int(found[1]), found[2]
        until(self._answers, "an answer")

    def _forked(self, arguments, log):
        outputs = (log.fileno(), log.fileno())
        return program.Child(arguments, self.world.environment, outputs=outputs, folder=self.world.home)

    def _fresh(self, arguments, log):
        command = [sys.executable, "-m", "katod", *arguments]
        return subprocess.Popen(command, env=self.world.environment, cwd=self.world.home, stdout=log, stderr=log)

    def _answers(self):
        try:
            return httpx.get(f"{self.base}/login").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def pid(self):
        return self.process.pid

    @property
    def base(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.token}"}

    def stop(self, number=signal.SIGTERM):
        """Return the exit code and how long it took to end."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(PATIENCE), time.monotonic() - began

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)

    def get(self, path, **query):
        return httpx.get(f"{self.base}{path}", params=query, headers=self.headers, timeout=60)

    def memory(self):
        """Return its resident memory in MB."""
        return memory(self.process.pid) / 1024

    @asynccontextmanager
    async def client(self, **headers):
        """Yield a client of the WebSocket."""
        async with connect(
            f"ws://127.0.0.1:{self.port}/ws", additional_headers=self.headers | headers, max_size=None, open_timeout=20
        ) as socket:
            yield Client(socket)


class Client:
    """A client of CodingBridge. `got` has the ids of all messages of the conversation, in the order of their arrival."""

    def __init__(self, socket):
        self.socket = socket
        self.frames = []

    async def say(self, **message):
        await self.socket.send(json.dumps(message))

    async def hear(self, seconds=PATIENCE):
        frame = json.loads(await asyncio.wait_for(self.socket.recv(), seconds))
        self.frames.append(frame)
        return frame

    async def listen(self, pause):
        """Return what arrives until nothing does for so many seconds."""
        frames = []
        with suppress(TimeoutError):
            while True:
                frames.append(await self.hear(pause))
        return frames

    async def until(self, kind, seconds=PATIENCE):
        """Return the frames up to the first one of a kind."""
        frames = [await self.hear(seconds)]
        while frames[-1]["type"] != kind:
            frames.append(await self.hear(seconds))
        return frames

    async def heard(self, content):
        """Return the frames up to the message with this content."""
        frames = [await self.hear()]
        while frames[-1].get("message", {}).get("content") != content:
            frames.append(await self.hear())
        return frames

    async def start(self, session, project=PROJECT):
        """Start, and return the answer and the history."""
        await self.say(type="start", projectPath=project, sessionId=session)
        return await self.hear(), await self.hear()

    async def missed(self, session, since):
        """Reconnect, and return what was missed."""
        await self.say(type="reconnect", agentId=f"katod-{session}", lastMessageId=since)
        return [frame for frame in await self.until("reconnect_complete") if frame["type"] == "stream"]


def ids(frames):
    return [frame["id"] for frame in frames if frame["type"] == "stream"]


def all_messages(served, session, project=PROJECT, **query):
    """Return all messages of a session, page by page, the oldest first."""
    path = f"/projects/{project.replace('/', '%2F')}/sessions/{session}/messages"
    query = {"limit": 100, "order": "asc", "denormalize": "false"} | query
    found, after = [], {}
    while True:
        body = served.get(path, **query, **after).json()
        found += body["messages"]
        if not body["pagination"]["hasMore"]:
            return found
        after = {"after": body["pagination"]["nextCursor"]}


def big_session(maker, megabytes):
    """Write a session of about so many megabytes, quickly."""
    text = "Words that somebody said about something else. " * 40
    records = [line for number in range(50) for line in _turn(maker, number, text)]
    block, path = "".join(records), Path(maker.path)
    with path.open("a", encoding="utf-8") as file:
        for number in range(int(megabytes * 1e6 / len(block)) + 1):
            file.write(block.replace("@@", f"{number:06d}"))
    return maker


def _turn(maker, number, text):
    rows = [maker.user(f"@@.{number} {text}"), maker.says({"type": "text", "text": text})]
    for row in rows:
        name = f"@@{uuid4().hex[6:]}"
        row["uuid"] = f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}"
        if "id" in row["message"]:
            row["message"]["id"] = f"msg_{row['uuid']}"
    return [json.dumps(row) + "\n" for row in rows]


def asks(maker, call):
    """Have Claude Code ask a question that nobody has answered yet."""
    options = [{"label": "a", "description": ""}, {"label": "b", "description": ""}]
    question = {"question": "Which?", "header": "Q", "options": options, "multiSelect": False}
    maker.write(maker.calls(call, "AskUserQuestion", questions=[question]))
