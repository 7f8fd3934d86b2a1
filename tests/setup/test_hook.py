"""What the hook says about a prompt, to the user alone."""

import io
import subprocess
import sys
from types import SimpleNamespace

import orjson
import pytest

from katod.service.lock import Lock
from katod.setup.hook import answer, main
from tests.support.world import SOURCE


def said(prompt, *, running=True, ran=True, paused=False):
    """Return the message, empty if there is none."""
    printed = answer(orjson.dumps({"prompt": prompt}), running=running, ran=ran, paused=paused)
    if not printed:
        return ""
    row = orjson.loads(printed)
    assert list(row) == ["systemMessage"], "nothing for the model, and nothing is blocked"
    return row["systemMessage"]


def test_a_misspelt_command_is_corrected():
    """Each line that resembles a command is named with what it should be."""
    assert said("::strat login\nhello") == 'katod: "::strat" is not a command; did you mean "::start"?'
    assert said("  ::stop").startswith("katod: this is not a command: begin the line with `::stop`")
    assert said("::strat\n::stpo").count("did you mean") == 2


def test_a_command_is_not_confirmed():
    """Whether it acts is not known before it is sent."""
    assert said("::start login\nhello") == ""
    assert said("hello\n\n::stop") == ""


def test_a_command_that_nobody_hears_is_named():
    """While katod is not running, a command waits; before its first run, it is lost."""
    assert said("::start", running=False) == (
        "katod is not running: the command takes effect when it starts (`katod service start`)"
    )
    assert "then type the command again" in said("::start", running=False, ran=False)
    assert said("hello", running=False) == ""
    assert said("```\n::start\n```", running=False) == ""


def test_a_command_during_a_pause_is_answered():
    """It does not act, now or later, unless it is a stop."""
    assert said("::start", paused=True) == "katod is paused: only ::stop has an effect until `katod pause --end`"
    assert said("hello", paused=True) == ""


@pytest.mark.parametrize("given", [b"", b"[]", b"{}", b"5", b'{"prompt": 5}', b"\xff", b'{"prompt": "\\ud800::strat"}'])
def test_what_is_no_prompt_is_answered_with_nothing(given):
    """An agent of another version may give something else."""
    assert answer(given, running=False, ran=True) == b""


@pytest.mark.slow
def test_it_is_a_program(tmp_path):
    """It reads stdin, and looks for the daemon's lock; modules in the project's directory are not imported."""
    (tmp_path / "json.py").write_text("raise SystemExit(7)")
    state = tmp_path / "state"
    command = [sys.executable, "-P", "-m", "katod.setup.hook", str(state)]

    def run():
        return subprocess.run(
            command,
            input=b'{"prompt":"::stop"}',
            cwd=tmp_path,
            env={"PYTHONPATH": str(SOURCE)},
            capture_output=True,
            check=True,
        ).stdout

    assert b"has never run" in run()
    lock = Lock.take(state)
    assert run() == b""
    lock.release()


def test_the_state_says_whether_katod_runs(tmp_path, monkeypatch):
    """Once katod has run, a command acts at its next start."""
    Lock.take(tmp_path).release()
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"prompt":"::stop"}')))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=printed))
    main(tmp_path)
    assert b"takes effect when it starts" in printed.getvalue()
