"""The sessions of a database, as a sweep finds them."""

from pathlib import Path

import pytest

from katod.agents.opencode.sweep import name_of, sessions_in
from katod.errors import SourceError
from tests.support.records import OTHER, OpenCode, says, user
from tests.support.world import World


def test_only_what_changed_looks_changed(world: World, store: OpenCode) -> None:
    """Each session has its own stat: only the session that changed is reported as changed."""
    other = OpenCode(world, OTHER)
    other.count = 100
    other.say(user("hello")).age()
    store.say(says("something"))
    before = dict(sessions_in(str(store.path)))
    assert len(before) == 2
    store.say(says("more"))
    after = dict(sessions_in(str(store.path)))
    assert [path for path in after if after[path] != before[path]] == [f"{store.path}#{store.id}"]


def test_another_database_is_a_source_error(tmp_path: Path) -> None:
    """A file that is not a database raises `SourceError`."""
    path = tmp_path / "x.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(SourceError):
        dict(sessions_in(str(path)))


def test_a_database_of_both_generations_has_the_latest_name(world: World, store: OpenCode) -> None:
    """Each session by the title that its row has; while it has only the client's placeholder, none."""
    for title, shown in (("Add a cart", "Add a cart"), ("New session - 2026-02-10T22:36:18.000Z", "")):
        store.run(("UPDATE session SET title = ?, directory = '/other' WHERE id = ?", (title, store.id)))
        assert name_of(Path(f"{store.path}#{store.id}"), store.id) == shown
    assert name_of(Path(f"{store.path}#ses_of_nobody"), "ses_of_nobody") == ""


def test_a_database_without_sessions_has_none(store: OpenCode) -> None:
    """It is no error."""
    store.run("DELETE FROM part", "DELETE FROM message", "DELETE FROM session")
    assert list(sessions_in(str(store.path))) == []
