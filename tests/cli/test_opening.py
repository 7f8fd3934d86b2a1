"""Files in the person's programs, and temporary files."""

import os
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from katod.cli import opening
from katod.cli.opening import Opened, clear, opened_in, temporary
from katod.errors import KatodError
from tests.looping import each


@pytest.fixture
def base(tmp_path, monkeypatch):
    """Return the folder for temporary files; there is no editor, no browser and no desktop."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in ("VISUAL", "EDITOR", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def program(folder, body):
    """Return a program that is run by the shell."""
    path = folder / "an editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return path


@each("variable, web", [("VISUAL", False), ("EDITOR", False), ("BROWSER", True)])
def test_the_program_of_the_environment_is_started_without_a_shell(base, monkeypatch, variable, web):
    """Its command is split like a shell's, and no more: what is in it is not carried out."""
    path = program(base, f'printf "%s|" "$@" > {base}/said')
    monkeypatch.setenv(variable, f"'{path}' --wait '$(touch pwned)' ;")
    assert opened_in(base / "a b.md", web=web) is Opened.HANDED_ON
    assert (base / "said").read_text() == f"--wait|$(touch pwned)|;|{base}/a b.md|"
    monkeypatch.delenv(variable)


def test_a_name_is_never_an_option(base, monkeypatch):
    """A relative one may begin with a hyphen."""
    monkeypatch.chdir(base)
    monkeypatch.setenv("VISUAL", str(program(base, f'printf "%s|" "$@" > {base}/said')).replace(" ", "\\ "))
    opened_in(Path("-x.md"), web=False)
    assert (base / "said").read_text() == f"{base}/-x.md|"


def test_a_program_that_stays_has_read_the_file(base, monkeypatch):
    """One that ends at once may have handed it on to a window that is open."""
    monkeypatch.setenv("VISUAL", str(program(base, ":")).replace(" ", "\\ "))
    monkeypatch.setattr(opening, "_SHORTEST", 0.0)
    assert opened_in(base / "a", web=False) is Opened.READ


def test_without_a_program_the_path_is_printed(base, capsys):
    """With what to set."""
    assert opened_in(base / "a.md", web=False) is Opened.NOT
    shown = capsys.readouterr()
    assert shown.out == f"{base}/a.md\n"
    assert "set VISUAL or EDITOR" in shown.err


@each(
    "command, problem",
    [("/nowhere/vi", "cannot be started"), ("'", "cannot be parsed"), ("false", "ended with exit code 1")],
)
def test_a_program_that_fails_is_named(base, monkeypatch, command, problem):
    """As one line."""
    monkeypatch.setenv("VISUAL", command)
    with pytest.raises(KatodError, match=problem):
        opened_in(base / "a", web=False)


@pytest.mark.skipif(sys.platform == "darwin", reason="has a desktop always")
def test_the_desktop_opens_what_no_program_is_named_for(base, monkeypatch):
    """If there is one."""
    program(base, f'echo "$@" > {base}/said').rename(base / "xdg-open")
    monkeypatch.setenv("PATH", f"{base}:{os.environ['PATH']}")
    assert opened_in(base / "a", web=False) is Opened.NOT
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert opened_in(base / "a", web=False) is Opened.HANDED_ON
    assert (base / "said").read_text() == f"{base}/a\n"


# -- temporary files ------------------------------------------------------------------------------


@each("outcome, stays", [(Opened.READ, False), (Opened.HANDED_ON, True), (Opened.NOT, True)])
def test_a_temporary_file_is_private_and_removed_when_it_was_read(base, outcome, stays):
    """Nobody else can read it or its folder; one that may still be read stays."""
    paths = []

    def use(path):
        paths.append(path)
        assert path.read_text() == "words"
        assert [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)] == [0o600, 0o700]
        return outcome

    assert temporary("../a b/.c.md", iter(["wor", "ds"]), use) is outcome
    assert paths[0].parent.parent == base
    assert paths[0].name == "a-b-.c.md"
    assert paths[0].parent.exists() == stays


def test_a_failure_leaves_nothing(base):
    """Neither of the text nor of the program."""

    def fail():
        yield "words"
        raise KatodError("gone")

    with pytest.raises(KatodError):
        temporary("a.md", fail(), lambda _: Opened.NOT)
    assert list(base.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_that_ends_katod_leaves_nothing(base, number):
    """As when the terminal is closed: the file is gone, and the process ended by that signal."""

    def act():
        signal.signal(number, signal.SIG_DFL)  # below nohup, tests ignore one of them
        temporary("a.md", iter(["words"]), lambda _: os.kill(os.getpid(), number) or time.sleep(60))

    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -number
    assert list(base.iterdir()) == []


def test_signals_mean_what_they_did_before_afterwards(base):
    """One that is ignored, as with nohup, stays so meanwhile."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ending = signal.getsignal(signal.SIGTERM)
    try:
        temporary("a.md", iter(["words"]), lambda _: os.kill(os.getpid(), signal.SIGHUP) or Opened.READ)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) is ending


def test_the_next_one_removes_what_was_left(base):
    """Not what is not katod's, not what another process uses, and not what was opened just now."""
    ended = 2**22 + 1  # more than any process has
    names = {
        f"katod-open-{ended}-abc": True, f"katod-open-{os.getppid()}-abc": False, f"katod-open-{os.getpid()}-abc": True,
        "katod-open-mine": False, "other": False,
    }  # fmt: skip
    for name in names:
        (base / name).mkdir()
        (base / name / "x.md").touch()
        os.utime(base / name, (1, 1))
    (base / f"katod-open-{ended}-new").mkdir()
    os.utime(base / f"katod-open-{ended}-new", (time.time(), time.time()))
    (base / f"katod-open-{ended}-link").symlink_to(base / "other")
    clear()
    assert {name: not (base / name).exists() for name in names} == names
    assert (base / f"katod-open-{ended}-new").exists()
    assert (base / "other" / "x.md").exists()
    clear(0)
    assert not (base / f"katod-open-{ended}-new").exists()
