"""Signs of life: what is recorded, in small files that status lines show."""

import os
import stat
from pathlib import Path

import pytest

from katod.log import EventLog
from katod.model import SessionKey
from katod.service import recordingfiles
from katod.service.recordingfiles import RecordingFiles
from tests.support.live import Live, until
from tests.support.records import SESSION, Claude

NAME = f"claude-{SESSION}"


class Row:
    """What of an output is shown."""

    def __init__(self, name="login.md", *, held=None, problem="", successor=""):
        self.path, self.held, self.problem, self.successor = Path("/out") / name, held, problem, successor


class Shown:
    """The files of a state directory."""

    def __init__(self, state):
        self.folder, self.said = state / recordingfiles.FOLDER, []
        self.signs = RecordingFiles(state, EventLog(lambda _, event, fields: self.said.append((event, fields))))

    def show(self, **rows):
        self.signs.show([(SessionKey("claude", name), row) for name, row in rows.items()])

    def texts(self):
        """Return the last line of each file."""
        return {path.name: path.read_text().splitlines()[2] for path in self.folder.iterdir()}


@pytest.fixture
def shown(tmp_path):
    return Shown(tmp_path)


def test_each_recording_is_shown(shown):
    """By its name, as parked, or as waiting for the words that name it."""
    shown.show(a=Row(), b=Row(problem="the disk is full"), c=Row(held={}))
    assert shown.texts() == {
        "claude-a": "● rec login.md", "claude-b": "● parked login.md", "claude-c": "● rec (waiting for your first words)",
    }  # fmt: skip
    shown.show(b=Row())
    assert shown.texts() == {"claude-b": "● rec login.md"}
    shown.signs.clear()
    assert shown.texts() == {}


def test_a_session_that_began_below_a_recording_is_shown_as_not_recorded(shown):
    """Until it is recorded; the hook of its agent finds a file for it, and one that says that there is any."""
    shown.show(a=Row(successor="claude:b"))
    sign = "○ not recorded: type ::start"
    assert shown.texts() == {"claude-a": "● rec login.md", "claude-b": sign, "left-claude-b": sign, "left": sign}
    shown.show(a=Row(successor="claude:b"), b=Row("new.md"))
    assert shown.texts() == {"claude-a": "● rec login.md", "claude-b": "● rec new.md"}


def test_a_file_says_who_wrote_it(shown):
    """The first lines are the daemon and the boot of the machine; only the user can read it."""
    shown.show(a=Row())
    [path] = shown.folder.iterdir()
    pid, boot, _ = path.read_text().splitlines()
    assert pid == str(os.getpid())
    assert boot == (Path(recordingfiles.BOOT_ID).read_text().strip() if Path(recordingfiles.BOOT_ID).exists() else "")
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(shown.folder.stat().st_mode)) == (0o600, 0o700)


def test_nothing_is_written_unless_something_changed(shown, monkeypatch):
    """The same recordings cost no access to the disk."""
    shown.show(a=Row())
    before = (shown.folder / "claude-a").stat().st_ino
    for name in ("open", "unlink", "rename", "listdir"):
        monkeypatch.setattr(recordingfiles.os, name, None)
    monkeypatch.setattr(recordingfiles, "_text", None)
    shown.show(a=Row())
    monkeypatch.undo()
    shown.show(a=Row(), b=Row())
    assert (shown.folder / "claude-a").stat().st_ino == before


def test_what_an_earlier_katod_left_is_removed(shown):
    """After a crash the next start removes what is not recorded, and writes the rest again."""
    shown.folder.mkdir()
    for name in ("claude-a", ".claude-a", "claude-b"):
        (shown.folder / name).write_text("1\n\n● rec old.md\n")
    shown.show(a=Row())
    assert shown.texts() == {"claude-a": "● rec login.md"}


def test_a_name_cannot_act_on_a_terminal(shown):
    """Control characters and changes of direction are left out, other bytes replaced; a long name is cut."""
    shown.show(a=Row("a\x1b]0;x\x07\n\u202eb.md"), b=Row("x" * 300), c=Row("a\udcff.md"))
    assert shown.texts() == {"claude-a": "● rec a]0;xb.md", "claude-b": f"● rec {'x' * 59}…", "claude-c": "● rec a.md"}


def test_only_sessions_with_a_plain_id_are_shown(shown):
    """An id that is a path leads nowhere, and a sub-agent's session has no status line."""
    keys = [
        SessionKey("claude", "../../x"),
        SessionKey("claude", "a", "sub"),
        SessionKey("a", ""),
        SessionKey("a", "x" * 999),
    ]
    shown.signs.show([(key, Row()) for key in keys])
    assert shown.texts() == {"a-": "● rec login.md"}


def test_a_failure_is_logged_once_and_repaired(shown, monkeypatch):
    """Recording goes on, and the files are tried again after a while."""
    now = [0.0]
    monkeypatch.setattr(recordingfiles.time, "monotonic", lambda: now[0])
    shown.folder.write_text("a file in the place of the folder")
    for now[0] in range(0, 100, 10):
        shown.show(a=Row())
    assert shown.said == [("statusfiles.failed", {"path": str(shown.folder), "problem": "File exists"})]
    shown.folder.unlink()
    shown.show(a=Row())
    assert not shown.folder.exists()
    now[0] += 30
    shown.show(a=Row())
    assert shown.texts() == {"claude-a": "● rec login.md"}


@pytest.mark.slow
def test_the_daemon_shows_what_it_records(world):
    """A sign appears with the recording, follows its state, and goes with the recording or with the daemon."""
    source, make = world.claude(), Claude()
    path = world.state / recordingfiles.FOLDER / NAME

    def says(words):
        until(lambda: path.exists() and words in path.read_text(), f"{words} in the sign")

    with Live(world):
        source.append(make.user("::start"))
        says("● rec (waiting for your first words)")
        source.append(make.user("a login page"))
        says("-a-login-page-")
        source.append(make.user("::stop"))
        until(lambda: not path.exists(), "the end of the sign")
        source.append(make.user("::start notes\nagain"))
        says("● rec notes.md")
    assert not path.exists()
    assert path.parent.exists()
    with Live(world):
        says("● rec notes.md")


@pytest.mark.slow
def test_a_daemon_that_was_killed_leaves_its_number(world):
    """The sign stays with the number of a process that is gone; the next start replaces it."""
    source = world.claude()
    path = world.state / recordingfiles.FOLDER / NAME
    with Live(world) as katod:
        source.append(Claude().user("::start notes\nwords"))
        until(path.exists, "the sign")
        killed = katod.process.pid
        katod.kill()
        assert path.read_text().startswith(f"{killed}\n")
    with Live(world):
        until(lambda: path.exists() and not path.read_text().startswith(f"{killed}\n"), "the sign of the next daemon")


def test_files_of_others_are_left_alone(tmp_path):
    """A state directory may be any folder: only what katod wrote there is removed."""
    folder = tmp_path / recordingfiles.FOLDER
    folder.mkdir()
    (folder / "my-movie.mp4").write_bytes(b"\0" * 10_000)
    (folder / "notes").write_text("mine\n")
    (folder / "claude-old").write_text("42\nboot\n● rec old.md\n")
    shown = Shown(tmp_path)
    shown.show()
    assert sorted(path.name for path in folder.iterdir()) == ["my-movie.mp4", "notes"]


def test_after_a_failure_everything_is_shown_again(shown, monkeypatch):
    """Even what was shown before the failure, and was removed in it."""
    shown.show(a=Row())
    with monkeypatch.context() as full:
        full.setattr(
            recordingfiles, "_replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        )
        shown.show(b=Row())
    monkeypatch.setattr(recordingfiles, "_PAUSE", 0.0)
    shown.signs._retry = 0.0
    shown.show(a=Row())
    assert shown.texts() == {"claude-a": "● rec login.md"}
