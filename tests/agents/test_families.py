"""Agents that write the form of another one: places, files that are none of theirs, and where nothing commands."""

import json
from pathlib import Path

import orjson
import pytest

from katod.agents import AGENTS
from katod.agents.families import FAMILIES
from katod.config import Settings
from katod.discover.roots import find_roots
from tests.looping import each
from tests.support.records import RELATIVES, Maker, OpenClaw, says, user
from tests.support.records.families import Cowork
from tests.support.world import World


def test_a_row_has_a_name_and_places_of_its_own() -> None:
    """No two agents share a root, and each has the form of one with an adapter of its own."""
    places = [str(path) for spec in AGENTS.values() for path in spec.roots()]
    assert sorted(places) == sorted(set(places))
    assert all(not AGENTS[spec.form].form for spec in FAMILIES)
    assert all(spec.resume is None and spec.settings is None and spec.instructions is None for spec in FAMILIES)


@each("make", RELATIVES)
def test_a_session_is_recorded_under_the_agents_own_name(
    make: type[Maker], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It is found without configuration, and an export of its file knows whose it is."""
    with pytest.MonkeyPatch.context() as patch:
        world = World(tmp_path_factory.mktemp("home") / "home", patch)
        maker = make(world).say(user("::start talk.jsonl\nfirst words"), says("first answer"))
        world.once()
        rows = [orjson.loads(row) for row in world.written()["talk.jsonl"].splitlines()]
        assert {row["session"]["agent"] for row in rows} == {make.agent}
        exported = world.cli("export", maker.source, "-f", "jsonl").splitlines() if "#" not in maker.source else []
        assert {orjson.loads(row)["session"]["agent"] for row in exported} <= {make.agent}


def test_nothing_in_openclaw_is_a_command(world: World) -> None:
    """A chat's channel or a timer may speak as the user; the shell still records it."""
    maker = OpenClaw(world).say(user("::start evil\nfirst words"), says("first answer"))
    world.once()
    assert world.written() == {}
    world.cli("start", maker.session, "good.md")
    maker.say(user("::stop\nsecond words"), says("second answer"))
    world.once()
    [text] = world.written().values()
    assert "::stop" in str(text)
    assert "second answer" in str(text)


@each("name", ["a.checkpoint.11111111-2222-4333-8444-555555555555.jsonl", "a.trajectory.jsonl", "a.jsonl.deleted.1"])
def test_copies_of_openclaw_are_no_sessions(name: str) -> None:
    """They repeat a conversation."""
    assert AGENTS["openclaw"].identify(Path("/x/agents/main/sessions") / name) is None
    assert AGENTS["openclaw"].identify(Path("/x/agents/main/sessions/a.jsonl")) is not None


def test_the_audit_of_cowork_is_no_session(world: World) -> None:
    """It is beside the folder with the sessions; the person's folder is in the file beside that."""
    maker = Cowork(world).say(user("hello"), says("hi"))
    place = maker.path.parents[3] / "audit.jsonl"
    place.write_text(json.dumps({"type": "user", "uuid": "a", "message": {"content": "::start evil"}}) + "\n")
    beside = place.parent.with_name(f"{place.parent.name}.json")
    beside.write_text(json.dumps({"userSelectedFolders": ["/home/me/taxes", "/home/me/letters"]}))
    [session] = [orjson.loads(row) for row in world.cli("sessions", "--json").splitlines()]
    assert (session["agent"], session["project"]) == ("cowork", "/home/me/taxes")


def test_folders_with_any_name_are_looked_up_each_time(world: World) -> None:
    """A folder that appears later is found, and those in which it may appear are watched."""
    [root] = [root for root in find_roots(Settings(), AGENTS) if root.agent == "openclaw"]
    assert (root.folders, root.above) == ((), (root.path / "agents",))
    OpenClaw(world)
    assert root.folders == (root.path / "agents/main/sessions",)
    assert root.above == (root.path / "agents", root.path / "agents/main")
