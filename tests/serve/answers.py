"""What a server of some fixtures answers at each of its addresses, at one moment: the golden file of `katod serve`."""

import os
import re
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import quote

import orjson
import pytest

from katod import __version__
from katod.serve.page.sessionview import DOWNLOADS
from tests.golden.cases import FIXTURES
from tests.golden.facts import FACTS
from tests.serve.serving import BEARER, POLICY, TOKEN
from tests.serve.test_app import run
from tests.support.world import World

GOLDEN: Final = FACTS / "served.json"
NOW: Final = 1_800_000_000.0
_EVERY: Final = 7000.0  # seconds from the last change of one session to that of the next
_CLAUDE: Final = ".claude/projects/-home-me-shop"
_UUID: Final = "0a1b2c3d-0000-4000-8000-{:012d}"
_SESSIONS: Final = {
    "claude/tool-kinds.jsonl": f"{_CLAUDE}/{_UUID.format(1)}.jsonl",
    "claude/ask-user-question.jsonl": f"{_CLAUDE}/{_UUID.format(2)}.jsonl",
    "claude/compaction.jsonl": f"{_CLAUDE}/{_UUID.format(3)}.jsonl",
    "claude/subagent.jsonl": f"{_CLAUDE}/{_UUID.format(4)}.jsonl",
    "claude/subagent/subagents/agent-a6d8a4d1c2b3e4f50.jsonl": f"{_CLAUDE}/{_UUID.format(4)}/subagents/agent-a6.jsonl",
    "codex/tools-paginated.jsonl": f".codex/sessions/2026/rollout-2026-02-10T22-36-00-{_UUID.format(5)}.jsonl",
    "copilot/question-sub-agent-abort.jsonl": f".copilot/session-state/{_UUID.format(6)}/events.jsonl",
    "kimi/plain.jsonl": f".kimi-code/sessions/p/session_{_UUID.format(7)}/agents/main/wire.jsonl",
    "gemini/tools-rewind-shell.jsonl": ".gemini/tmp/p/chats/session-2026-01-15T20-51-0a1b2c3d.jsonl",
    "claude/thinking.jsonl": f"{_CLAUDE}/{_UUID.format(9)}.jsonl",
}
_PROJECT: Final = f"/projects/{quote('/home/me/shop', safe='')}/sessions"
_BROWSER: Final = BEARER | {"accept": "text/html,*/*"}
_QUERIES: Final = (
    "?limit=3", "?limit=2&offset=1", "?limit=4&order=asc", "?order=asc&offset=2&limit=2", "?types=user,assistant",
    "?types=tool_use&denormalize=false", "?denormalize=false&limit=100", "?includeRawContent=true&limit=100",
    "?limit=0", "?limit=x", "?limit=1000", "?offset=999", "?order=up", "?denormalize=maybe", "?before=nobody",
    "?before=a&after=b", "?after=a&offset=1",
)  # fmt: skip
_OF_API: Final = (
    "/health", "/metrics", "/projects", "/sessions/recent", "/sessions/recent?limit=2", "/sessions/recent?limit=0",
    "/sessions/recent?source=agent", "/search", "/search?q=test", "/search?q=test&limit=2&offset=1",
    "/search?q=test&project=/home/me/shop", "/search?q=test&project=/elsewhere", "/search?q=test&project=&limit=2", "/search?q=::start&limit=1",
    _PROJECT, f"{_PROJECT}?limit=2", f"{_PROJECT}?limit=2&offset=3", f"{_PROJECT}?source=agent",
    f"{_PROJECT}?source=user&limit=1", f"{_PROJECT}?archivedOnly=true", f"{_PROJECT}?archivedOnly=x",
    f"{_PROJECT}?parentSessionId={_UUID.format(4).upper()}", f"{_PROJECT}/count", f"{_PROJECT}/count?source=agent",
    f"{_PROJECT}/search?q=test&limit=1", f"{_PROJECT}/nobody", f"/projects/elsewhere/sessions/{_UUID.format(1)}",
    f"{_PROJECT}/{_UUID.format(4)}/children", f"{_PROJECT}/nobody/children", f"{_PROJECT}/nobody/messages",
    f"{_PROJECT}/nobody/export", *(f"{_PROJECT}/{_UUID.format(1)}/messages{query}" for query in _QUERIES),
    *(f"{_PROJECT}/{_UUID.format(number)}" for number in (1, 2, 3, 4, 5)),
    *(f"{_PROJECT}/{_UUID.format(number)}/messages?limit=100" for number in (2, 3, 4, 5, 9)),
    *(f"{_PROJECT}/{_UUID.format(9)}/export{query}" for query in ("", "?format=json", "?format=pdf",
      "?excludeThinking=true", "?format=json&excludeThinking=1&includeStructuredContent=1")),
    "/static/page.css", "/static/nothing.css", "/nowhere",
)  # fmt: skip
_OF_PAGES: Final = (
    "/usage", "/usage?since=2026-03-02", "/usage?since=2026-03-02&project=/home/me/shop", "/usage?since=x",
    "/", "/?agent=Codex", "/?project=shop&by=project", "/?days=7", "/?days=1&starred=1", "/?recorded=1", "/?older=x",
    "/?older=1.x", "/?older=x.y", "/?older=1.", f"/?older={'1' * 30}.x", "/?older=1799990000000000000.x&agent=Codex",
    "/?label=none", "/?label=later", "/?starred=1",
    "/?label=now&agent=Claude%20Code&recorded=1", "/find", "/find?q=%23later", "/find?q=mine", "/find?q=codex", "/find?q=test", "/find?q=test%20cart", f"/find?q=test&in={_UUID.format(1)}",
    "/find?q=test&in=nobody", "/s/nobody", "/s/nobody/files", "/nowhere", "/login",
    *(f"/s/{_UUID.format(number)}" for number in (1, 2, 3, 4, 5, 9)), f"/s/{_UUID.format(1)}/files",
    *(f"/s/{_UUID.format(number)}/{page}" for number in (4, 5, 6, 7, 9) for page in ("files", "older", "newer")),
    f"/s/{_UUID.format(1)}/markdown", f"/s/{_UUID.format(1)}/markdown?only=nobody", f"/s/{_UUID.format(2)}/transcripts/1",
    f"/s/{_UUID.format(2)}/transcripts/2", f"/s/{_UUID.format(3)}/transcripts/1",
    *(f"/s/{_UUID.format(9)}/download/{quote(form)}" for form in (*DOWNLOADS, "jsonl")),
)  # fmt: skip
_CHANCE: Final = re.compile(r'(?<= data-last=")[0-9a-f]{8}(?=\.)')  # the name of a list
_WHEN: Final = re.compile(r"(?:\d{4}-\d\d-\d\d ?)?(?:\d\d:\d\d)?")  # a recording begins now
_LONG: Final = "x" * 40_000
# Requests with other methods, headers or bodies, also such as are refused.
_OTHERS: Final[tuple[tuple[str, str, dict[str, str], bytes], ...]] = (
    ("GET", "/projects", {}, b""), ("GET", "/", {}, b""), ("GET", "/", {"accept": "text/html"}, b""),
    ("GET", f"/s/{_UUID.format(1)}/files", {"accept": "text/html"}, b""), ("GET", "/ws", BEARER, b""),
    ("GET", "/projects", {"authorization": "Bearer wrong"}, b""), ("GET", "/projects", {"authorization": TOKEN}, b""),
    ("GET", "/projects", {"authorization": f"bearer {TOKEN} "}, b""), ("HEAD", "/projects", BEARER, b""),
    ("GET", "/projects", {"cookie": f"a=b; katod_serve={POLICY.cookie}"}, b""),
    ("GET", "/projects", {"cookie": "katod_serve=x"}, b""), ("GET", "/projects", BEARER | {"host": "evil.example"}, b""),
    ("GET", "/projects", BEARER | {"host": "LOCALHOST:3100"}, b""), ("GET", "/projects", BEARER | {"host": "[::1]:3100"}, b""),
    ("GET", "/projects", BEARER | {"origin": "http://evil.example"}, b""),
    ("GET", "/projects", BEARER | {"origin": "http://127.0.0.1:3100"}, b""),
    ("GET", "/projects", BEARER | {"sec-fetch-site": "cross-site"}, b""),
    ("GET", "/projects", BEARER | {"origin": "null", "sec-fetch-site": "same-origin"}, b""),
    ("GET", "/", _BROWSER | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, b""),
    ("GET", "/", _BROWSER | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, b""),
    ("POST", "/projects", BEARER, b""), ("POST", "/projects", {}, b""), ("DELETE", "/nowhere", BEARER, b""),
    ("POST", "/static/page.css", BEARER, b""), ("PUT", f"/s/{_UUID.format(1)}", BEARER, b""),
    ("GET", "/projects", BEARER | {"content-length": "9", "transfer-encoding": "chunked"}, b""),
    ("GET", "/projects", BEARER | {"content-length": "65537"}, b""), ("GET", "/projects", BEARER | {"content-length": "x"}, b""),
    ("GET", "/projects", BEARER | {"content-length": "65536"}, b""), ("GET", "/projects", BEARER | {"x-long": _LONG}, b""),
    ("GET", f"/search?q={_LONG}", BEARER, b""), ("GET", f"/search?q={_LONG[:1001]}", BEARER, b""),
    ("POST", "/login", {"origin": "http://127.0.0.1:3100"}, f"token={TOKEN}&to=/find".encode()),
    ("POST", "/login", {"origin": "http://127.0.0.1:3100"}, f"token={TOKEN}&to=//evil.example".encode()),
    ("POST", "/login", {"origin": "http://127.0.0.1:3100"}, b"token=wrong&to=/find"), ("POST", "/login", {}, b"token=x"),
    ("POST", f"/s/{_UUID.format(1)}/recording", _BROWSER, b"do=other"), ("POST", "/s/nobody/recording", _BROWSER, b"do=start"),
    ("POST", f"/s/{_UUID.format(1)}/recording", _BROWSER, b"do=start"), ("POST", f"/s/{_UUID.format(1)}/own", _BROWSER, b""),
    ("POST", f"/s/{_UUID.format(1)}/own", _BROWSER, b"title=Mine"), ("POST", "/s/nobody/own", _BROWSER, b"title=Mine"),
)  # fmt: skip
# What a client says over a socket, and how many answers it waits for.
_SAID: Final[tuple[tuple[dict[str, Any], int], ...]] = (
    ({"type": "start", "projectPath": "/home/me/shop", "sessionId": _UUID.format(2)}, 2),
    ({"type": "start", "projectPath": "/home/me/shop/"}, 2), ({"type": "start", "projectPath": "/elsewhere"}, 1),
    ({"type": "start", "projectPath": "/", "sessionId": "nobody"}, 1), ({"type": "start", "projectPath": 1}, 1),
    ({"type": "reconnect", "agentId": f"katod-{_UUID.format(9)}"}, 1), ({"type": "reconnect", "agentId": "x"}, 1),
    ({"type": "reconnect", "agentId": f"katod-{_UUID.format(9)}", "lastMessageId": "nobody"}, 1),
    ({"type": "input", "text": "hi"}, 1), ({"type": "permission_response", "id": "1", "choice": "allow"}, 1),
    ({"type": "question_response", "id": "1", "answers": {}}, 1), ({"type": "other"}, 1), ({"kind": "other"}, 1),
    ({"type": "ping"}, 1),
)  # fmt: skip
_SHOWN: Final = (
    "content-type",
    "content-disposition",
    "cache-control",
    "location",
    "retry-after",
    "allow",
    "set-cookie",
    "www-authenticate",
)


def text() -> bytes:
    """Return what the golden file contains: a line for each address."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time", lambda: NOW)
        world = World(Path(folder) / "home", patch)
        _fill(world.home)
        _say(world)
        answers = run(world, _ask_all)
    rows = [orjson.dumps(row).decode().replace(folder, "…").replace(__version__, "VERSION") for row in answers]
    return ("[\n" + ",\n".join(rows) + "\n]\n").encode()


def _fill(home: Path) -> None:
    for number, (fixture, place) in enumerate(_SESSIONS.items(), 1):
        target = home / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FIXTURES / fixture, target)
        os.utime(target, (NOW - number * _EVERY,) * 2)


def _say(world: World) -> None:
    """Record a session, and say something of two."""
    world.once()
    world.cli("start", _UUID.format(2), "logins.md")
    world.cli("rename", _UUID.format(3), "A title of mine")
    world.cli("star", _UUID.format(3))
    world.cli("label", _UUID.format(3), "later", "shop")
    world.cli("label", _UUID.format(2), "now")
    world.once()


async def _ask_all(app: Any) -> list[list[Any]]:
    rows = [_shown(path, await app.ask(path)) for path in _OF_API]
    rows += [_shown(path, await app.ask(path, headers=_BROWSER)) for path in _OF_PAGES]
    rows += [_shown(path, await app.ask(path, headers=_BROWSER)) for path in await _of_messages(app)]
    for method, path, headers, body in _OTHERS:
        answer = await app.ask(path, method, headers, body)
        rows.append([method, {name: value[:40] for name, value in headers.items()}, *_shown(path[:100], answer)])
    rows.append(sorted((await app.ask("/nowhere")).headers.items()))
    return rows + await _talk(app) + await _stream(app)


async def _of_messages(app: Any) -> list[str]:
    """Return the address of each message of a session, and of pages that begin at one."""
    found = await app.ask(f"{_PROJECT}/{_UUID.format(2)}/messages?limit=100")
    names = [row["id"] for row in found.json["messages"]]
    records = [f"/s/{_UUID.format(2)}/record?only={name}" for name in (*names[:6], "nobody", "")]
    pages = [f"{_PROJECT}/{_UUID.format(2)}/messages?limit=2&{word}={names[1]}" for word in ("before", "after")]
    return [*(f"/s/{_UUID.format(2)}/markdown?only={name}" for name in names), *records, *pages]


async def _talk(app: Any) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for said, count in _SAID:
        async with app.socket() as client:
            await client.say(**said)
            rows.append([said, [await client.hear() for _ in range(count)]])
    return rows


async def _stream(app: Any) -> list[list[Any]]:
    """Return the first events of the streams of pages: from the beginning, after an event, and after an unknown one."""
    one = f"/s/{_UUID.format(2)}/live"
    whole = await _heard(app, one, message=6, about=1)
    others = [
        (f"{one}?after={whole[1][1]}", {"message": 4}), (f"{one}?after=nobody", {"lost": 1, "about": 1}),
        ("/live", {"all": 1}), ("/live?agent=Codex", {"all": 1}),
    ]  # fmt: skip
    return [[one, whole], *[[path, await _heard(app, path, **counts)] for path, counts in others]]


async def _heard(app: Any, path: str, **counts: int) -> list[Any]:
    """Return as many events of each kind as are asked for: those of one kind in their order, which of kinds is chance."""
    found: dict[str, list[Any]] = {kind: [] for kind in counts}
    async with app.events(path) as event:
        while any(len(found[kind]) < count for kind, count in counts.items()):
            kind, name, data = await event()
            found.get(kind, []).append([kind, "" if kind == "all" else name, data])
    return [row for kind, count in counts.items() for row in found[kind][:count]]


def _shown(path: str, answer: SimpleNamespace) -> list[Any]:
    headers = {name: value for name, value in answer.headers.items() if name in _SHOWN}
    return [path, answer.status, headers, _without_chance(answer)]


def _without_chance(answer: SimpleNamespace) -> Any:
    """Return the body of an answer without what differs from one run to the next, and without a style sheet."""
    if isinstance(answer.json, dict):
        return {name: value for name, value in answer.json.items() if name != "uptime"}
    if answer.json is not None:
        return answer.json
    kind, text = answer.headers.get("content-type", ""), _CHANCE.sub("", answer.body.decode())
    return "" if "css" in kind else _WHEN.sub("", text) if kind.startswith("text/plain") else text
