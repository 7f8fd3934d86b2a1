"""Names of sessions that agents keep beside the records: lists show them, and recordings do not."""

import json
from collections.abc import Callable
from typing import Any, Final

import orjson
import pytest

from tests.support.records import Claude, Cline, Kimi, Maker, OpenCode, OpenCode2, VSCode, says, user
from tests.support.world import World

NAME: Final = "The login page"
SECRET: Final = "sk-ant-api03-" + "a1B2" * 24


def _kimi(maker: Maker, name: str) -> None:
    state = {"title": name, "isCustomTitle": True}
    maker.path.parents[2].joinpath("state.json").write_text(json.dumps(state))


def _cline(maker: Maker, name: str) -> None:
    manifest = maker.path.with_name(f"{maker.session}.json")
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"metadata": {"title": name}}))


def _opencode(maker: Any, name: str) -> None:
    maker.run((f"UPDATE {maker.TABLE} SET title = ?", (name,)))


def _vscode(maker: Maker, name: str) -> None:
    with maker.path.open("a") as file:
        file.write(json.dumps({"kind": 1, "k": ["customTitle"], "v": name}) + "\n")


Naming = tuple[type[Maker], Callable[[Any, str], None]]
NAMED: Final[list[Naming]] = [
    (Kimi, _kimi), (Cline, _cline), (OpenCode, _opencode), (OpenCode2, _opencode), (VSCode, _vscode),
]  # fmt: skip
each_agent = pytest.mark.parametrize(("make", "name"), NAMED, ids=lambda one: getattr(one, "__name__", ""))


def title(world: World) -> str:
    """Return the title of the only session."""
    return str(orjson.loads(world.cli("sessions", "--json"))["title"])


@each_agent
def test_a_list_shows_the_name_that_an_agent_keeps(world: World, make: type[Maker], name: Any) -> None:
    """Redacted; a recording has what was said in it."""
    maker = make(world).say(user("::start\nAdd a form"), says("Done."))
    name(maker, f"{NAME} {SECRET}")
    assert title(world).startswith(f"{NAME} [")
    assert SECRET not in world.cli("sessions", "--json")
    world.once()
    [written] = world.written().values()
    assert "# Add a form\n" in written


@each_agent
def test_a_name_that_says_nothing_is_none(world: World, make: type[Maker], name: Any) -> None:
    """The first words do."""
    name(make(world).say(user("Add a form"), says("Done.")), "yes")
    assert title(world) == "Add a form"


def test_the_placeholder_of_opencode_is_no_name(world: World) -> None:
    """The client has it until its model has thought of a title."""
    _opencode(OpenCode(world).say(user("Add a form"), says("Done.")), "New session - 2026-02-10T22:36:40.000Z")
    assert title(world) == "Add a form"


def test_kimi_calls_a_session_by_its_first_words(world: World) -> None:
    """Unless the person named it."""
    maker = Kimi(world).say(user("Add a form"), says("Done."))
    maker.path.parents[2].joinpath("state.json").write_text(json.dumps({"title": NAME, "isCustomTitle": False}))
    assert title(world) == "Add a form"


def test_cowork_keeps_the_name_beside_the_folder_of_a_session(world: World) -> None:
    """As Claude Code's records in it have none."""
    base = world.home / ".config/Claude/local-agent-mode-sessions/a/b"
    folder = base / "local_c/.claude/projects/-p"
    folder.mkdir(parents=True)
    make = Claude()
    rows = [make.user("Add a form"), make.says("Done.")]
    folder.joinpath("6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11.jsonl").write_text(
        "".join(f"{json.dumps(r)}\n" for r in rows)
    )
    base.joinpath("local_c.json").write_text(json.dumps({"title": NAME}))
    assert title(world) == NAME
