"""Whatever the code of an agent raises costs the session it was called for: all else goes on, and the reason is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from katod.agents import AGENTS
from katod.agents.base import Adapter
from katod.agents.guard import failures, guarded, or_else
from katod.agents.spec import AgentSpec, Container
from katod.cli import app
from katod.errors import AgentFailed, KatodError
from katod.model import Record
from katod.tail.reader import SourceFile
from tests.examples import mostly
from tests.serve.test_app import asked
from tests.support.inprocess import InProcess
from tests.support.records import MAKERS, Claude, Maker, Pi, says, user
from tests.support.world import World

SECRET = "words of the session, with a/slash"
FUNCTIONS = [field.name for field in fields(AgentSpec) if "Callable" in str(field.type)]
CONTAINED = [name for name, kind in Container.__annotations__.items() if "Callable" in str(kind)]
ADAPTED = [
    "__init__", "feed", "feed_usage", "state", "has_pending", "finish", "typed_texts", "recognises", "name", "holds",
    "lacks_parent", "usage_state",
]  # fmt: skip
READ = [
    name for name in ("anchor", "verify_anchor", "read", "rest", "last_newline", "find") if hasattr(SourceFile, name)
]
COMMANDS = [
    ["sessions"], ["sessions", "--json"], ["status"], ["status", "--json"], ["doctor"], ["search", "--all", "nice"],
    ["show", "GOOD"], ["export", "GOOD"], ["verify"], ["export", "--all", "-o", "OUT"], ["export", "FILE"],
    ["usage"],
]  # fmt: skip


def fail(*_: Any, **__: Any) -> Any:
    """Raise what an agent's code might."""
    raise ValueError(SECRET)


def with_function(name: str) -> Callable[[AgentSpec], AgentSpec]:
    """Return what breaks one function of an agent."""
    return lambda spec: replace(spec, **{name: fail}) if getattr(spec, name) is not None else spec


def with_container(name: str) -> Callable[[AgentSpec], AgentSpec]:
    """Return what breaks one function of an agent's databases."""
    return lambda spec: replace(spec, container=spec.container._replace(**{name: fail})) if spec.container else spec


def with_adapter(name: str) -> Callable[[AgentSpec], AgentSpec]:
    """Return what breaks one method of an agent's adapter."""

    def broken(spec: AgentSpec) -> AgentSpec:
        is_static = isinstance(Adapter.__dict__.get(name), staticmethod)
        adapter = type("Broken", (spec.adapter,), {name: staticmethod(fail) if is_static else fail})
        adapter.handlers = spec.adapter.handlers
        module = ModuleType(f"katod.agents.{spec.name}_{name.strip('_')}")
        module.__dict__["Broken"] = adapter
        sys.modules[module.__name__] = module
        return replace(spec, adapter_name=f"{spec.name}_{name.strip('_')}.Broken")

    return broken


def without_adapter(spec: AgentSpec) -> AgentSpec:
    """Return the agent with an adapter whose module cannot be loaded."""
    return replace(spec, adapter_name=f"{spec.name}.nowhere.Adapter")


def with_file(name: str) -> Callable[[AgentSpec], AgentSpec]:
    """Return what breaks one method of an agent's open files."""

    def broken(spec: AgentSpec) -> AgentSpec:
        @contextmanager
        def opened(path: str) -> Iterator[SourceFile]:
            with spec.open(path) as file:
                setattr(file, name, fail)
                yield file

        return replace(spec, open=opened)

    return broken


WAYS = (
    {f"spec.{name}": with_function(name) for name in FUNCTIONS}
    | {f"container.{name}": with_container(name) for name in CONTAINED}
    | {f"adapter.{name}": with_adapter(name) for name in ADAPTED}
    | {f"file.{name}": with_file(name) for name in READ}
    | {"adapter": without_adapter}
)
SHOWN = {  # what a session or all of an agent cannot do without
    "spec.roots", "spec.identity_of", "spec.open", "spec.reported", "adapter", "adapter.__init__", "adapter.feed", "adapter.state",
    "adapter.has_pending", "file.read", "file.verify_anchor",
}  # fmt: skip
CASES = [(maker, way) for maker in MAKERS for way in WAYS]
USUAL = [CASES[at] for at in range(0, len(CASES), 37)]


def test_every_function_of_an_agent_is_tried() -> None:
    """The registry guards each, and the cases have all methods of an adapter that are called from outside."""
    spec = AGENTS["opencode"]
    again = spec.guarded()
    left = [name for name in FUNCTIONS if getattr(spec, name) is not None]
    assert not [name for name in left if getattr(again, name) is getattr(spec, name) and name != "open"]
    public = {name for name in vars(Adapter) if not name.startswith("_") and callable(getattr(Adapter, name))}
    assert public | {"__init__"} == set(ADAPTED)


@pytest.fixture
def good(world: World, request: pytest.FixtureRequest) -> Maker:
    """Return a session of an agent that works."""
    broken = request.getfixturevalue("case")[0]
    return (Pi if broken.agent == "claude" else Claude)(world)


@pytest.mark.breaks
@pytest.mark.parametrize("case", mostly(USUAL, CASES), ids=lambda case: f"{case[0].__name__}-{case[1]}")
def test_what_an_agent_raises_costs_its_session_alone(
    world: World, good: Maker, case: tuple[type[Maker], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon records the session of another agent, commands read it, and none of them ends with a traceback."""
    maker, way = case
    bad = maker(world).say(user("::start bad.md\nhello"), says("fine"))
    world.once()
    monkeypatch.setitem(AGENTS, maker.agent, WAYS[way](AGENTS[maker.agent]).guarded())  # type: ignore[index]
    running = InProcess(world)
    bad.say(user("go on"), says(f"well, {SECRET}"))
    good.say(user("::start good.md\nhow nice"), says("very nice"))
    running.turn()
    running.tell_states()
    good.say(user("and now?"), says("still nice"))
    running.turn()
    running.stop()
    if way in SHOWN:
        kind = "ModuleNotFoundError" if way == "adapter" else "ValueError"
        assert f"internal error: {kind}" in world.cli("status"), way
    if way == "adapter":
        assert "cannot be loaded" in CliRunner().invoke(app, ["doctor"], env=world.variables).output
    assert "still nice" in world.written()["good.md"]
    check_commands(world, good)
    for answer in asked(world, "/", "/projects", "/sessions/recent", "/search?q=nice"):
        assert answer.status == 200
        assert SECRET.encode() not in answer.body


def check_commands(world: World, good: Maker) -> None:
    """Check that each command reads the good session, and that none prints what the error says."""
    for command in COMMANDS:
        words = [
            {"GOOD": f"{good.agent}:{good.session}", "OUT": str(world.home / "all"), "FILE": str(good.path)}.get(
                word, word
            )
            for word in command
        ]
        result = CliRunner().invoke(app, words, env=world.variables)
        assert result.exception is None or isinstance(result.exception, (SystemExit, KatodError)), (
            command,
            result.exception,
        )
        assert SECRET not in result.output, command
        if command[0] in ("sessions", "search", "show") or command in (["export", "GOOD"], ["export", "FILE"]):
            assert "nice" in result.output, (command, result.output)
    exported = [path.read_text() for path in (world.home / "all").rglob("*.md")]
    assert any("still nice" in text for text in exported)


@pytest.mark.breaks
def test_a_failure_that_stops_nothing_is_noted_for_its_path() -> None:
    """Or for all of the agent, if it was called for no path; not any more once it works again."""
    broken = [True]

    def name_of(*_given: Any) -> str:
        return fail() if broken[0] else "named"

    named = or_else(lambda *_: "", name_of, "pi")
    assert (named("/x/s.jsonl"), named()) == ("", "")
    found = {place: what for start in ("/x", "pi") for place, what in failures(start).items()}
    assert set(found) == {"/x/s.jsonl", "pi"}
    assert SECRET not in str(found)
    broken[0] = False
    assert (named("/x/s.jsonl"), named()) == ("named", "named")
    assert failures("/x") == failures("pi") == {}


@pytest.mark.breaks
def test_a_failure_names_the_path_that_a_function_was_called_for() -> None:
    """Be it the path itself, or what has one; what a record says is never shown."""
    for given in (("/x/s.jsonl",), (Path("/x/s.jsonl"),), (SimpleNamespace(path="/x/s.jsonl"), "a/b")):
        with pytest.raises(AgentFailed) as caught:
            guarded(fail)(*given)
        assert str(caught.value.path) == "/x/s.jsonl"
    for nothing in ((), ("words",), (Record(0, {"text": SECRET}, raw=SECRET),)):
        with pytest.raises(AgentFailed) as caught:
            guarded(fail)(*nothing)
        assert caught.value.path is None
