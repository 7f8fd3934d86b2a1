"""Which version runs, whatever is installed by now."""

import os

import pytest

from katod import __version__
from katod.service import running
from katod.service.running import NAME, note, running_version
from tests.support.live import Live


def test_a_daemon_notes_its_version(world):
    """A single run does not: it is over."""
    world.process()
    assert not (world.state / NAME).exists()
    with Live(world) as daemon:
        assert running_version(world.state, daemon.process.pid) == __version__
        assert running_version(world.state, daemon.process.pid + 1) == ""


@pytest.mark.parametrize("text", ["", "[]", "1", '{"pid": 1}', '{"version": "1"}', "{"])
def test_what_cannot_be_read_is_not_known(tmp_path, text):
    """Nor is anything without a file, or of no process."""
    (tmp_path / NAME).write_text(text)
    assert running_version(tmp_path, 1) == ""
    assert running_version(tmp_path / "none", 1) == ""
    note(tmp_path)
    assert running_version(tmp_path, None) == ""
    assert running_version(tmp_path, os.getpid()) == __version__


def test_a_full_disk_keeps_no_daemon_from_starting(tmp_path, monkeypatch):
    """The version is a convenience."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(running.Path, "write_text", full)
    note(tmp_path)
    assert running_version(tmp_path, os.getpid()) == ""
