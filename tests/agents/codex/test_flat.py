"""Codex: flat rollouts, and text that another thread's agent delegates."""

from pathlib import Path

import orjson

from katod.agents import AGENTS
from katod.agents.codex.flat import directory, is_head
from katod.agents.sniffing import sniff
from katod.model import NearMiss
from tests.support.records import THREAD, Codex, CodexFlat, CodexLegacy, says, user
from tests.support.world import World

TASK = "<codex_delegation>\n  <source_thread_id>t</source_thread_id>\n  <input>Look.\n{}\nBye.</input>\n</codex_delegation>"


def events(world: World, name: str = "talk.jsonl") -> list[dict[str, object]]:
    """Return the events of an output."""
    return [orjson.loads(line) for line in world.written()[name].splitlines()]


def test_a_rollout_is_recognised_by_its_first_record() -> None:
    """By an envelope with a type and a payload, or by a flat head; in a file of lines alone."""
    recognises, name = AGENTS["codex"].adapter.recognises, Path("rollout.jsonl")
    assert recognises(name, {"type": "session_meta", "payload": {}})
    assert not recognises(name, {"payload": {}})
    assert not recognises(name, {"type": "session_meta", "payload": "x"})
    assert not recognises(name.with_suffix(".json"), {"type": "session_meta", "payload": {}})


def test_a_flat_rollout_is_recorded_in_its_project(world: World) -> None:
    """A flat rollout is found and recorded; project and title are those of the person's session."""
    maker = CodexFlat(world).say(user("hello"), says("hi"))
    world.once()
    maker.say(user("::start\nAdd a cart"), says("done"))
    world.once()
    [(name, text)] = world.written().items()
    assert name.startswith("2026-02-10-add-a-cart-")
    assert [path.parent.name for path in world.files()] == ["app"]
    assert 'project: "app"' in text
    assert "## You · Add a cart\n\n### Codex\n\ndone\n" in text


def test_commands_in_the_texts_that_the_client_sends_are_ignored(world: World) -> None:
    """Instructions and environment of a flat rollout were typed by nobody."""
    maker = CodexFlat(world).say(user("hello"))
    world.once()
    for tag in ("user_instructions", "environment_context"):
        maker.say(user(f"<{tag}>\n::start evil\n</{tag}>"))
    world.once()
    assert world.written() == {}


def test_bare_records_in_a_later_rollout_are_kept_raw(world: World) -> None:
    """Only a rollout that begins like a flat one is read as one."""
    bare = CodexFlat()
    maker = CodexLegacy(world).say(user("::start talk.jsonl"))
    maker.put(bare.user("::stop"), bare.meta(), says_bare := bare.says("hi"))
    maker.say(says("bye"))
    world.once()
    raw = [row["payload"]["raw"] for row in events(world) if row["kind"] == "provider.raw"]  # type: ignore[index]
    assert len(raw) == 3
    assert says_bare in raw
    assert events(world)[-1]["payload"]["text"] == "bye"  # type: ignore[index]


def test_a_flat_rollout_is_recognised_by_its_first_line(world: World) -> None:
    """A flat rollout can be exported wherever it is."""
    maker = CodexFlat(world).say(user("hello"))
    assert sniff(maker.path) is AGENTS["codex"]
    assert not is_head({"type": "message", "id": "m", "timestamp": "t", "instructions": "i"})
    assert not is_head({"timestamp": "2025-09-10T12:00:00Z", "role": "user", "content": "hello"})


def test_the_directory_is_the_one_that_the_client_names() -> None:
    """A directory is only read from the client's own text."""
    assert directory("<environment_context>\n  <cwd>/home/me/app</cwd>") == "/home/me/app"
    assert directory("What is in <cwd>/etc</cwd>?") == ""
    assert directory("<environment_context>\n</environment_context>") == ""


def test_a_delegated_command_is_refused_and_shown(world: World) -> None:
    """A command in a delegated task is not executed: it is a near miss, and the text is not the person's."""
    world.once()
    for make in (Codex, CodexLegacy):
        maker = make(world, THREAD[:-1] + str(int(make.paginated)))
        maker.say(user(TASK.format("::start evil\n## My request for Codex:\n::start worse")), says("looked"))
        world.once()
        assert world.written() == {}
        shown = "::start in text from another session's agent"
        assert str(NearMiss("delegated", "start")) in shown
        assert world.cli("status").count(shown) >= 2


def test_a_delegated_command_in_a_recording_is_shown_once(world: World) -> None:
    """In a recorded thread, a delegated command changes nothing and is shown in `katod status`."""
    maker = CodexLegacy(world).say(user("::start talk.jsonl\nhello"), says("hi"))
    world.once()
    maker.say(user(TASK.format("::stop")), says("looked"))
    world.once()
    said = [row["payload"] for row in events(world) if row["kind"] == "user.message"]
    assert [row.get("subtype") for row in said] == [None, "delegated"]  # type: ignore[attr-defined]
    assert events(world)[-1]["payload"]["text"] == "looked"  # type: ignore[index]
    assert world.cli("status").count("::stop in text from another session's agent") == 1
