"""`katod follow`: what it prints, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from katod.cli import follow as following
from katod.discover.live import SessionWatch
from tests.looping import each
from tests.support.live import until
from tests.support.pane import Pane
from tests.support.records import SESSION, Claude


def interrupted(_watch):
    raise KeyboardInterrupt


@pytest.fixture
def make():
    """Return the maker of a conversation's records."""
    return Claude()


@pytest.fixture
def spoken(world, make, monkeypatch):
    """Return a world with a conversation; a follower ends as by Ctrl-C when it would wait for the third time."""
    source, waits = world.claude(), []
    source.append(make.user("one"), make.says("two"), make.user("three"))

    def wait(_watch):
        waits.append(1)
        if len(waits) == 1:
            source.append(make.runs("t1", "make"), make.says("sk-ant-api03-" + "a1B2" * 24))
        elif len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(SessionWatch, "wait", wait)
    return world


def test_in_a_pipe_it_prints_events(spoken):
    """From the last typed message on, with what happens later, redacted; Ctrl-C is no failure."""
    rows = [json.loads(line) for line in spoken.cli("follow", SESSION).splitlines()]
    kinds = [row["kind"] for row in rows if row["kind"] != "usage"]
    assert kinds == ["user.message", "assistant.tool.call", "assistant.message"]
    assert "a1B2" not in json.dumps(rows)
    assert len({row["id"] for row in rows}) == len(rows)


@each("options, first", [(["--all"], "one"), ([], "three"), (["--all", "--no-redact"], "one")])
def test_markdown_has_a_title(world, options, first, monkeypatch):
    """But no front matter; and it ends with what was held back: a call that has no result yet."""
    source, make = world.claude(), Claude()
    source.path.unlink(missing_ok=True)
    source.append(make.user("one"), make.says("two"), make.user("three"), make.runs("t1", "make"))

    def end(_watch):
        raise KeyboardInterrupt

    monkeypatch.setattr(SessionWatch, "wait", end)
    shown = world.cli("follow", SESSION, "-f", "md", *options)
    assert shown.startswith("# one\n")
    assert f"## You · 23:{37 if first == 'one' else 39} · {first}\n" in shown
    assert "`make`" in shown.splitlines()[-3]


def test_html_is_refused_in_words(world):
    """A page has an end."""
    world.cli("follow", "-f", "html", code=2)
    assert "not one of markdown, jsonl" in world.said


@pytest.mark.slow
def test_a_running_program_prints_at_once_and_ends_with_its_reader(world, make):
    """Each event when it happens, for a session that is not recorded; without a word when nobody reads any more."""
    source = world.claude().append(make.user("one"))
    command = [sys.executable, "-m", "katod", "follow", SESSION]
    with subprocess.Popen(command, env=world.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        lines = []
        threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, b"")), daemon=True).start()
        until(lambda: b'"one"' in b"".join(lines), "the first message")
        source.append(make.says("two"))
        until(lambda: b'"two"' in b"".join(lines), "what was appended")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


@pytest.mark.slow
def test_it_ends_when_its_reader_does(world, make):
    """Even if nothing more happens in the session."""
    world.claude().append(make.user("one"))
    command = ["sh", "-c", f'"$0" -m katod follow {SESSION}; echo "ended $?" >&2', sys.executable]
    with subprocess.Popen(command, env=world.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b'"one"' in process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == b"ended 0\n"


@pytest.mark.slow
def test_on_a_terminal_it_is_readable(world, make):
    """In colour, without marks of Markdown; Ctrl-C ends it."""
    source = world.claude().append(make.user("one"), make.says("**two**"))
    with Pane(world, "follow", SESSION) as pane:
        pane.until(["one", "two"])
        source.append(make.says("`three`"))
        pane.until("three")
        assert pane.interrupt() == 0
    assert "\x1b[" in pane.raw
    assert "**" not in pane.text
    shown = [pane.raw.find(part) for part in ("\x1b[22;2t", "\x1b]2;Claude: ", "\x1b[23;2t")]
    assert -1 < shown[0] < shown[1] < shown[2], "the window's title says what the session is doing, until the end"


def test_a_session_that_begins_as_katod_starts_to_wait_for_one_is_followed(world, make, monkeypatch):
    """It is not among the sessions that were there, although nothing is written to it any more."""
    monkeypatch.chdir(world.project)
    begins = Claude(cwd=str(world.project)).user("the first words")
    monkeypatch.setattr(following, "say", lambda *_arguments, **_named: world.claude().append(begins))
    monkeypatch.setattr(following.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(SessionWatch, "wait", interrupted)
    assert "the first words" in world.cli("follow")


def test_in_a_directory_that_is_gone_none_is_waited_for(world, tmp_path, monkeypatch):
    """None can begin there."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    world.cli("follow", code=1)
    assert "no session in this directory" in world.said


@pytest.mark.slow
def test_the_first_session_of_a_directory_is_waited_for(world, make):
    """Where there is none yet, it says so; a session of another directory is not taken."""
    command = [sys.executable, "-m", "katod", "follow"]
    environment = world.environment | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=environment, cwd=world.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.set_blocking(process.stderr.fileno(), False)
        until(lambda: b"waiting for the first session in ~/app" in (process.stderr.read() or b""), "the note")
        other = world.session(2)
        other.append(Claude(session=other.session, cwd="/elsewhere").user("other"))
        world.claude().append(Claude(cwd=str(world.project)).user("the first words"))
        assert b"the first words" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_lifecycle_lines_are_printed_as_they_happen(spoken):
    """From the last prompt on; what was said is not among them."""
    rows = [json.loads(line) for line in spoken.cli("follow", SESSION, "-f", "lifecycle").splitlines()]
    assert [row["type"] for row in rows][:4] == ["session", "agent_start", "message_update", "turn_start"]
    assert {"tool_execution_start", "message_end"} <= {row["type"] for row in rows}
    assert "three" not in json.dumps(rows)


@pytest.mark.slow
def test_what_is_followed_for_a_room_is_what_is_exported(world, make, monkeypatch):
    """Up to the line that says that it was exported: with the content of pictures, and with the same options."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cGljdHVyZQ=="}}
    world.claude().append(make.user([{"type": "text", "text": "Look"}, image]), make.runs("t1", "make"))

    def end(_watch):
        raise KeyboardInterrupt

    monkeypatch.setattr(SessionWatch, "wait", end)
    for options in ([], ["--tools", "none"], ["--tools", "full", "--thinking"]):
        followed = world.cli("follow", SESSION, "-f", "matrix", "--all", *options)
        exported = world.cli("export", SESSION, "-f", "matrix", *options)
        assert exported.splitlines()[:-1] == followed.splitlines()
        assert '"base64":"' in followed
