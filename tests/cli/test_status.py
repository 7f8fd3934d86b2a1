"""`katod status`: what went wrong is visible."""

import os
import time

import orjson
import pytest

from katod.cli import overview
from katod.cli.context import Context
from katod.events import seconds
from tests.support.pane import Pane
from tests.support.records import Claude, Codex


def test_a_bad_configuration_hides_nothing(world):
    """The status is shown nevertheless; the reason follows, and the exit code is 1."""
    world.claude().append(Claude().user("::start notes\none"))
    world.once()
    world.config.write_text("[output]\ndirectroy = '/x'\n")
    assert "notes.md" in world.cli("status", code=1)
    assert "unknown key `output.directroy`" in world.said


def test_a_folder_that_cannot_be_read_is_named(world, monkeypatch):
    """An unreadable agent's folder is a problem like an unreadable file."""
    monkeypatch.setattr(Context, "look", lambda self: self.problems.update({"/closed": "Permission denied"}))
    assert orjson.loads(world.cli("status", "--json"))["problems"] == [
        {"path": "/closed", "problem": "Permission denied"}
    ]


def test_more_ended_recordings_than_are_shown_are_counted(world, monkeypatch):
    """The list on a terminal is short, and says so."""
    monkeypatch.setattr(overview, "_LAST", 1)
    make, source = Claude(), world.claude()
    for name in "abc":
        source.append(make.user(f"::start {name}\none\n::stop"))
    world.once()
    assert "and 2 earlier (--json lists them all)" in world.cli("status")


@pytest.mark.slow
def test_secrets_that_were_replaced_are_counted(world):
    """For each recording, live and across restarts; a recording without any says nothing."""
    make, source = Claude(), world.claude()
    key = "sk-ant-api03-" + "aB3dE5gH7jK9" * 4
    source.append(make.user("::start notes\nhello"), make.user(f"my key is {key}"), make.says("thanks"))
    world.once()
    source.append(make.says(f"you said {key} and {key[:-4]}0000"), make.user("::stop"))
    world.once()
    [row] = orjson.loads(world.cli("status", "--json"))["ended"]
    assert row["redactions"] == 3
    assert "(3 secrets redacted)" in world.cli("status")
    source.append(make.user("::start clean\nhello"))
    world.once()
    assert "clean.md (" not in world.cli("status")


def test_a_store_without_a_session_that_katod_knows_is_a_problem(world):
    """A new version of an agent that names its files differently does not fail in silence."""
    folder = world.home / ".codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    (folder / "thread-1.jsonl").write_text("{}\n")
    [problem] = world.status()["problems"]
    assert problem["path"] == str(world.home / ".codex")
    assert problem["problem"].startswith("has files that look like sessions (1)")
    world.codex().append(Codex().meta())
    assert world.status()["problems"] == []


@pytest.mark.slow
def test_what_was_cleared_stays_hidden_until_something_new_happens(world):
    """`--clear` hides refused commands and near misses; a later one is shown."""
    make = Claude()
    source = world.claude().append(make.user("::strat"), make.user("::start /etc/x.md\none"))
    world.once()
    assert [len(world.status()[name]) for name in ("nearMisses", "refused")] == [1, 1]
    world.cli("status", "--clear")
    assert [len(world.status()[name]) for name in ("nearMisses", "refused")] == [0, 0]
    source.append(make.user("::stopp"))
    world.once()
    assert [miss["command"] for miss in world.status()["nearMisses"]] == ["stop"]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [5, 24])
def test_watching_shows_one_screen_of_any_height(world, rows):
    """It is cut to the window, colours and all, and after Ctrl-C the terminal has the status once more."""
    for name in "abc":
        world.session(int(name, 16)).append(world.session(int(name, 16)).user(f"::start {name}\nhello"))
    world.once()
    with Pane(world, "status", "--watch", rows=rows, columns=60) as pane:
        pane.until("katod is not running")
        screen = pane.raw.rpartition("\x1b[H")[2]
        assert screen.count("\n") < rows
        assert "\x1b[2J" not in pane.raw, "nothing is erased before it is drawn again"
        assert ("more lines" in screen) is (rows == 5)
        assert "\x1b[31m" in screen
        assert pane.interrupt() == 0
        left = pane.raw.rpartition("\x1b[?1049l")[2]
        assert "c.md" in left


@pytest.mark.slow
@pytest.mark.parametrize("columns", [20, 30, 40, 41, 60])
def test_watching_shows_every_state(world, columns):
    """However narrow the window is; what waits comes first."""
    asked = Claude().calls("t1", "AskUserQuestion", questions=[{"question": "Which?", "options": []}])
    for number in (10, 11):
        source = world.session(number)
        source.append(source.user('::start "quite a long name"\nhello'), *([asked] if number == 11 else []))
    world.once()
    with Pane(world, "status", "--watch", rows=20, columns=columns) as pane:
        pane.until("working")
        screen = pane.raw.rpartition("\x1b[H")[2]
        assert -1 < screen.find("blocked") < screen.find("working")
        pane.interrupt()


@pytest.mark.slow
def test_colours_can_be_switched_off(world, monkeypatch):
    """`NO_COLOR` is obeyed on a terminal."""
    world.variables["NO_COLOR"] = "1"
    with Pane(world, "status") as pane:
        pane.until("nothing is being recorded")
        assert "\x1b[" not in pane.raw


def test_what_a_recorded_session_is_doing_is_shown(world):
    """As its file and its agent say, with and without the daemon."""
    source = world.claude().append(Claude().user("::start notes\none"), Claude().runs("t1", "make"))
    world.once()
    assert orjson.loads(world.cli("status", "--json"))["recordings"][0]["state"] == "working"
    source.append(Claude(start=9).calls("t2", "AskUserQuestion", questions=[{"question": "Which?", "options": []}]))
    assert "blocked" in world.cli("status")


def test_sessions_that_wait_are_named_without_recordings(world):
    """Of those that changed within a day; once something is recorded, it is what is shown."""
    asked = Claude().calls("t1", "AskUserQuestion", questions=[{"question": "Which?", "options": []}])
    source = world.claude().append(Claude().user("Look."), asked)
    [row] = world.status()["blocked"]
    assert (row["agent"], row["state"], row["waitsFor"]) == ("claude", "blocked", "question")
    assert "Claude Code in app waits for your answer" in world.cli("status")
    os.utime(source.path, (time.time() - 2 * 86_400,) * 2)
    assert world.status()["blocked"] == []
    os.utime(source.path)
    world.codex().append(Codex().meta(), Codex().user("::start notes\nhello"))
    world.once()
    assert world.status()["blocked"] == []


def test_a_recording_that_the_shell_begins_begins_now(world):
    """However long ago anything was said in the session."""
    make = Claude()
    world.claude().append(make.user("hello"), make.says("hi"))
    world.once()
    before = time.time()
    world.cli("start", make.session, "all")
    world.once()
    [row] = world.status()["recordings"]
    assert before - 1 < seconds(row["since"]) < time.time() + 1


def test_a_recording_begins_when_it_is_asked_for(world):
    """Not with the last event before it; all times have one form."""
    make = Claude()
    world.claude().append(make.user("hello"), make.says("hi"))
    world.once()
    source = world.claude().append(make.user("::capture all\nmore"))
    world.once()
    [row] = world.status()["recordings"]
    said = [event for event in map(orjson.loads, source.path.read_bytes().splitlines()) if "timestamp" in event]
    assert row["since"] == said[-1]["timestamp"]
    source.append(make.user("::stop"), again := make.user("::start all\nonce more"))
    world.once()
    assert [one["since"] for one in world.status()["recordings"]] == [again["timestamp"]]
    assert all(row[name].endswith("Z") and len(row[name]) == 24 for name in ("since", "changed"))


def test_a_state_directory_that_katod_does_not_use_is_a_problem(world):
    """Others can write to it: `katod run` refuses it, and status says the same."""
    world.once()
    world.state.chmod(0o777)
    [problem] = world.status()["problems"]
    assert problem["path"] == str(world.state)
    assert problem["problem"].startswith("can be written to by others: if nobody else uses it, run `chmod go-w ")
