"""What katod has of a session, for its page, and katod's answers to what the page asked for."""

from pathlib import Path

import pytest

from katod.errors import SelectionError
from katod.serve.page import recording
from katod.serve.page.recording import answer, command_of, halted
from katod.service import pause


def test_an_answer_is_taken_once(tmp_path):
    """It is removed when it was read, so that no answers are left over; before it is there, there is none."""
    path = tmp_path / "answer"
    assert answer(path) is None
    path.write_text("this session is recorded already")
    assert answer(path) == "this session is recorded already"
    assert not path.exists()
    path.write_text("")
    assert (answer(path), answer(path)) == ("", None)


def test_an_answer_that_is_cleaned_up_meanwhile_counts(tmp_path, monkeypatch: pytest.MonkeyPatch):
    """Katod removes answers that nobody has taken for long: one that was read is an answer all the same."""
    path = tmp_path / "answer"
    path.write_text("done")
    read = Path.read_text

    def read_and_removed(self, *given):
        text = read(self, *given)
        self.unlink()
        return text

    monkeypatch.setattr(Path, "read_text", read_and_removed)
    assert answer(path) == "done"


def test_it_is_said_why_nothing_is_recorded(tmp_path, monkeypatch: pytest.MonkeyPatch):
    """Because katod does not run, or is paused; else there is no reason."""
    assert halted(tmp_path) == "katod is not running"
    monkeypatch.setattr(recording, "holder", lambda _state: 1)
    assert halted(tmp_path) == ""
    pause.pause(tmp_path, "2026-02-10T22:36:00.000Z")
    assert halted(tmp_path) == "katod is paused"


def test_what_cannot_be_resumed_has_no_command(monkeypatch: pytest.MonkeyPatch):
    """The page has no line to copy then."""

    def fail(*_given):
        raise SelectionError("cannot be resumed")

    monkeypatch.setattr(recording, "described", lambda _entry: None)
    monkeypatch.setattr(recording, "resume_command_from", fail)
    assert command_of(None) == ""
