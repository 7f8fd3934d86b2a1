"""What clients may ask for: parts of lists, and what an export has in it."""

import asyncio
import os

import pytest
from starlette.requests import Request
from starlette.responses import Response

from katod.errors import LedgerError
from katod.serve import worker
from katod.serve.index import sessions
from katod.serve.protocol import rest
from katod.serve.protocol.rest import _guarded
from katod.serve.worker import Busy
from tests.serve.test_app import ONE, PROJECT, SESSIONS, asked
from tests.support.records import SESSION, user

DATED = 1_770_000_000


@pytest.fixture
def thinking(world):
    """Return the world of a session with thinking in it."""
    maker = world.claude()
    maker.write(maker.user("begin here"), maker.thinks("a hidden thought"), maker.says("with pleasure"))
    maker.write(maker.runs("c1", "ls"), maker.result("c1", "a b"))
    return world


def test_a_list_has_a_bounded_number_of_sessions(world):
    """Fifty unless another number is asked for, at most a hundred; of the latest of all, ten and at most fifty."""
    for number in range(103):
        world.session(number).say(user(f"number {number}"))
    paths = [f"{SESSIONS}{query}" for query in ("", "?limit=100", "?limit=101", "?limit=100&offset=100")] + [
        f"/sessions/recent{query}" for query in ("", "?limit=50", "?limit=51")
    ]
    answers = asked(world, *paths)
    counts = [len(answer.json["sessions"]) for answer in answers]
    assert counts == [50, 100, 100, 3, 10, 50, 50]


def test_a_list_reads_the_names_of_the_sessions_in_it_alone(world, monkeypatch):
    """All sessions are chosen from by their beginnings: an agent's name for one may be anywhere in it."""
    read = []
    monkeypatch.setattr(sessions, "name_at_end", lambda entry, _file: read.append(entry.name))
    for number in range(5):
        world.session(number).say(user(f"number {number}"))
    [answer] = asked(world, f"{SESSIONS}?limit=2")
    assert sorted(read) == sorted(row["id"] for row in answer.json["sessions"])


def test_what_needs_no_reading_takes_one_turn(world, monkeypatch):
    """A list does not wait once more for other readings after every few sessions that it is chosen from."""
    monkeypatch.setattr(worker, "_SLICE", 60)
    turns, take = [], worker._take
    monkeypatch.setattr(worker, "_take", lambda items, at_once: turns.append(at_once) or take(items, at_once))
    for number in range(worker._AT_ONCE * 2):
        world.session(number).say(user(f"number {number}"))
    for path in (SESSIONS, "/sessions/recent", "/sessions/recent?source=user"):
        turns.clear()
        [answer] = asked(world, path)
        assert answer.json["sessions"]
        assert [at_once for at_once in turns if at_once > worker._AT_ONCE] == [rest._ROWS], path


def test_an_export_has_thinking_unless_it_is_left_out(thinking):
    """In both formats; without a format it is Markdown, and another one is a mistake."""
    exported = "excludeThinking=true", "excludeThinking=false", ""
    kinds = []
    for query in exported:
        markdown, plain, messages = asked(
            thinking,
            f"{ONE}/export?format=markdown&{query}",
            f"{ONE}/export?{query}",
            f"{ONE}/export?format=json&{query}",
        )
        assert markdown.body == plain.body
        assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
        kinds.append([row["message"]["type"] for row in messages.json])
        assert (b"a hidden thought" in markdown.body) is ("thinking" in kinds[-1])
        assert b"with pleasure" in markdown.body
    assert kinds[0] == [kind for kind in kinds[1] if kind != "thinking"]
    assert kinds[1] == kinds[2]
    assert "thinking" in kinds[1]
    assert asked(thinking, f"{ONE}/export?format=html")[0].json["code"] == "INVALID_PARAMS"


def test_an_export_has_blocks_of_content_if_they_are_asked_for(thinking):
    """Those of the conversation: what was said, thought, called and answered."""
    plain, raw = asked(thinking, f"{ONE}/export?format=json", f"{ONE}/export?format=json&includeStructuredContent=true")
    assert not any("rawContent" in row for row in plain.json)
    blocks = [block for row in raw.json for block in row.get("rawContent", [])]
    assert [(block["type"], block.get("text", block.get("thinking", block.get("input")))) for block in blocks] == [
        ("text", "begin here"), ("thinking", "a hidden thought"), ("text", "with pleasure"),
        ("tool_use", {"command": "ls"}), ("tool_result", None),
    ]  # fmt: skip
    without = [{name: value for name, value in row.items() if name != "rawContent"} for row in raw.json]
    assert without == plain.json


@pytest.fixture
def several(world):
    """Return a world with five sessions of one project, the last one with a sub-agent, and one of another project."""
    for number in range(1, 6):
        maker = world.session(number).say(user(f"number {number}"))
        os.utime(maker.path, (DATED + number,) * 2)
    folder = maker.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    sub_agent = folder / "agent-a1b2c3d4.jsonl"
    sub_agent.write_text(maker.path.read_text().replace("number 5", "look around"))
    os.utime(sub_agent, (DATED,) * 2)
    other = world.claude(SESSION, folder="-home-me-other")
    other.write(other.user("elsewhere", cwd="/home/me/other"))
    os.utime(other.path, (DATED - 1,) * 2)
    return world


def titles(answer):
    return [row["title"] for row in answer.json["sessions"]]


def test_a_list_comes_in_parts(several):
    """The latest session first, from an offset on; each part says how many there are, and whether there are more."""
    paths = [f"{SESSIONS}?limit=2&source=user&offset={offset}" for offset in (0, 2, 4, 9)]
    parts = asked(several, *paths)
    assert [titles(part) for part in parts] == [["number 5", "number 4"], ["number 3", "number 2"], ["number 1"], []]
    assert [(part.json["total"], part.json["hasMore"]) for part in parts] == [
        (5, True),
        (5, True),
        (5, False),
        (5, False),
    ]


def test_a_list_has_the_sessions_that_are_wanted(several):
    """Of one project, or of all; with sub-agents, without them, or these alone; archived ones are none."""
    everything, mine, agents, archived, recent, latest = asked(
        several, SESSIONS, f"{SESSIONS}?source=user", f"{SESSIONS}?source=agent", f"{SESSIONS}?archivedOnly=true",
        "/sessions/recent?source=user", "/sessions/recent?limit=1",
    )  # fmt: skip
    numbers = [f"number {number}" for number in (5, 4, 3, 2, 1)]
    assert titles(mine) == numbers
    assert titles(everything) == [*numbers, *titles(agents)]
    assert len(titles(agents)) == 1
    assert (titles(archived), archived.json["total"]) == ([], 0)
    assert titles(recent) == [*numbers, "elsewhere"]
    assert titles(latest) == numbers[:1]


def test_the_children_of_a_session_are_its_sub_agents(several):
    """By its own address, and by its id in the list of its project; another session has none."""
    ids = {row["title"]: row["id"] for row in asked(several, f"{SESSIONS}?source=user")[0].json["sessions"]}
    [agents] = asked(several, f"{SESSIONS}?source=agent")
    one, other = ids["number 5"], ids["number 4"]
    paths = f"{SESSIONS}/{one}/children", f"{SESSIONS}?parentSessionId={one.upper()}", f"{SESSIONS}/{other}/children"
    children, by_parent, none = asked(several, *paths)
    assert children.json == by_parent.json == agents.json
    assert (none.json["sessions"], none.json["total"]) == ([], 0)
    assert asked(several, f"{SESSIONS}/nobody/children")[0].status == 404
    assert asked(several, f"/projects/%2Fhome%2Fme%2Fother/sessions/{one}/children")[0].status == 404


def test_the_sessions_of_a_project_are_counted(several):
    """By who began them, and, if a source is named, how many are of that."""
    counted, agents = asked(several, f"{SESSIONS}/count", f"{SESSIONS}/count?source=agent")
    assert counted.json == {"total": 6, "user": 5, "agent": 1, "helper": 0}
    assert agents.json == counted.json | {"source": "agent", "count": 1}


def test_a_search_comes_in_parts(several):
    """In all projects or in one; without words, or with too many, it is a mistake."""
    found, rest, one, of_project, elsewhere, none, wordy = asked(
        several, "/search?q=number&limit=3", "/search?q=number&limit=3&offset=3", "/search?q=number%204",
        f"{PROJECT}/sessions/search?q=elsewhere", "/search?q=elsewhere&project=/home/me/other",
        "/search?q=%20", f"/search?q={'x' * 1001}",
    )  # fmt: skip
    assert (found.json["total"], found.json["hasMore"], len(found.json["results"])) == (5, True, 3)
    assert (rest.json["total"], rest.json["hasMore"], len(rest.json["results"])) == (5, False, 2)
    assert not {str(row) for row in found.json["results"]} & {str(row) for row in rest.json["results"]}
    assert (one.json["query"], one.json["total"]) == ("number 4", 1)
    assert (of_project.json["results"], elsewhere.json["total"]) == ([], 1)
    assert [(answer.status, answer.json["error"]) for answer in (none, wordy)] == [(400, "MISSING_QUERY")] * 2
    assert asked(several, f"/search?q={'x' * 1000}")[0].status == 200


@pytest.mark.parametrize("error", [Busy(), LedgerError("damaged")])
def test_what_cannot_be_read_now_may_be_asked_for_again(error: Exception) -> None:
    """A second later; what is wrong is not said."""

    async def fail(_request: Request) -> Response:
        raise error

    answer = asyncio.run(_guarded(fail)(None))  # type: ignore[arg-type]
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert b"damaged" not in answer.body
