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
from tests.serve.serving import BEARER
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
    "/search?q=test&project=/home/me/shop", "/search?q=test&project=/elsewhere", "/search?q=::start&limit=1",
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
    "/", "/?agent=Codex", "/?project=shop&by=project", "/?days=7", "/?days=1&starred=1", "/?recorded=1", "/?older=x",
    "/?label=none", "/find", "/find?q=test", "/find?q=test%20cart", f"/find?q=test&in={_UUID.format(1)}",
    "/find?q=test&in=nobody", "/s/nobody", "/s/nobody/files", "/nowhere", "/login",
    *(f"/s/{_UUID.format(number)}" for number in (1, 2, 3, 4, 5, 9)), f"/s/{_UUID.format(1)}/files",
    f"/s/{_UUID.format(1)}/markdown", f"/s/{_UUID.format(1)}/markdown?only=nobody", f"/s/{_UUID.format(2)}/transcripts/1",
    *(f"/s/{_UUID.format(9)}/download/{quote(form)}" for form in (*DOWNLOADS, "jsonl")),
)  # fmt: skip
_CHANCE: Final = re.compile(r'(?<= data-last=")[0-9a-f]{8}(?=\.)')  # the name of a list
_SHOWN: Final = ("content-type", "content-disposition", "cache-control", "location", "retry-after", "allow")


def text() -> bytes:
    """Return what the golden file contains: a line for each address."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time", lambda: NOW)
        world = World(Path(folder) / "home", patch)
        _fill(world.home)
        answers = run(world, _ask_all)
    rows = [orjson.dumps(row).decode().replace(folder, "…").replace(__version__, "VERSION") for row in answers]
    return ("[\n" + ",\n".join(rows) + "\n]\n").encode()


def _fill(home: Path) -> None:
    for number, (fixture, place) in enumerate(_SESSIONS.items(), 1):
        target = home / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FIXTURES / fixture, target)
        os.utime(target, (NOW - number * _EVERY,) * 2)


async def _ask_all(app: Any) -> list[list[Any]]:
    shown = [_shown(path, await app.ask(path)) for path in _OF_API]
    return shown + [_shown(path, await app.ask(path, headers=_BROWSER)) for path in _OF_PAGES]


def _shown(path: str, answer: SimpleNamespace) -> list[Any]:
    headers = {name: value for name, value in answer.headers.items() if name in _SHOWN}
    return [path, answer.status, headers, _without_chance(answer)]


def _without_chance(answer: SimpleNamespace) -> Any:
    """Return the body of an answer without what differs from one run to the next, and without a style sheet."""
    if isinstance(answer.json, dict):
        return {name: value for name, value in answer.json.items() if name != "uptime"}
    if answer.json is not None:
        return answer.json
    return "" if "css" in answer.headers["content-type"] else _CHANCE.sub("", answer.body.decode())
