"""One session in a database: read in full at first, later from the first turn that can still change."""

import json

import pytest

from katod.agents import AGENTS
from katod.errors import SourceGone
from katod.model import Cursor
from tests.support.records import OTHER, OpenCode, says, user


@pytest.fixture
def store(world):
    """Return a session with one turn."""
    return OpenCode(world).say(user("one"), says("first"))


def read(store, cursor=None):
    """Return the texts of all parts that one step reads, and the cursor after it."""
    with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
        batch = file.read(cursor or Cursor(), 1)
    sessions = [json.loads(line.data) for line in batch.lines]
    return [p.get("text") for s in sessions for m in s["messages"] for p in m["parts"]], batch.cursor


def test_a_session_is_read_whole_at_first(store):
    """The first read returns all messages of the session with their parts, and no row of another session."""
    other = OpenCode(store.world, OTHER)
    other.count = 100
    other.say(user("elsewhere"))
    assert read(store)[0] == ["one", "first"]


def test_for_its_usage_it_is_read_without_parts(store):
    """They are nearly all of a database."""
    with AGENTS["opencode"].open_usage(f"{store.path}#{store.id}") as file:
        (line,) = file.read(Cursor(), 1).lines
    messages = json.loads(line.data)["messages"]
    assert [message["info"]["role"] for message in messages] == ["user", "assistant"]
    assert [message["parts"] for message in messages] == [[], []]


def test_what_did_not_change_is_not_read_again(store):
    """A read without changes returns nothing; a new row of another session is not a change."""
    _, cursor = read(store)
    other = OpenCode(store.world, OTHER)
    other.count = 100
    other.say(user("elsewhere"))
    assert read(store, cursor)[0] == []


def test_settled_turns_are_left_out_later(store):
    """The last two turns may still change and are read again; earlier turns are not."""
    store.say(user("two"), says("second"), user("three"), says("third"))
    _, cursor = read(store)
    store.say(says("more"))
    assert read(store, cursor)[0] == ["two", "second", "three", "third", "more"]


def test_an_unanswered_prompt_settles_nothing_after_it(store):
    """An unanswered prompt may still get its answer, so it and everything after it are read again."""
    store.say(user("two"))
    for number in range(5):
        store.say(user(f"prompt {number}"), says(f"answer {number}"))
    _, cursor = read(store)
    store.say(says("more"))
    assert read(store, cursor)[0][:3] == ["one", "first", "two"]


def test_a_settled_row_that_changes_is_read_again(store):
    """A change in a settled turn makes katod read that turn and all that follow again."""
    part = store.items[1]
    for number in range(5):
        store.say(user(f"prompt {number}"), says(f"answer {number}"))
    _, cursor = read(store)
    store.put(store.items[0], part | {"data": part["data"] | {"text": "edited"}})
    assert read(store, cursor)[0][:3] == ["edited", "first", "prompt 0"]


def test_a_row_that_is_no_json_is_an_empty_one(store):
    """A row that is not valid JSON is read as an empty one; the rows around it are read normally."""
    store.run("UPDATE part SET data = '{' WHERE id = (SELECT min(id) FROM part)")
    assert read(store)[0] == [None, "first"]


def test_a_deleted_session_is_gone(store):
    """A session deleted from an existing database raises `SourceGone`."""
    store.run("DELETE FROM session")
    with pytest.raises(SourceGone):
        read(store)
