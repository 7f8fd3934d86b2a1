"""Which sessions are forgotten with one: those of its sub-agents."""

from katod.record.family import family
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
