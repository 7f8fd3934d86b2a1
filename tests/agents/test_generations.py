"""A home with every generation of every agent's store at once: all are recorded, listed, searched and served."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.serve.test_app import asked
from tests.support.inprocess import InProcess
from tests.support.records import MAKERS, says, user
from tests.support.world import World

TIMES = {"created": 4_000_000_000_000}  # after katod saw the empty home
TREES = {"tree": "storage", "old-tree": "project/app/storage/session"}  # 0.6 to 1.1, and before


def write(path: Path, value: dict[str, Any]) -> None:
    """Write one of OpenCode's files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_tree(world: World, kind: str) -> None:
    """Write a session in one of OpenCode's trees of files, which stay beside the database of later versions."""
    storage = world.home / ".local/share/opencode" / TREES[kind]
    is_old, name = kind == "old-tree", f"ses_{kind}"
    for number, role, text in ((1, "user", f'::start "of {kind}.md"\nhello'), (2, "assistant", f"answer of {kind}")):
        message = {"id": f"msg_{kind}{number}", "sessionID": name, "role": role, "time": TIMES}
        message |= {"parentID": f"msg_{kind}1"} if role == "assistant" else {}
        write(storage / f"message/{name}/{message['id']}.json", message)
        part = {"id": f"prt_{kind}{number}", "messageID": message["id"], "type": "text", "text": text} | (
            {"time": {"end": 2}} if role == "assistant" else {}
        )
        write(storage / ("part/" + (f"{name}/" if is_old else "")) / f"{message['id']}/{part['id']}.json", part)
    info = {"id": name, "directory": str(world.project), "version": "1.1.65", "time": TIMES}
    write(storage / ("info" if is_old else "session/p1") / f"{name}.json", info)


@pytest.fixture
def names(world: World) -> list[str]:
    """Return the names of the sessions of a home that has all generations, one each."""
    for number, maker in enumerate(MAKERS):
        name, session = maker.__name__, f"{number:08d}-9d1e-7b7a-8c66-0123456789ab"
        maker(world, session).say(user(f'::start "of {name}.md"\nhello'), says(f"answer of {name}"))
    for kind in TREES:
        write_tree(world, kind)
    return [*(maker.__name__ for maker in MAKERS), *TREES]


@pytest.mark.slow
def test_all_generations_at_once_are_recorded_and_shown(world: World, names: list[str]) -> None:
    """None stops another: the daemon also tells their states, commands list them all, and the page is served."""
    running = InProcess(world)
    running.tell_states()
    running.turn()
    running.stop()
    written = world.written()
    assert [name for name in names if f"answer of {name}" not in written.get(f"of {name}.md", "")] == []
    listed = [json.loads(row) for row in world.cli("sessions", "--json").splitlines()]
    assert len(listed) == len(names)
    assert world.status()["problems"] == []
    found = world.cli("search", "--all", "--limit", "0", "answer of")
    assert [name for name in names if f"answer of {name}" not in found] == []
    assert [answer.status for answer in asked(world, "/", "/projects", "/sessions/recent")] == [200] * 3
