"""One session of a database, read as a document."""

import pytest

from katod.agents import AGENTS
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
