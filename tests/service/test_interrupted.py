"""The note of recordings that ended with the state directory."""

import os

import pytest

from katod.model import SessionKey
from katod.service.interrupted import NAME, Interrupted, clear, forget, leave, read
from tests.looping import each

ONE = Interrupted("2026-02-10T22:30:00.000Z", 1, "claude:a", "/out/a.md")
TWO = ONE._replace(id=2, session="codex:b", output="")


@pytest.fixture
def state(tmp_path):
    """Return a state directory that does not exist yet."""
    return tmp_path / "a" / "state"


def test_what_is_left_is_read(state):
    """A second note is added to the first; the directory is created for its owner alone."""
    assert read(state) == []
    leave(state, [ONE])
    leave(state, [TWO])
    assert read(state) == [ONE, TWO]
    assert state.stat().st_mode & 0o777 == 0o700
    assert os.listdir(state) == [NAME]


def test_without_recordings_there_is_no_note(state):
    """Nor a directory."""
    leave(state, [])
    assert not state.exists()
    clear(state)


def test_sessions_are_taken_out(state):
    """The others stay; without any, there is no note."""
    leave(state, [ONE, TWO])
    forget(state, [SessionKey("claude", "a"), SessionKey("claude", "other")])
    assert read(state) == [TWO]
    forget(state, [SessionKey("codex", "b")])
    assert os.listdir(state) == []
    leave(state, [ONE])
    clear(state)
    assert os.listdir(state) == []


@each("content", [b"", b"{", b'{"a": 1}', b"[1]", b'[{"time": 1}]', b'[{"time":"","id":"1","session":"","output":""}]'])
def test_what_is_no_note_says_nothing(tmp_path, content):
    """Somebody else wrote it."""
    (tmp_path / NAME).write_bytes(content)
    assert read(tmp_path) == []
