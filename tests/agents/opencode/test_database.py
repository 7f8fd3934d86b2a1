"""One session of a database, read as a document."""

import time

import pytest

from katod.agents import AGENTS
from katod.agents.opencode.database import DatabaseSession
from katod.discover.roots import stat_source
from katod.errors import SourceGone
from katod.model import Cursor
from tests.support.records import OpenCode, says, user


def test_a_session_that_was_deleted_is_gone(store: OpenCode) -> None:
    """A session that no longer exists raises `SourceGone`: the database itself is not at fault."""
    store.run(("DELETE FROM session WHERE id = ?", (store.id,)))
    with pytest.raises(SourceGone), AGENTS["opencode"].open(f"{store.path}#{store.id}"):
        pass


def test_later_reads_leave_out_what_is_settled(store: OpenCode) -> None:
    """After one more answer, a read returns only the open turns, not the whole session."""
    for number in range(20):
        store.say(user(f"prompt {number}"), says("x" * 5000))
    with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
        first = file.read(Cursor(), 0)
    store.say(says("the end"))
    with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
        later = file.read(first.cursor, 0)
    assert len(first.lines[0].data) > 100_000
    assert len(later.lines[0].data) < 20_000
    assert b"the end" in later.lines[0].data
    with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
        assert not file.read(later.cursor, 0).lines


@pytest.mark.whole
@pytest.mark.parametrize("has_parts", [True, False])
def test_a_session_changed_when_its_latest_row_did(store: OpenCode, has_parts: bool) -> None:
    """As the sweep says: its size and its time are that moment."""
    path = f"{store.path}#{store.id}"
    found = stat_source(AGENTS["opencode"], path)
    assert found is not None
    session = DatabaseSession(path, has_parts=has_parts)
    assert (session.size, session.mtime_ns) == (found[1].size, found[1].mtime_ns)
    assert abs(session.mtime_ns / 1e9 - time.time()) < 600


def test_a_database_is_not_searched_for_what_agents_write_elsewhere(store: OpenCode) -> None:
    """It has no lines: what names a session is asked of it otherwise."""
    with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
        assert not file.find(b"text", 1 << 20)
