"""The scripts that an agent runs, run by the machine's own `sh`."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from katod.command import grammar
from katod.setup import scripts

SESSION = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
BOOT = Path("/proc/sys/kernel/random/boot_id")
STRANGE = "a 'b' \"c\" $HOME `d` \\e\n*"
SHELLS = [shell for shell in ("sh", "dash", "bash", "zsh", "busybox") if shutil.which(shell)]


@pytest.fixture(params=["plain", STRANGE])
def folder(tmp_path, request):
    """A folder whose name may have every character that means something to a shell."""
    path = tmp_path / request.param
    path.mkdir()
    return path


def run(path, given, *, shell="sh"):
    """Return what a script prints; it never fails, and says nothing on stderr."""
    line = scripts.call(path)
    command = ["busybox", "sh", "-c", line] if shell == "busybox" else [shell, "-c", line]
    done = subprocess.run(
        command, input=given, capture_output=True, timeout=20, check=False, env={"PATH": os.environ["PATH"]}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode("utf-8", "replace")


def script(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def said(prompt, **more):
    """Return what the agent gives a hook, or a status line."""
    return json.dumps({"session_id": SESSION, "cwd": "/home/me", "prompt": prompt} | more, ensure_ascii=False).encode()


# -- the hook --------------------------------------------------------------------------------------


@pytest.fixture
def hook(folder):
    """A hook that calls a program which prints what it was given."""
    program = folder / "katod program"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$2"\nexec cat\n')
    program.chmod(0o700)
    return script(folder, "hook.sh", scripts.hook([str(program), "-P"], folder, folder / "left", "claude"))


@pytest.mark.parametrize(
    ("prompt", "starts"),
    [
        ("::start", True),
        ("hello\n::strat", True),
        ("hello\r\n::Stop\nmore", True),
        ("  ::start", True),
        ("\t::Capture", True),
        ("::record", True),
        (" ::keep", True),
        ("  ::init x", True),
        (":: start", True),
        ("std::vector<int> a;", False),
        ("a ::b", False),
        ("hello", False),
        ("x = a[::2]", False),
        ("", False),
    ],
)
def test_the_hook_starts_katod_only_for_what_begins_like_a_command(folder, hook, prompt, starts):
    """Then katod gets its state directory, and exactly what the agent gave the hook."""
    given = said(prompt)
    assert run(hook, given) == (f"{folder}\n{given.decode()}" if starts else "")


def test_the_hook_knows_every_word_of_the_grammar(folder, hook):
    """An indented line is no command: katod has to say so of each."""
    for word in (*grammar.WORDS, *grammar._OF_ANOTHER_TOOL):
        for spelled in (word, word.upper(), word.title()):
            assert run(hook, said(f"hello\n  ::{spelled} 3")) != "", spelled


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_reads_the_hook_alike(folder, hook, shell):
    """The scripts use only what POSIX has; a prompt with percent signs and backslashes arrives as it is."""
    given = said("::strat %s %d \\n \\\\ $(touch x) `y`")
    assert run(hook, given, shell=shell) == f"{folder}\n{given.decode()}"
    assert run(hook, said("nothing"), shell=shell) == ""


def test_without_katod_the_hook_is_silent(folder):
    """If katod, the script or the state directory is gone, or katod fails, nothing is said and nothing fails."""
    broken = folder / "broken"
    broken.write_text("#!/bin/sh\necho trouble >&2\nexit 3\n")
    broken.chmod(0o700)
    for program in (folder / "gone", broken):
        assert (
            run(
                script(folder, "hook.sh", scripts.hook([str(program)], folder, folder / "left", "claude")),
                said("::start"),
            )
            == ""
        )
    assert run(folder / "gone.sh", said("::start")) == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_hook_says_once_that_a_session_is_not_recorded(folder, hook, shell):
    """If it began below a recording, the user is told with the first prompt, and with no other one."""
    (folder / "left").write_text("")
    (folder / f"left-claude-{SESSION}").write_text("")
    other = said("hello", session_id=SESSION.replace("6", "7"))
    assert run(hook, other, shell=shell) == ""
    told = json.loads(run(hook, said("hello"), shell=shell))
    assert told == {"systemMessage": "katod: this session is not recorded: type ::start to record it"}
    assert run(hook, said("hello"), shell=shell) == ""
    assert run(hook, said("::start"), shell=shell).startswith(f"{folder}\n")


def test_the_hook_keeps_what_it_says_of_a_session_for_a_prompt_without_commands(folder, hook):
    """With a command in the prompt, katod answers; bytes that are no text do not keep it from that."""
    (folder / "left").write_text("")
    (folder / f"left-claude-{SESSION}").write_text("")
    assert run(hook, said("::strat").replace(b"::strat", b"::strat \xff")).startswith(f"{folder}\n")
    assert "not recorded" in run(hook, said("hello"))


# -- the status line -------------------------------------------------------------------------------


@pytest.fixture
def status_line(folder):
    """The script of an agent."""
    return script(folder, "statusline.sh", scripts.status_line(folder, "claude"))


def sign(folder, text="● rec login.md", *, pid=0, boot=None, name=f"claude-{SESSION}"):
    """Write the file of a recording, as the daemon does."""
    now = BOOT.read_text().strip() if BOOT.exists() else ""
    (folder / name).write_text(f"{pid or os.getpid()}\n{now if boot is None else boot}\n{text}\n")


def ended():
    """Return the id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize("shell", SHELLS)
def test_the_status_line_shows_what_the_daemon_wrote(folder, status_line, shell):
    """It is that of this session, as long as the daemon is running; another session shows nothing."""
    sign(folder, "● rec a b%s\\n$x.md")
    assert run(status_line, said(""), shell=shell) == "● rec a b%s\\n$x.md\n"
    assert run(status_line, said("", session_id=SESSION[::-1]), shell=shell) == ""


@pytest.mark.parametrize(("pid", "boot"), [("ended", None), *([(0, "another boot")] if BOOT.exists() else [])])
def test_the_status_line_of_a_katod_that_died_says_so(folder, status_line, pid, boot):
    """Neither after a crash, nor when another process has its number since the machine was started again."""
    sign(folder, pid=ended() if pid else 0, boot=boot)
    assert run(status_line, said("")) == f"{scripts.NOT_RUNNING}\n"


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"{}",
        b"not JSON",
        b'{"session_id": 5}',
        b'{"session_id":"../../etc/passwd"}',
        b'{"session_id":"$(touch x)"}',
        b'{"session_id":""}',
    ],
)
def test_the_status_line_of_no_session_is_empty(folder, status_line, given):
    """Whatever is no id of a session leads to no file."""
    sign(folder)
    assert run(status_line, given) == ""
    assert not (folder / "x").exists()


def test_a_status_line_waits_for_nothing(folder, status_line):
    """A FIFO, a folder or a file with other content in the place of the small file shows nothing."""
    path = folder / f"claude-{SESSION}"
    os.mkfifo(path)
    assert run(status_line, said("")) == ""
    path.unlink()
    path.mkdir()
    assert run(status_line, said("")) == ""
    path.rmdir()
    for content in ("", "-1\n\nx\n", "1 2\n\nx\n", "x\ny\nz\n"):
        path.write_text(content)
        assert run(status_line, said("")) == ""


@pytest.mark.slow
def test_the_scripts_cost_milliseconds(folder, status_line, hook):
    """The status line and a hook without a command each take at most 10 ms more than starting a shell."""

    def fastest(path, given):
        took = []
        for _ in range(30):
            start = time.perf_counter()
            run(path, given)
            took.append(time.perf_counter() - start)
        return min(took)

    sign(folder)
    nothing = fastest(script(folder, "nothing.sh", "exit 0\n"), b"")
    context = {
        "transcript_path": "/x" * 100,
        "model": {"id": "m" * 50},
        "cost": {"total": 1.5},
        "workspace": {"a": "b" * 500},
    }
    assert fastest(status_line, said("", **context)) - nothing < 0.01
    assert fastest(hook, said("words " * 200)) - nothing < 0.01
