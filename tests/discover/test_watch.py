"""Hints: which events of the watcher wake the loop."""

import pytest
from watchdog.events import FileSystemEvent

from katod.agents import AGENTS
from katod.discover.watch import Hints


def hinted(kind: str, path: str) -> set[str]:
    """The paths that an event leaves as hints."""
    hints, event = Hints(AGENTS.values()), FileSystemEvent(path)
    event.event_type = kind
    hints.on_any_event(event)
    return hints.take()[0]


@pytest.mark.parametrize("kind", ["opened", "closed_no_write", "closed", "attrib"])
def test_reading_a_database_wakes_nobody(kind: str) -> None:
    """A reader opens and closes the log of a database like a writer: katod would wake itself for ever."""
    assert not hinted(kind, "/a/opencode.db-wal")


@pytest.mark.parametrize("kind", ["modified", "created", "deleted"])
def test_writing_to_a_database_is_a_hint(kind: str) -> None:
    """What its owner writes stands in its log."""
    assert hinted(kind, "/a/opencode.db-wal") == {"/a/opencode.db-wal"}


@pytest.mark.parametrize("path", ["/a/s.jsonl", "/a/s.json", "/a/s.jsonl.zst"])
def test_a_session_file_that_is_closed_is_a_hint(path: str) -> None:
    """Agents close their files after each record."""
    assert hinted("closed", path) == {path}
    assert not hinted("closed", "/a/notes.txt")
