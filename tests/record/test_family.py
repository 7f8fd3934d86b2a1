"""Which sessions are forgotten with one: those of its sub-agents."""

import builtins
import json
import os

import pytest
import zstandard

from katod.agents import AGENTS
from katod.agents.spec import SPAWNED
from katod.model import Options
from katod.record.family import _recorded_beside, family
from katod.store.rows import OutputRow
from tests.golden.cases import GOLDEN
from tests.support.records import OTHER, SESSION, Claude, Codex, OpenCode, says, user

CHILD = "01a1f89e-eea5-7302-86e3-aaaaaaaaaaaa"


def keys(parts, maker):
    key = next(row.key for row in parts.ledger.sessions() if maker.session[:8] in row.key.id and not row.key.subagent)
    return sorted(str(row.key) for row in family(key, parts.ledger))


def test_sub_agents_are_named_after_their_session(parts):
    """Sessions that only begin alike are others; a sub-agent alone is only itself."""
    maker = Claude(parts.world).say(user("one"))
    Claude(parts.world, subagent="abc").say(user("two"))
    Claude(parts.world, OTHER).say(user("three"))
    parts.sweep()
    assert keys(parts, maker) == [f"claude:{SESSION}", f"claude:{SESSION}/abc"]
    child = next(row.key for row in parts.ledger.sessions() if row.key.subagent)
    assert [row.key for row in family(child, parts.ledger)] == [child]


def test_threads_say_who_started_them(parts):
    """A thread with an id of its own belongs to the one that started it, and so do those that it started."""
    maker = Codex(parts.world).say(user("one"))
    for session, parent in ((CHILD, maker.session), (OTHER, CHILD)):
        thread = Codex(parts.world, session)
        spawned = {"subagent": {"other": "review"}}
        thread.append(
            thread.meta(source=spawned, thread_source="subagent", parent_thread_id=parent), *thread.records(says("two"))
        )
    Codex(parts.world, "01a1f89e-eea5-7302-86e3-bbbbbbbbbbbb").say(user(f"about {maker.session}"))
    parts.sweep()
    assert keys(parts, maker) == sorted(f"codex:{name}" for name in (maker.session, CHILD, OTHER))


def test_sessions_in_a_database_name_their_parent(parts):
    """They are asked for it."""
    maker = OpenCode(parts.world).say(user("one"), says("two"))
    child = OpenCode(parts.world, OTHER)
    child.run(("UPDATE session SET parent_id = ? WHERE id = ?", (maker.id, child.id)))
    child.say(user("look"), says("looked"))
    parts.sweep()
    assert keys(parts, maker) == sorted([f"opencode:{maker.id}", f"opencode:{child.id}"])


def test_no_file_is_opened_of_an_agent_that_names_sub_agents_after_their_session(parts, monkeypatch):
    """However many sessions there are."""
    maker = Claude(parts.world).say(user("one"))
    Claude(parts.world, OTHER).say(user("two"))
    parts.sweep()
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("a file was opened"))
    monkeypatch.setattr(builtins, "open", lambda *_: pytest.fail("a file was opened"))
    assert keys(parts, maker) == [f"claude:{SESSION}"]


def test_only_the_beginning_of_a_thread_is_read_once(parts, monkeypatch):
    """Its first record names the one that started it, whatever follows."""
    maker = Codex(parts.world).say(user("one"))
    thread = Codex(parts.world, CHILD)
    thread.append(thread.meta(source={"subagent": "review"}, thread_source="subagent", parent_thread_id=maker.session))
    thread.append(*(record for _ in range(2) for record in thread.records(says("words " * 100_000))))
    parts.sweep()
    opened, read = [], []
    opening, preading = os.open, os.pread
    monkeypatch.setattr(os, "open", lambda path, *rest: opened.append(path) or opening(path, *rest))
    monkeypatch.setattr(os, "pread", lambda *rest: read.append(len(data := preading(*rest))) or data)
    assert len(keys(parts, maker)) == 2
    assert sorted(opened) == sorted(str(one.path) for one in (maker, thread))
    assert sum(read) < 200_000


def test_a_recorded_thread_that_is_gone_belongs_to_the_one_that_started_it(parts):
    """What the ledger keeps of it says so; nothing else can."""
    maker = Codex(parts.world).say(user("one"))
    thread = maker.child().say(user("look"))
    parts.sweep()
    thread.path.unlink()
    parts.sweep()
    assert len(keys(parts, maker)) == 1
    row = next(row for row in parts.ledger.sessions() if row.key.id == thread.session)
    start = {"parent": maker.session, "origin": SPAWNED, "session": thread.session}
    with parts.ledger.transaction():
        parts.ledger.save_session(row._replace(metadata=start))
    assert len(keys(parts, maker)) == 2


def test_a_compressed_thread_says_it_too(parts):
    """As the agent compresses old ones."""
    maker, thread = Codex(parts.world).say(user("one")), Codex(parts.world, CHILD)
    thread.append(thread.meta(source={"subagent": "review"}, thread_source="subagent", parent_thread_id=maker.session))
    thread.path.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(thread.path.read_bytes()))
    thread.path.unlink()
    parts.sweep()
    assert len(keys(parts, maker)) == 2


def test_the_agents_whose_sub_agents_name_their_parent_are_known():
    """Otherwise they would not be forgotten with the session that started them."""
    starts = [
        json.loads(line)
        for path in GOLDEN.glob("*/*.jsonl")
        for line in path.read_text().splitlines()
        if '"kind":"session.start"' in line
    ]
    naming = {row["session"]["agent"] for row in starts if row["session"].get("parent") and _is_spawned(row)}
    naming.add("antigravity")  # what says so is in another conversation
    assert naming == {name for name, spec in AGENTS.items() if spec.names_parents and not spec.form}


def _is_spawned(row):
    return row["payload"].get("origin") == SPAWNED


def test_what_is_recorded_in_the_folder_for_sub_agents_belongs_to_their_session(world):
    """To that session alone, whatever others have in theirs."""

    def row(number, name, folder=""):
        options = Options(subagents_folder=folder)
        return OutputRow(number, number, world.out, world.out / name, "markdown", 1, options, {})

    outputs = [row(1, "a.md", "a.agents"), row(2, "a.agents/x.md"), row(3, "b.md", "b.agents"), row(4, "b.agents/y.md")]
    assert _recorded_beside(outputs, {1}) == {2}
    assert _recorded_beside(outputs, {3}) == {4}
    assert _recorded_beside(outputs, {2}) == set()
