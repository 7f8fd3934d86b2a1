"""Real sessions as they grew: all states, played in order into one file, give what the last state alone gives."""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from katod import events as ev
from tests.support.outputs import only
from tests.support.records import SESSION
from tests.support.world import World

CORPUS = Path(os.environ.get("KATOD_CORPUS") or Path(__file__).parents[2] / "../shared/corpus")
PLACES = {
    "gemini": f".gemini/tmp/app/chats/session-2026-01-15T20-51-{SESSION[:8]}.json",
    "cursor": f".cursor/projects/app/agent-transcripts/{SESSION}/{SESSION}.jsonl",
    "opencode": ".local/share/opencode/storage/session/app/{session}.json",
}
# What an agent rewrites may be in a live transcript but not in a later export (katod/agents/README.md).
KEPT = {"gemini": {ev.CONFIG_CHANGE}, "cursor": {ev.TURN_END, ev.ERROR}, "opencode": {ev.SYSTEM_MESSAGE}}


def sessions(agent: str) -> list[list[bytes]]:
    """Return the states of each real session, oldest first."""
    found: dict[str, list[bytes]] = defaultdict(list)
    for path in sorted((CORPUS / agent).glob("entire-*")):
        data = path.read_bytes()
        found[_name(agent, data)].append(data)
    return [sorted(states, key=len) for states in found.values() if len(states) > 1]


def _name(agent: str, data: bytes) -> str:
    if agent == "cursor":
        return data.splitlines()[0].decode()
    value = json.loads(data)
    return str(value["sessionId"] if agent == "gemini" else value["info"]["id"])


def cases() -> list[Any]:
    """Return each session that has more than one state."""
    return [
        pytest.param(agent, states, id=f"{agent}-{n}-{len(states)} states")
        for agent in ("gemini", "cursor", "opencode")
        for n, states in enumerate(sessions(agent))
    ]


def play(world: World, agent: str, states: list[bytes]) -> list[dict[str, Any]]:
    """Write the states in order and return the recorded events, except those that an agent may rewrite."""
    world.config.write_text('[recording]\nauto = true\n[output]\nformat = "jsonl"\n')
    name = _name(agent, states[0]) if agent == "opencode" else ""
    path = world.home / PLACES[agent].format(session=name)
    path.parent.mkdir(parents=True)
    chats = path.parent.parent / ".project_root"
    chats.write_text("/home/me/app")
    (path.parent.parent.parent / ".workspace-trusted").write_text("/home/me/app")
    for state in states:
        path.write_bytes(in_storage(path, state) if agent == "opencode" else state)
        world.once()
    rows = [orjson.loads(row) for row in only(world, ".jsonl").splitlines()]
    return [row | {"source": 0} for row in rows if row["kind"] not in KEPT[agent]]


def in_storage(path: Path, state: bytes) -> bytes:
    """Write an exported session as the tree of files it came from; return the content of the session's own file."""
    storage, value = path.parents[2], json.loads(state)
    for message in value["messages"]:
        info = message["info"]
        _write(storage / "message" / path.stem / f"{info['id']}.json", info)
        for part in message["parts"]:
            _write(storage / "part" / info["id"] / f"{part['id']}.json", part)
    main = {
        key: kept for key, kept in value["info"].items() if key != "parentID"
    }  # sub-agents are not recorded by rule
    return json.dumps(main, indent=1).encode()


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no real sessions under {CORPUS}")
@pytest.mark.parametrize(("agent", "states"), cases())
def test_a_session_that_grows_gives_what_it_is_in_the_end(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, states: list[bytes]
) -> None:
    """All events of the last state are recorded once, in order; events deleted in between stay."""
    grown = play(world, agent, states)
    last = play(World(tmp_path / "last", monkeypatch), agent, states[-1:])
    ids = [row["id"] for row in grown]
    assert len(ids) == len(set(ids))
    kept = {row["id"] for row in last}
    assert [row for row in grown if row["id"] in kept] == last
