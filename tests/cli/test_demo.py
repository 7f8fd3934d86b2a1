"""`katod demo`: a session is played and its transcript shown."""

import signal
import subprocess
from pathlib import Path

import pytest

from katod.cli import demo


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Play the session without pauses, and give katod enough time on a busy machine."""
    monkeypatch.setattr(demo, "_BEAT", 0.0)
    monkeypatch.setattr(demo, "_PATIENCE", 30.0)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the folder for temporary homes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(demo.tempfile, "tempdir", str(folder))
    return folder


def test_the_transcript_of_the_session_is_shown(world, temporary):
    """It is shown from front matter to the end of the recording; nothing is left over, and no user file is touched."""
    before = sorted(world.home.rglob("*"))
    shown = world.cli("demo")
    assert "What katod wrote to ~/katod/" in shown
    assert "\n---\ntitle: " in shown
    assert "*Recording stopped" in shown
    assert sorted(world.home.rglob("*")) == before
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_the_home_is_kept_on_request(world, temporary):
    """With `--keep` its path is printed, that of the transcript in it, and a command that makes a page of the session."""
    *_, transcript, page, _, kept = world.cli("demo", "--keep").splitlines()
    assert Path(kept.partition(": ")[2]).parent == temporary
    assert Path(transcript.removeprefix("The transcript is ")).is_file()
    world.cli(*page.partition(": katod ")[2].split()[:-1], str(temporary / "demo.html"))
    assert (temporary / "demo.html").is_file()


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_a_terminal_that_is_closed_ends_all_of_it(world, temporary, monkeypatch, name):
    """The daemon and the temporary home would stay for ever."""
    number, started = signal.Signals[name], []
    before, opening = signal.signal(number, signal.SIG_DFL), subprocess.Popen  # below nohup, one of them is ignored
    monkeypatch.setattr(
        subprocess, "Popen", lambda *given, **more: started.append(opening(*given, **more)) or started[0]
    )
    monkeypatch.setattr(demo, "_play", lambda _: signal.raise_signal(number))
    try:
        world.cli("demo", code=128 + number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert started[0].returncode is not None
    assert list(temporary.iterdir()) == []


def test_a_katod_that_does_not_start_is_an_error(world, temporary, monkeypatch):
    """The demo fails with one line, ends the process that it started, and leaves nothing behind."""
    monkeypatch.setattr(demo, "_PATIENCE", 0.0)
    world.cli("demo", code=1)
    assert "katod to start" in world.said
    assert list(temporary.iterdir()) == []
