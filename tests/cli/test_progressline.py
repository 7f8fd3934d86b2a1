"""The line that says that a long command is still at work."""

import pytest

from katod.cli import progressline
from katod.cli.progressline import ProgressLine


class _Waits:
    """An event that is waited for in vain so many times."""

    def __init__(self, times):
        self.times = times
        self.waited = []

    def wait(self, seconds):
        self.waited.append(seconds)
        return len(self.waited) > self.times

    def set(self):
        pass


@pytest.fixture
def terminal(monkeypatch):
    """Have a terminal of 20 cells, and time pass as wanted: return what sets how often the line is drawn."""
    monkeypatch.setattr(progressline, "width_of", lambda *, err: 20 if err else None)
    monkeypatch.setenv("TERM", "xterm")
    return lambda times: monkeypatch.setattr(progressline, "Event", lambda: _Waits(times))


def test_nothing_is_shown_of_a_quick_command(terminal, capsys):
    """One that is done within half a second leaves the terminal alone."""
    terminal(0)
    with ProgressLine(lambda: "at work") as sign:
        pass
    assert sign._done.waited == [0.5]
    assert capsys.readouterr() == ("", "")


def test_a_long_command_shows_a_line_that_is_erased_at_its_end(terminal, capsys):
    """It is drawn in place of the one before, fits the terminal, and cannot affect it."""
    terminal(2)
    said = iter(["one\x1b[2J of\nmany words that are long", "two"])
    with ProgressLine(lambda: next(said)):
        pass
    out, err = capsys.readouterr()
    assert out == ""
    first, second, last = err.split("\r\x1b[K")[1:]
    assert first.startswith("one")
    assert first.endswith("…")
    assert len(first) < 20
    assert not {"\x1b", "\n"} & set(first)
    assert (second, last) == ("two", "")


def test_the_line_is_erased_if_a_command_fails(terminal, capsys):
    """What is said of the failure begins on a line of its own."""
    terminal(1)
    with pytest.raises(KeyboardInterrupt), ProgressLine(lambda: "at work"):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "\r\x1b[Kat work\r\x1b[K"


@pytest.mark.parametrize("stream", ["pipe", "dumb terminal"])
def test_nothing_is_shown_where_no_line_can_be_erased(terminal, monkeypatch, capsys, stream):
    """In a pipe, and on a terminal without a cursor that can be moved."""
    terminal(1)
    if stream == "pipe":
        monkeypatch.setattr(progressline, "width_of", lambda *, err: None)
    else:
        monkeypatch.setenv("TERM", "dumb")
    with ProgressLine(lambda: "at work"):
        pass
    assert capsys.readouterr() == ("", "")
