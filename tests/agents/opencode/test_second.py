"""OpenCode 2: sessions in its own tables, alone and beside those of OpenCode 1."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.agents.opencode import SPEC, second
from katod.agents.opencode.second import SecondRows, _tool
from katod.agents.opencode.sweep import name_of, sessions_in
from katod.errors import SourceError, SourceGone
from katod.metadata import SessionStart
from katod.model import Cursor, Record
from katod.states import Report, State
from tests.agents.test_compliance import events, words
from tests.examples import examples
from tests.looping import each
from tests.support.records import OTHER, OpenCode, OpenCode2, calls, milliseconds, result, says, user
from tests.support.world import World

KEYS = st.sampled_from([
    "text", "content", "type", "id", "name", "state", "status", "input", "output", "error", "message", "data", "time",
    "created", "completed", "finish", "tokens", "cache", "model", "command", "summary", "parts", "metadata", "answers",
])  # fmt: skip
WORDS = st.sampled_from(
    ["text", "reasoning", "tool", "completed", "running", "error", "question", "file", "::start", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 10**18) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
ITEMS = st.fixed_dictionaries({"type": WORDS}, optional={"id": VALUES, "name": VALUES, "state": VALUES, "text": VALUES})
ROWS = st.dictionaries(KEYS, VALUES, max_size=5) | st.fixed_dictionaries(
    {"content": st.lists(ITEMS, max_size=3)}, optional={"finish": VALUES, "error": VALUES, "tokens": VALUES}
)


@pytest.fixture
def store(world: World) -> OpenCode2:
    """Return a session of OpenCode 2 with one turn."""
    made = OpenCode2(world)
    made.say(user("hello"), says("hi"))
    return made


def read(store: OpenCode, cursor: Cursor | None = None) -> tuple[list[str], Cursor]:
    """Return the texts of what one step reads, and the cursor after it."""
    with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
        batch = file.read(cursor or Cursor(), 1)
    sessions = [json.loads(line.data) for line in batch.lines]
    return [p.get("text", "") for s in sessions for m in s["messages"] for p in m["parts"]], batch.cursor


def upgrade(old: OpenCode) -> OpenCode2:
    """Copy a session of OpenCode 1 into the tables of OpenCode 2, as later versions do: ids stay."""
    new = OpenCode2(old.world)
    parts = {record["message"]: record["data"].get("text", "") for record in old.items if record["table"] == "part"}
    messages = {record["id"]: record["data"] for record in old.items if record["table"] == "message"}
    for name, data in messages.items():
        if data["role"] == "user":
            row = new.row("user", text=parts[name], time=data["time"])
        else:
            content = [{"type": "text", "text": parts[name]}]
            row = new.row("assistant", content=content, finish="stop", time=data["time"])
        new.write(row | {"id": name})
    return new


# -- reading ----------------------------------------------------------------------------------------


def test_a_fresh_installation_is_recorded(world: World, store: OpenCode2) -> None:
    """A database without the tables of OpenCode 1 is read, and its commands are obeyed."""
    world.once()
    store.say(user("::start talk.jsonl\nAdd a cart"), calls("c1", "make"), result("c1", "ok"), says("done"))
    world.once()
    assert words(events(world)) == ["Add a cart", "done"]
    assert [row["kind"] for row in events(world)].count("assistant.tool.result") == 1


def test_messages_are_read_in_their_own_order(store: OpenCode2) -> None:
    """The order is that of `seq`, whatever the ids are."""
    for number in range(20):
        store.say(user(f"w{number}"), says(f"a{number}"))
    assert read(store)[0][2:] == [f"{kind}{number}" for number in range(20) for kind in "wa"]


def test_only_what_is_new_is_read(store: OpenCode2) -> None:
    """After a change, what came before the last complete answer is not read again; without one, nothing is."""
    for number in range(50):
        store.say(user(f"w{number}"), says("x" * 1000))
    store.run("UPDATE session_message SET time_updated = seq", "UPDATE session_v2 SET time_updated = 0")
    _, cursor = read(store)
    last, cursor = read(store, cursor)  # a row may change twice in a millisecond
    assert last == ["w49", "x" * 1000]
    assert read(store, cursor)[0] == []
    store.say(user("new"), says("more"))
    assert read(store, cursor)[0] == [*last, "new", "more"]


@pytest.mark.slow
def test_what_grew_while_katod_was_down_is_read(store: OpenCode2) -> None:
    """However many rows are new, all of them are read."""
    _, cursor = read(store)
    for number in range(200):
        store.say(user(f"w{number}"), says(f"a{number}"))
    assert len(read(store, cursor)[0]) >= 400


def test_an_answer_grows_until_it_is_complete(world: World, store: OpenCode2) -> None:
    """A row that changes in place is recorded once, when its text is final; finished parts are not kept waiting."""
    store.say(user("::start talk.jsonl"))
    world.once()
    row = store.row("assistant", content=[], model={"id": "glm-5"})
    store.put(row, store.changed(row, content=[{"type": "text", "text": "I'll lo"}]))
    world.once()
    assert words(events(world)) == []
    tool = {"type": "tool", "id": "c1", "name": "bash", "state": {"status": "running", "input": {"command": "make"}}}
    first = {"type": "text", "text": "I'll look."}
    store.put(store.changed(row, content=[first, tool]))
    world.once()
    assert [row["kind"] for row in events(world)][-2:] == ["assistant.message", "assistant.tool.call"]
    done = tool | {"state": {"status": "error", "input": {"command": "make"}, "error": {"message": "no rule"}}}
    store.put(store.changed(row, content=[first, done, {"type": "text", "text": "It failed."}], finish="stop"))
    world.once()
    assert words(events(world)) == ["I'll look.", "It failed."]
    [outcome] = [row["payload"] for row in events(world) if row["kind"] == "assistant.tool.result"]
    assert (outcome["isError"], outcome["text"]) == (True, "no rule")


@pytest.mark.slow
def test_the_provider_of_answers_is_recorded_where_it_changes(world: World, store: OpenCode2) -> None:
    """Each step reads from some answer on: a change is noted once, and an export has the same ones."""
    store.say(user("::start talk.jsonl"))
    for number, provider in enumerate("zzyyz"):
        world.once()
        row = store.row("assistant", content=[], model={"id": "glm-5", "providerID": provider})
        store.put(row)
        world.once()
        store.put(store.changed(row, content=[{"type": "text", "text": f"said {number}"}], finish="stop"))
        world.once()
        store.say(user(f"go on {number}"))
    exported = map(json.loads, world.cli("export", "latest", "-f", "jsonl").splitlines())
    for rows in (events(world), list(exported)):
        found = [row["payload"] for row in rows if row["kind"] == "config.change"]
        assert [change["after"] for change in found][-2:] == ["y", "z"]
        assert [change.get("before") for change in found][-2:] == ["z", "y"]
        assert len(found) <= 3
        assert {row.get("model") for row in rows if row["kind"] == "assistant.message"} == {"glm-5"}


def test_an_answer_without_an_end_does_not_keep_the_next_one_waiting(world: World, store: OpenCode2) -> None:
    """An answer that was cut off is recorded as it is as soon as another one begins, once."""
    store.say(user("::start talk.jsonl"))
    store.put(store.row("assistant", content=[{"type": "text", "text": "cut of"}]))
    world.once()
    store.say(user("go on"))
    world.once()
    store.say(says("on"))
    world.once()
    store.say(user("and"), says("off"))
    world.once()
    assert words(events(world)) == ["cut of", "go on", "on", "and", "off"]


def test_what_the_client_writes_is_not_typed(world: World, store: OpenCode2) -> None:
    """Commands in reminders, summaries, a shell command, and the prompt of a sub-agent are ignored."""
    world.once()
    store.put(
        store.row("synthetic", text="::start evil"),
        store.row("system", text="::start evil"),
        store.row("compaction", summary="::start evil"),
        store.row("shell", command="echo", output="::start evil\n"),
    )
    child = OpenCode2(world, OTHER)
    child.run(("UPDATE session_v2 SET parent_id = ? WHERE id = ?", (store.id, child.id)))
    child.count = 100
    child.say(user("::start evil"), says("no"))
    world.once()
    assert world.written() == {}


def test_every_kind_of_row_is_told_or_kept(world: World, store: OpenCode2) -> None:
    """Switched models, shell commands and summaries are recorded; unknown rows and shapes are kept raw."""
    store.say(user("::start talk.jsonl"))
    store.put(
        store.row("model-switched", model={"id": "other", "providerID": "z"}),
        store.row("agent-switched", agent="plan"), store.row("location-switched"), store.row("idle"),
        store.row("shell", command="make", output="done\n"), store.row("compaction", summary="So far."),
        store.row("never-seen", note=1), store.row("user", prompt=[1]), store.row("assistant", content="?"),
        store.row("synthetic", text="Go on."), store.row("assistant", content=[], error={"message": "Too many"}),
    )  # fmt: skip
    world.once()
    told = [(row["kind"], row["payload"]) for row in events(world)][1:]
    assert [kind for kind, _ in told] == [
        "config.change", "user.message", "system.message", "context.compaction", *["provider.raw"] * 3,
        "system.message", "error",
    ]  # fmt: skip
    assert told[0][1] == {"what": "model", "after": "other"}
    assert told[1][1] == {"text": "! make", "subtype": "shell"}
    assert told[2][1] == {"text": "done\n", "subtype": "shell-output"}
    assert told[3][1] == {"summary": "So far."}
    assert [payload["rawType"] for _, payload in told[4:7]] == ["part/never-seen", "part/user", "part/assistant"]
    assert [payload.get("text", payload.get("message")) for _, payload in told[7:]] == ["Go on.", "Too many"]


@pytest.mark.whole
@pytest.mark.parametrize("data", ["{", "[]", "null", '{"time": 7, "content": [1, {"type": "tool", "state": 5}]}'])
def test_a_row_of_another_shape_is_no_error(store: OpenCode2, data: str) -> None:
    """Whatever is in a row, the rows around it are read."""
    store.run("UPDATE session_message SET data = '" + data + "' WHERE type = 'assistant'")
    store.say(user("next"))
    assert {"hello", "next"} <= set(read(store)[0])


def test_a_deleted_session_is_gone(store: OpenCode2) -> None:
    """A session that no longer exists raises `SourceGone`, which says which one."""
    store.run("DELETE FROM session_v2")
    path = f"{store.path}#{store.id}"
    with pytest.raises(SourceGone) as caught, AGENTS["opencode"].open(path):
        pass
    assert str(caught.value.path) == path


def test_an_answer_has_all_that_one_of_the_first_generation_has(store: OpenCode2) -> None:
    """Its times, its model, what it used and why it failed; all parts but the last one are final."""
    with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
        assert file.mtime_ns // 1_000_000 == file.size > 10**12
    used = {"tokens": {"input": 7}, "cost": 0.5, "finish": "stop"}
    content = [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "So."}]
    data = {
        "time": {"created": 1000, "completed": 2000},
        "model": {"id": "glm-5", "providerID": "z"},
        "content": content,
    }
    failed = {"error": {"type": "Overloaded", "message": "too much"}}
    made = second._Message("m", "assistant", 3, 1500, json.dumps(data | used | failed)).as_first()
    about = {"id": "m", "seq": 3, "role": "assistant", "time": {"created": 1000, "completed": 2000}}
    assert made == {
        "info": about | used | {
            "modelID": "glm-5", "providerID": "z", "error": {"name": "Overloaded", "data": {"message": "too much"}},
        },
        "parts": [
            content[0] | {"id": "m:0000", "time": {"start": 1000, "end": 1000}},
            content[1] | {"id": "m:0001", "time": {"start": 1000}},
        ],
    }  # fmt: skip
    asked = second._Message("m", "user", 3, 1500, json.dumps({"text": "Go.", "time": {"created": "soon"}})).as_first()
    assert asked == {
        "info": {"id": "m", "seq": 3, "role": "user", "time": {"created": 1500}},
        "parts": [{"id": "m:0000", "type": "text", "text": "Go."}],
    }


@each("kind", ["synthetic", "system"])
def test_what_the_client_writes_is_marked_as_such(kind: str) -> None:
    """As in the first generation."""
    made = second._Message("m", kind, 3, 1500, json.dumps({"text": "Go."})).as_first()
    assert made["parts"] == [{"id": "m:0000", "type": "text", "text": "Go.", "synthetic": True}]


@examples(3, 1_000)
@given(st.sampled_from(["user", "assistant", "synthetic", "shell", "compaction", "model-switched", "x", ""]), ROWS)
def test_no_row_raises(kind: str, data: dict[str, Any]) -> None:
    """Whatever a row holds, a document is made of it, and the adapter reads it."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    for table in OpenCode2.SCHEMA:
        database.execute(f"CREATE TABLE {table}")
    database.execute("INSERT INTO session_v2 (id, time_created) VALUES ('ses_1', 1)")
    values = ("msg_1", "ses_1", kind, 0, 1, 1, json.dumps(data))
    database.execute("INSERT INTO session_message VALUES (?,?,?,?,?,?,?)", values)
    rows = SecondRows.find("ses_1", database)
    assert rows is not None
    document = orjson.loads(rows.document(database, since=0))
    database.close()
    adapter = SPEC.adapter(Origin(SPEC.named(Path("x.db#ses_1")), Path("x.db#ses_1")))
    adapter.feed(Record(0, document))
    adapter.finish()


# -- beside OpenCode 1 --------------------------------------------------------------------------------


def test_an_upgrade_writes_nothing_twice(world: World) -> None:
    """A recorded session that is copied into the new tables goes on; its messages and commands are known."""
    old = OpenCode(world).say(user("::start talk.jsonl\nfirst"), says("one"))
    world.once()
    new = upgrade(old)
    world.once()
    assert words(events(world)) == ["first", "one"]
    new.say(user("second"), says("two"), user("::stop"), says("bye"))
    world.once()
    assert words(events(world)) == ["first", "one", "second", "two"]
    assert list(world.written()) == ["talk.jsonl"]


def test_an_export_after_an_upgrade_is_the_recording(world: World) -> None:
    """What was recorded across an upgrade is exported unchanged."""
    old = OpenCode(world).say(user("hello"), says("hi"))
    world.once()
    old.say(user("::capture talk.jsonl\nfirst"), says("one"))
    world.once()
    upgrade(old).say(user("second"), says("two"))
    world.once()
    [row] = world.outputs()
    assert world.export(row) == world.contents()["talk.jsonl"]


def test_a_stopped_session_is_not_started_by_its_copy(world: World) -> None:
    """Commands that were obeyed, or were history, before the upgrade do not act again in the copy."""
    old = OpenCode(world).say(user("::start early"), says("long ago")).age()
    world.once()
    old.say(user("::start talk.jsonl"), says("one"), user("::stop"), says("two"))
    world.once()
    before = world.contents()
    upgrade(old).say(user("more"), says("three"))
    world.once()
    assert world.contents() == before


def test_sessions_that_were_not_copied_are_still_read(world: World) -> None:
    """A database with both generations lists each session once; those of OpenCode 1 alone are read as before."""
    old = OpenCode(world)
    old.say(user("hello"), says("hi"))
    new = OpenCode2(world, OTHER)
    new.count = 100
    new.say(user("hello"), says("hi"))
    assert sorted(path.rpartition("#")[2] for path, _ in sessions_in(str(new.path))) == sorted([old.id, new.id])
    world.once()
    old.say(user("::start old.jsonl\none"), says("two"))
    new.say(user("::start new.jsonl\nthree"), says("four"))
    world.once()
    assert words(events(world, "old.jsonl")) == ["one", "two"]
    assert words(events(world, "new.jsonl")) == ["three", "four"]


def test_the_name_after_an_upgrade_is_the_new_one(world: World) -> None:
    """The old tables keep what the session was called before."""
    old = OpenCode(world).say(user("one"), says("two"))
    path, statement = Path(f"{old.path}#{old.id}"), "UPDATE {} SET title = ?"
    old.run((statement.format("session"), ("Old",)))
    assert name_of(path, old.id) == "Old"
    upgrade(old).run((statement.format("session_v2"), ("New",)))
    assert name_of(path, old.id) == "New"


def test_empty_tables_of_a_trial_change_nothing(world: World) -> None:
    """A database in which the new tables are empty is read like one without them."""
    old = OpenCode(world)
    old.run(*(f"CREATE TABLE IF NOT EXISTS {table}" for table in OpenCode2.SCHEMA))
    old.say(user("::start talk.jsonl\none"), says("two"))
    world.once()
    assert words(events(world)) == ["one", "two"]


# -- finding ----------------------------------------------------------------------------------------


def test_the_databases_of_other_channels_are_found(world: World, store: OpenCode2) -> None:
    """`opencode-<channel>.db` beside `opencode.db` is a database, too."""
    other = OpenCode2(world, OTHER, database=".local/share/opencode/opencode-beta.db")
    other.say(user("hello"), says("hi"))
    world.once()
    other.say(user("::start talk.jsonl\none"), says("two"))
    world.once()
    assert words(events(world)) == ["one", "two"]


def test_a_change_in_place_looks_like_a_change(world: World, store: OpenCode2) -> None:
    """A row that changes in place changes the stat of its session, and of no other."""
    other = OpenCode2(world, OTHER)
    other.count = 100
    other.say(user("hello")).age()
    row = store.row("assistant", content=[])
    store.put(row)
    before = dict(sessions_in(str(store.path)))
    store.put(store.changed(row, content=[{"type": "text", "text": "more"}]))
    store.run((f"UPDATE session_message SET time_updated = {milliseconds() + 50} WHERE id = ?", (row["id"],)))
    after = dict(sessions_in(str(store.path)))
    assert [path for path in after if after[path] != before[path]] == [f"{store.path}#{store.id}"]


@pytest.mark.whole
@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE account (id TEXT)",
        "CREATE TABLE session_v2 (name TEXT)",
        "CREATE TABLE session_v2 (id TEXT, time_updated INTEGER)",
    ],
)
def test_a_database_of_an_unknown_version_is_a_problem(tmp_path: Path, schema: str) -> None:
    """A database whose tables are not understood is reported as such."""
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as database:
        database.execute(schema)
    database.close()
    with pytest.raises(SourceError, match="found, not understood"):
        dict(sessions_in(str(path)))


def test_status_says_that_a_database_is_not_understood(world: World) -> None:
    """`katod status` names a database of an unknown version."""
    path = world.home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session_v3 (id TEXT)")
    database.close()
    world.once()
    assert "found, not understood" in world.cli("status")


# -- what it is doing -------------------------------------------------------------------------------


def test_a_session_is_idle_since_its_last_message(store: OpenCode2) -> None:
    """A message that changes later says that it works again; the older generation says nothing."""
    path, now, start = Path(f"{store.path}#{store.id}"), milliseconds(), SessionStart()
    assert SPEC.reported(path, store.id, start) is None
    store.run(("ALTER TABLE session_v2 ADD COLUMN time_idle INTEGER", ()))
    assert SPEC.reported(path, store.id, start) is None
    store.run(("UPDATE session_v2 SET time_idle = ?", (now,)))
    assert SPEC.reported(path, store.id, start) == Report(State.IDLE, now / 1000)
    store.run(("UPDATE session_message SET time_updated = ?", (now + 1,)))
    assert SPEC.reported(path, store.id, start) == Report(State.WORKING, now / 1000)
    assert SPEC.reported(path, "ses_of_nobody", start) is None
    assert SPEC.reported(Path("/nowhere/opencode.db#ses_1"), "ses_1", start) is None


@each(
    ("state", "output"),
    [
        ({"output": "all"}, "all"), ({"content": [{"text": "one"}, {"text": "two"}]}, "one\ntwo"),
        ({"output": "all", "content": [{"text": "part"}]}, "all"), ({}, ""),
    ],
)  # fmt: skip
def test_what_a_tool_gave_is_in_its_output_or_its_content(state: dict[str, Any], output: str) -> None:
    """The output comes first, which may be more."""
    part = {"time": {"start": 1}}
    assert second._tool(part, {"type": "tool", "id": "c", "name": "bash", "state": state})["state"]["output"] == output


@each(
    ("state", "expected"),
    [
        ({}, {"output": "", "error": "", "time": {"start": 5}}),
        ({"time": {"start": 7, "end": 9}, "output": "o"}, {"output": "o", "error": "", "time": {"start": 7, "end": 9}}),
        (
            {"content": [{"text": "one"}, {"text": "two"}], "error": {"message": "no"}, "time": None},
            {"content": [{"text": "one"}, {"text": "two"}], "output": "one\ntwo", "error": "no", "time": {"start": 5}},
        ),
    ],
)
def test_a_call_began_with_its_part_unless_it_says_when(state, expected):
    """What it gave, and why it failed, may be text or in a part of their own."""
    part = _tool({"id": "p", "time": {"start": 5}}, {"id": "c1", "name": "bash", "state": state})
    assert part == {"id": "p", "time": {"start": 5}, "callID": "c1", "tool": "bash", "state": expected}
