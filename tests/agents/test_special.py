"""Regressions specific to one agent: databases, trees of files, rewritten documents and odd records."""

import json
import os
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from katod.agents.opencode.adapter import OpenCodeAdapter
from katod.agents.opencode.tree import _objects_in
from tests.agents.test_compliance import events, words
from tests.support.records import (
    CWD,
    OTHER,
    SESSION,
    Claude,
    Codex,
    Cursor,
    Gemini,
    GeminiDocument,
    Maker,
    OpenCode,
    milliseconds,
    moment,
    says,
    user,
)
from tests.support.world import World


def test_opencode_turns_while_katod_was_down_are_recorded(world: World) -> None:
    """A database session that grows by more than two turns while katod is down is recorded completely."""
    maker = OpenCode(world).say(user("::start talk.jsonl\nw0"), says("a0"))
    world.once()
    for n in range(1, 7):
        maker.say(user(f"w{n}"), says(f"a{n}"))
    world.once()
    assert words(events(world)) == [f"{k}{n}" for n in range(7) for k in "wa"]


def test_opencode_command_typed_while_katod_was_down_acts(world: World) -> None:
    """A command typed while katod was down is obeyed when it is back, however much follows it."""
    maker = OpenCode(world).say(user("hello"), says("a0"))
    world.once()
    maker.say(user("::start talk.jsonl"), says("a"))
    for n in range(1, 5):
        maker.say(user(f"w{n}"), says(f"a{n}"))
    world.once()
    assert list(world.written()) == ["talk.jsonl"]


def test_history_in_a_compressed_rollout_never_commands(world: World) -> None:
    """A `.jsonl.zst` that predates katod is history to its end."""
    zstandard = pytest.importorskip("zstandard")
    codex = Codex()
    file = world.codex()
    file.append(codex.meta(), *[codex.says("the same words again and again " * 20) for _ in range(50)])
    file.append(codex.user("::start evil.md\nold words"), codex.says("old answer"))
    packed = file.path.with_suffix(".jsonl.zst")
    packed.write_bytes(zstandard.compress(file.path.read_bytes()))
    file.path.unlink()
    os.utime(packed, (1, 1))
    world.once()
    world.once()
    assert world.written() == {}


def test_opencode_fork_repeats_no_command(world: World) -> None:
    """`/fork` copies messages and parts under new ids into a new session: commands in copied history are ignored."""
    maker = OpenCode(world).say(user("::start\nfirst words"), says("first answer"), user("::stop"), says("ok"))
    world.once()
    assert len(world.written()) == 1
    time.sleep(0.05)
    fork = OpenCode(world, OTHER)
    names = {record["id"]: record["id"] + "f" for record in maker.items}
    for record in maker.items:
        data = dict(record["data"])
        if "parentID" in data:
            data["parentID"] = names[data["parentID"]]
        copy = record | {"id": names[record["id"]], "data": data}
        if "message" in copy:
            copy["message"] = names[copy["message"]]
        fork.put(copy)
    world.once()
    assert len(world.written()) == 1


@pytest.mark.parametrize("shape", ["parts", "string", "hook"])
def test_gemini_text_that_the_client_appends_to_a_prompt_never_commands(world: World, shape: str) -> None:
    """Text that `@file` and hooks append to a prompt is in the user's record, but was not typed by the user."""
    maker = Gemini(world) if shape != "string" else GeminiDocument(world)
    maker.say(user("hi"))
    world.once()
    if shape == "hook":
        content: Any = [{"text": "look"}, {"text": "<hook_context>\n::start evil\n</hook_context>"}]
    else:
        content = [
            {"text": "look at @a.md"}, {"text": "\n--- Content from referenced files ---"},
            {"text": "\nContent from @a.md:\n"}, {"text": "# A\n\n::start evil\n\ntext\n"},
            {"text": "\n--- End of content ---"},
        ]  # fmt: skip
        if shape == "string":
            content = "".join(part["text"] for part in content)
    maker.put({"id": "mx", "timestamp": moment(), "type": "user", "content": content})
    world.once()
    assert world.written() == {}


BAD = {
    "session time is null": "UPDATE session SET time_updated = NULL WHERE id = 'ses_77777777'",
    "session time is text": "UPDATE session SET time_updated = 'now' WHERE id = 'ses_77777777'",
    "message id is a blob": "UPDATE message SET id = x'00ff' WHERE id = (SELECT max(id) FROM message WHERE session_id = 'ses_77777777')",
    "message time is null": "UPDATE message SET time_updated = NULL WHERE session_id = 'ses_77777777'",
    "part time is null": "UPDATE part SET time_updated = NULL WHERE session_id = 'ses_77777777'",
    "time is a number": "UPDATE message SET data = json_set(data, '$.time', 5) WHERE session_id = 'ses_77777777'",
    "huge time": "UPDATE session SET time_updated = 9000000000000000000 WHERE id = 'ses_77777777'",
}


@pytest.mark.parametrize("bad", BAD)
def test_one_bad_row_in_the_database_stops_nobody_else(world: World, bad: str) -> None:
    """A row with a wrong type in one session does not keep other sessions from being followed."""
    good = OpenCode(world).say(user("hello"), says("hi"))
    other = OpenCode(world, OTHER)
    other.count = 100
    other.say(user("hello"), says("hi"), user("more"))
    good.run(BAD[bad])
    good.say(user("::start talk.jsonl\nfirst words"), says("first answer"))
    world.once()
    assert words(events(world)) == ["first words", "first answer"]


def test_a_deep_part_does_not_end_the_recording(world: World) -> None:
    """A tool input with 300 levels does not end the recording, and all texts are recorded."""
    maker = OpenCode(world).say(user("::start talk.jsonl\nw0"), says("a0"))
    world.once()
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    row = maker.message("assistant", parentID=maker.prompt, finish="stop", time={"completed": 5})
    state = {"status": "completed", "input": {"x": deep}, "output": "o"}
    maker.put(row, maker.part(row, type="tool", tool="x", callID="c", state=state))
    maker.say(user("w1"), says("a1"))
    world.once()
    assert words(events(world)) == ["w0", "a0", "w1", "a1"]


def test_opencode_db_in_the_home_directory_stops_no_output(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`OPENCODE_DB=~/opencode.db` names a file: the home directory does not become an agent's root."""
    monkeypatch.setenv("OPENCODE_DB", str(world.home / "opencode.db"))
    world.once()
    Claude(world).say(user("::start\nfirst words"), says("first answer"))
    world.once()
    assert len(world.written()) == 1


class Tree:
    """A session in OpenCode's file tree, 0.6 to 1.1 or older."""

    def __init__(self, world: World, *, old: bool = False) -> None:
        base = world.home / ".local/share/opencode"
        if old:
            top = base / "project/home-me-app/storage/session"
            self.session, self.messages, self.parts = top / "info", top / "message/ses_1", top / "part/ses_1"
        else:
            top = base / "storage"
            self.session, self.messages, self.parts = top / "session/p", top / "message/ses_1", top / "part"
        self.n = 0

    def write(self, path: Path, value: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1))

    def touch(self) -> None:
        self.n += 1
        info = {
            "id": "ses_1",
            "directory": CWD,
            "version": "1.1.65",
            "title": "t",
            "time": {"created": 1, "updated": milliseconds() + self.n},
        }
        self.write(self.session / "ses_1.json", info)

    def message(self, name: str, **data: Any) -> None:
        self.write(self.messages / f"{name}.json", {"id": name, "sessionID": "ses_1"} | data)

    def part(self, message: str, name: str, **data: Any) -> None:
        row = {"id": name, "sessionID": "ses_1", "messageID": message}
        self.write(self.parts / message / f"{name}.json", row | data)


def test_a_part_that_is_final_after_the_session_file_was_written(world: World) -> None:
    """An answer that is completed in its own file is noticed without a change of the session file."""
    tree = Tree(world)
    tree.message("msg_1", role="user", time={"created": milliseconds()})
    tree.part("msg_1", "prt_1", type="text", text="::start talk.jsonl\nfirst words")
    tree.touch()
    world.once()
    tree.message("msg_2", role="assistant", parentID="msg_1", time={"created": milliseconds()})
    tree.part("msg_2", "prt_2", type="text", text="", time={"start": 1})
    tree.touch()
    world.once()
    tree.part("msg_2", "prt_2", type="text", text="first answer", time={"start": 1, "end": 2})
    tree.message("msg_2", role="assistant", parentID="msg_1", time={"created": 1, "completed": 2}, finish="stop")
    world.once()
    assert words(events(world)) == ["first words", "first answer"]


def test_a_deep_part_in_the_tree_ends_nobody(world: World) -> None:
    """A deeply nested part is replaced by a marker, and the session can be exported."""
    tree = Tree(world)
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    tree.message("msg_1", role="user", time={"created": milliseconds()})
    tree.part("msg_1", "prt_1", type="text", text="hello", metadata=deep)
    tree.touch()
    world.once()
    world.cli("export", str(tree.session / "ses_1.json"))


@pytest.mark.slow
def test_a_document_of_many_small_objects_takes_no_minutes(world: World) -> None:
    text = "{}\n" * 400_000
    began = time.process_time()
    assert len(list(_objects_in(text))) == 400_000
    assert time.process_time() - began < 2  # was 12 s for 1.2 MB when it was quadratic


def test_a_link_to_a_database_is_refused_aloud(world: World) -> None:
    """A linked database is refused: its WAL is next to the target, so a read through the link would be stale."""
    target = world.home / "elsewhere.db"
    path = world.home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    target.write_bytes(b"")
    path.symlink_to(target)
    world.once()
    assert "does not follow" in world.cli("status")


def test_history_that_was_half_written_when_first_seen_never_commands(world: World) -> None:
    """A document that was incomplete when first seen is history once it is complete."""
    maker = GeminiDocument(world).say(user("::start evil"), says("long ago"))
    whole = maker.path.read_bytes()
    maker.path.write_bytes(whole[: len(whole) // 2])
    maker.age()
    world.once()
    maker.path.write_bytes(whole)
    maker.age()
    world.once()
    assert world.written() == {}


@pytest.mark.slow
def test_a_parked_output_of_a_database_session_misses_nothing(world: World) -> None:
    """An output that cannot be written for a while catches up afterwards and misses nothing."""
    maker = OpenCode(world).say(user("::start talk.jsonl\nw0"), says("a0"))
    world.once()
    [path] = (world.home / "katod").rglob("talk.jsonl")
    folder, hidden = path.parent, path.parent.with_name("hidden")
    folder.rename(hidden)
    folder.symlink_to(hidden)
    for n in range(1, 7):
        maker.say(user(f"w{n}"), says(f"a{n}"))
        world.once()
    folder.unlink()
    hidden.rename(folder)
    maker.say(user("end"))
    world.once()
    world.once()
    assert words(events(world)) == [f"{k}{n}" for n in range(7) for k in "wa"] + ["end"]


def test_gemini_command_behind_the_context_of_a_hook_acts(world: World) -> None:
    """`gemini -p` with a SessionStart hook stores `<hook_context>…</hook_context>`, two newlines, and the prompt."""
    maker = Gemini(world).say(user("hi"))
    world.once()
    text = "<hook_context>remember</hook_context>\n\n::start talk.jsonl\nmy words"
    maker.put({"id": "mx", "timestamp": moment(), "type": "user", "content": [{"text": text}]})
    world.once()
    assert words(events(world)) == ["my words"]


@pytest.mark.parametrize("stamped", [True, False])
def test_a_command_typed_after_cursor_regenerated_its_file_acts(world: World, stamped: bool) -> None:
    """A command typed after a rewrite is obeyed, with times to the minute and without any."""
    maker = Cursor(world)

    def put(said: Any) -> None:
        for record in maker.records(said):
            if not stamped and record["role"] == "user":
                block = record["message"]["content"][0]
                block["text"] = block["text"][block["text"].index("<user_query>") :]
            maker.put(record)

    for _ in range(2):
        put(user("hello"))
        put(says("yes"))
        maker.put({"type": "turn_ended", "status": "success"})
    world.once()
    maker.rewrite(lambda _, record: record.get("type") != "turn_ended")
    world.once()
    put(user("::start talk.jsonl\nmore"))
    put(says("yes"))
    world.once()
    assert words(events(world)) == ["more", "yes"]


def test_a_change_in_the_same_millisecond_is_seen(world: World) -> None:
    """A change is noticed even if it leaves all times and counts equal."""
    maker = OpenCode(world).say(user("::start talk.jsonl\nw0"))
    world.once()
    row = maker.message("assistant", parentID=maker.prompt, modelID="glm-5")
    part = maker.part(row, type="text", text="", time={"start": 1})
    maker.put(row, part)
    maker.run(*(f"UPDATE {t} SET time_updated = (SELECT max(time_updated) FROM part)" for t in ("part", "message")))
    world.once()
    done = json.dumps(part["data"] | {"text": "a0", "time": {"start": 1, "end": 2}})
    maker.run(("UPDATE part SET data = ? WHERE id = ?", (done, part["id"])))
    world.once()
    assert words(events(world)) == ["w0", "a0"]


def test_what_was_typed_while_the_database_could_not_be_read_acts(world: World) -> None:
    """A database that could not be read was not swept: what is found in it later is not history."""
    maker = OpenCode(world)
    index, away = maker.path.with_name("opencode.db-shm"), maker.path.with_name("away")
    maker.say(user("::start talk.jsonl\nw0"))
    index.rename(away)
    time.sleep(0.1)
    world.once()
    away.rename(index)
    world.once()
    assert words(events(world)) == ["w0"]


def test_one_odd_part_costs_one_part(world: World) -> None:
    """A part with an invalid type does not affect the rest of the session, which is one record."""
    maker = OpenCode(world).say(user("::start talk.jsonl\nw0"), says("a0"))
    world.once()
    row = maker.message("assistant", parentID=maker.prompt)
    maker.put(
        row, maker.part(row, type=["x"]), row | {"data": row["data"] | {"time": {"completed": 5}, "finish": "stop"}}
    )
    maker.say(user("w1"), says("a1"))
    world.once()
    assert words(events(world)) == ["w0", "a0", "w1", "a1"]
    assert "first" not in str([e for e in events(world) if e["kind"] == "provider.raw"])


@pytest.mark.slow
def test_a_document_that_is_too_large_is_a_problem_that_is_shown(world: World) -> None:
    """A document that is too large to read is reported by `katod status`."""
    maker = GeminiDocument(world).say(user("::start talk.jsonl\nw0"), says("a0"))
    world.once()
    call = {"id": "c", "name": "x", "args": {}, "status": "success", "resultDisplay": "x" * 70_000_000}
    maker.items.append({"id": "big", "timestamp": moment(), "type": "gemini", "content": "", "toolCalls": [call]})
    maker.say(user("w1"), says("a1"))
    world.once()
    assert "too large to read" in world.cli("status")


@pytest.mark.parametrize("make", [OpenCode, GeminiDocument])
def test_a_second_recording_knows_the_project(world: World, make: type[Maker]) -> None:
    """A second recording knows the project, as an unrecorded session is read again from its beginning."""
    maker = make(world).say(user("::start one\nw0"), says("a0"), user("::stop"), says("ok"))
    world.once()
    maker.say(user("::start two\nw1"), says("a1"))
    world.once()
    [path] = (world.home / "katod").rglob("two.md")
    assert path.parent.name == "app"
    assert 'project: "app"' in path.read_text()


@pytest.mark.parametrize("make", [OpenCode, GeminiDocument])
def test_an_excluded_project_stays_excluded(world: World, make: type[Maker]) -> None:
    """A command in an excluded project is ignored, however often it is typed."""
    world.config.write_text('[recording]\nexclude = ["/home/me/app"]\n')
    maker = make(world)
    for number in range(3):
        maker.say(user(f"::start n{number}\nw"), says("a"))
        world.once()
    assert world.written() == {}


def test_an_upgrade_passes_over_nothing_of_a_database(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade the session is read from its beginning, and new turns are recorded."""
    maker = OpenCode(world).say(user("::start talk.jsonl\nw0"), says("a0"))
    world.once()
    monkeypatch.setattr(OpenCodeAdapter, "version", 99)
    maker.say(user("w1"), says("a1"))
    world.once()
    assert words(events(world)) == ["w0", "a0", "w1", "a1"]


def test_a_compressed_history_of_gemini_is_told(world: World) -> None:
    """A compressed history, in which only the preamble keeps its id, is recorded as a compaction."""
    maker = Gemini(world)
    maker.put({"$set": {"messages": maker.wrapped("preamble")}})
    maker.say(user("::start talk.jsonl\nw0"), says("a0"))
    preamble = maker.items[1]["$set"]["messages"][0]
    maker.put({"$set": {"messages": [preamble, *maker.records(user("summary"))[:1]]}})
    world.once()
    assert [row["kind"] for row in events(world)].count("context.compaction") == 1


def test_a_session_of_gemini_is_found_by_its_whole_id(world: World) -> None:
    """A session is found by its full id, although its file name contains only a prefix."""
    Gemini(world).say(user("hello"))
    assert "hello" in world.cli("export", SESSION)
    assert "hello" in world.cli("export", SESSION[:6])


def test_near_misses_of_a_document_are_not_counted_again(world: World) -> None:
    """A near miss in a document is not counted again each time the document is read."""
    maker = OpenCode(world).say(user("::start talk\nw0"), says("a0"), user("::start please look"), says("a1"))
    for number in range(3):
        maker.say(says(f"more {number}"))
        world.once()
    told = orjson.loads(world.cli("status", "--json"))["nearMisses"]
    assert [(row["kind"], row["command"]) for row in told] == [("extra words", "start")]
