"""Standard output that is full, closed or missing: the exit code says it, and at most one line."""

import os
import subprocess
import sys

import orjson
import pytest

from tests.support.pane import Pane
from tests.support.records import SESSION, Claude

FULL = "katod: standard output: No space left on device (free some space on its disk)\n"


@pytest.fixture
def shell(world):
    """Return what runs `katod` with a line of shell, as a program; what it returns, prints and says."""
    world.claude().append(Claude().user("::start chat\nhello"), Claude().says("hi"))
    world.once()

    def run(line, out=subprocess.PIPE):
        done = subprocess.run(
            ["bash", "-c", f"exec {sys.executable} -m katod {line}"], env=world.environment, stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.PIPE, text=True, errors="replace", timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("command", ["status", "status --json", f"export {SESSION}", "sessions", "--help", "doctor"])
def test_a_full_disk_is_one_line(shell, command):
    """The exit code is that of any failure; Python does not add its own words and another code."""
    assert shell(f"{command} > /dev/full") == (1, "", FULL)


@pytest.mark.parametrize(("command", "code"), [("show nothing", 1), ("frobnicate", 2)])
def test_a_failure_that_cannot_be_said_is_a_failure(shell, command, code):
    """There is no other exit code in its place."""
    assert shell(f"{command} 2> /dev/full") == (code, "", "")


@pytest.mark.parametrize("command", [f"export {SESSION}", "sessions", f"follow {SESSION}"])
def test_a_reader_that_has_ended_is_nothing_to_say(shell, command):
    """As in `katod sessions | head`; `katod follow` ends as it does otherwise."""
    reader, writer = os.pipe()
    os.close(reader)
    code, _, said = shell(command, writer)
    os.close(writer)
    assert (code, said) == (0 if "follow" in command else 1, "")


def test_what_a_locale_cannot_show_is_a_question_mark(shell, world):
    """In a locale that is not UTF-8, a transcript is shown as far as it can be."""
    world.variables["PYTHONIOENCODING"] = "latin-1"
    code, shown, said = shell("setup --print codex")
    assert (code, said) == (0, "")
    for command in ("demo", f"handoff {SESSION}", "show 1", "search hello"):
        code, shown, said = shell(command)
        assert (code, said) == (0, ""), command
    assert "hello" in shown


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", ">&-", "<&-", "2>&-"])
def test_a_stream_that_is_closed_is_read_and_written_nowhere(shell, world, closed):
    """What was asked for is done all the same, and no file gets what is printed."""
    code, _, said = shell(f"start {SESSION} notes {closed}")
    assert (code, said.replace("katod is not running: run `katod run` to continue recording\n", "")) == (0, "")
    assert shell(f"run --once {closed}")[0] == 0
    assert [row.path.name for row in world.outputs()] == ["chat.md", "notes.md"]
    assert not any("recording to" in path.read_text() for path in world.files())


@pytest.mark.parametrize(
    "command", ["search needle", "search --all needle", "sessions", "status", "usage --by project", "rescue", "doctor"]
)
def test_what_programs_read_is_cleaned_on_a_terminal_alone(world, command):
    """JSON escapes no controls but those of ASCII; in a pipe, it says exactly what there is."""
    session = world.claude()
    session.append(session.user("::start needle \x9b31m red", cwd=f"{world.home}/sh\x9b31mop"), session.says("hi"))
    world.once()
    with Pane(world, *command.split(), "--json") as pane:
        pane.ended()
        assert "\x9b" not in pane.raw
    for row in world.katod(*command.split(), "--json", check=False).stdout.decode().splitlines():
        orjson.loads(row)
