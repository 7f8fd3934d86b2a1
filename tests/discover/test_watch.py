"""Hints: which events of the watcher wake the loop."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.events import FileSystemEvent

from katod.agents import AGENTS
from katod.discover.watch import Hints, Watcher
from katod.log import EventLog
from tests.support.live import until


def hinted(kind: str, path: str) -> set[str]:
    """Return the paths that an event leaves as hints."""
    hints, event = Hints(AGENTS.values()), FileSystemEvent(path)
    event.event_type = kind
    hints.on_any_event(event)
    return hints.take()[0]


def test_reading_a_database_wakes_nobody() -> None:
    """A reader changes the attributes of a database's WAL as a writer does, so katod would wake itself endlessly."""
    assert not hinted("attrib", "/a/opencode.db-wal")


@pytest.mark.parametrize("kind", ["modified", "created", "deleted"])
def test_writing_to_a_database_is_a_hint(kind: str) -> None:
    """What the owner writes goes to the WAL, so a change of the WAL is a hint."""
    assert hinted(kind, "/a/opencode.db-wal") == {"/a/opencode.db-wal"}


@pytest.mark.parametrize("path", ["/a/s.jsonl", "/a/s.json", "/a/s.jsonl.zst"])
def test_a_session_file_that_is_written_is_a_hint(path: str) -> None:
    """A change of a session file is a hint; a change of another file in the same folder is not."""
    assert hinted("modified", path) == {path}
    assert not hinted("modified", "/a/notes.txt")


def test_opens_and_closes_are_not_heard(tmp_path: Path) -> None:
    """Reading a file causes no event: the kernel is asked for changes only."""
    path = tmp_path / "s.jsonl"
    path.write_text("{}\n")
    heard: list[str] = []
    hints = Hints(AGENTS.values())
    hints.dispatch = lambda event: (heard.append(event.event_type), Hints.on_any_event(hints, event))  # type: ignore[method-assign]
    watcher = Watcher(hints, EventLog())
    assert watcher.start()
    try:
        watcher.renew([(tmp_path, True)])
        path.read_bytes()
        with path.open("a") as file:
            file.write("{}\n")
        until(lambda: str(path) in hints.take()[0], "the hint")
    finally:
        watcher.stop()
    assert set(heard) == {"modified"}


def test_hints_are_reliable_until_one_is_missed(tmp_path: Path) -> None:
    """Not before the watcher runs, nor after a change that it did not report, which is logged once."""
    lost: list[str] = []
    watcher = Watcher(Hints(AGENTS.values()), EventLog(lambda _level, _event, fields: lost.append(fields["path"])))
    assert not watcher.is_sound
    assert watcher.start()
    try:
        watcher.renew([(tmp_path, True)])
        watcher.doubt([])
        assert watcher.is_sound
        watcher.doubt(["/r/a", "/r/b"])
        assert not watcher.is_sound
        watcher.trust()
        assert watcher.is_sound
    finally:
        watcher.stop()
    assert lost == ["/r/a"]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watcher]:
    """Return a watcher that could not watch a folder, and could now."""
    watcher = Watcher(Hints(AGENTS.values()), EventLog())
    assert watcher.start()
    (tmp_path / "sessions").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(watcher._observer, "schedule", _refuse)
        watcher.renew([(tmp_path / "sessions", True)])
    assert not watcher.is_sound
    yield watcher
    watcher.stop()


def test_a_folder_that_cannot_be_watched_makes_hints_unreliable(refused: Watcher, tmp_path: Path) -> None:
    """Until it can be."""
    refused.renew([(tmp_path / "sessions", True)])
    assert refused.is_sound


def test_a_folder_that_is_gone_is_no_reason_to_doubt_hints(refused: Watcher, tmp_path: Path) -> None:
    """It could not be watched, and need not be any more."""
    (tmp_path / "sessions").rmdir()
    refused.renew([(tmp_path / "sessions", True)])
    assert refused.is_sound


def test_a_folder_of_an_agent_that_was_switched_off_is_none_either(refused: Watcher) -> None:
    """It is still there, but nobody asks for what changes in it."""
    refused.renew([])
    assert refused.is_sound


def _refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")
