"""Signs of life: a session at work whose client has ended is not at work for long."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from katod.agents import AGENTS, processes
from katod.discover.roots import stat_source
from katod.record.currentstate import current_state
from katod.states import AT_WORK, DOUBT_AFTER, DOUBT_IN_CALL_AFTER, SILENT_AFTER, State
from tests.support.live import until
from tests.support.records import (
    MAKERS,
    Cline,
    Codex,
    Copilot,
    Gemini,
    Kimi,
    OpenCode,
    OpenCode2,
    Pi,
    Qwen,
    calls,
    user,
)

SAID = [user("Look."), calls("call-1", "make test")]
HOURS = 3 * 3600.0
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")


@pytest.fixture(autouse=True)
def _each_look_is_new(monkeypatch):
    """Nothing is remembered from one look to the next."""
    numbers = iter(range(10**6))
    monkeypatch.setattr(processes, "_look", lambda: next(numbers))


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def make(request):
    """Return each agent's maker in turn."""
    return request.param


def state_of(session, later=0.0):
    """Return what a session is doing, so many seconds after now, if nothing is written meanwhile."""
    spec = AGENTS[session.agent]
    ((path, identity),) = sources(session)
    return current_state([(path, identity, stat_source(spec, path)[1])], time.time() + later)


def sources(session):
    """Return the path and the identity of a session's only source."""
    path = str(session.path) if session.agent != "opencode" else f"{session.path}#{session.id}"
    return [(path, AGENTS[session.agent].identify(Path(path)))]


@pytest.fixture
def client():
    """Runs a program of some name in a folder, within the block; an argument that is a file is kept open."""
    started = []

    @contextmanager
    def run(folder, name, *arguments):
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        shutil.copy(os.path.realpath(shutil.which("tail")), program)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([program, "-f", *arguments], cwd=folder, **quiet)
        started.append(process)
        until(lambda: has_open(process.pid, arguments[0]), "the program, which may not run under another name here")
        yield
        process.kill()  # what remains of it until it is waited for is no client
        until(lambda: not has_open(process.pid, arguments[0]), "its end")

    yield run
    for process in started:
        process.kill()
        process.wait()


def has_open(number, path):
    """Return whether a program has a file open."""
    try:
        return any(Path(place).resolve() == Path(path) for place in Path(f"/proc/{number}/fd").iterdir())
    except OSError:
        return False


# -- the law -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("can_see", [pytest.param(True, marks=linux), False], ids=["proc", "no proc"])
def test_a_session_is_not_at_work_for_long_after_its_client_ended(world, monkeypatch, make, can_see):
    """Of any agent: at the latest after ten minutes in a call, or two without; where the client can be missed, sooner."""
    if not can_see:
        monkeypatch.setattr(processes, "PROC", world.home / "none")
    session = make(world)
    session.say(SAID[0])
    assert state_of(session).state is State.WORKING
    assert state_of(session, DOUBT_AFTER + 1).state not in AT_WORK
    session.say(SAID[1])
    assert state_of(session, DOUBT_IN_CALL_AFTER + 1).state not in AT_WORK


def test_a_state_that_is_only_assumed_says_so(world, monkeypatch):
    """Where nothing can be seen of programs."""
    monkeypatch.setattr(processes, "PROC", world.home / "none")
    session = Pi(world)
    session.say(SAID[0])
    found = state_of(session, DOUBT_AFTER + 1)
    assert (found.word, found.row()) == ("idle?", {"state": "idle", "assumed": True})


# -- the signs ---------------------------------------------------------------------------------------


def _holds(session):
    """Return what keeps a session's own file open."""
    return [str(session.path)]


def _inuse(session):
    """Return the file that Copilot keeps open beside the session's."""
    hold = session.path.parent / "inuse.6.hold"
    hold.touch()
    return [str(hold)]


def _script(session):
    """Return the program that an interpreter executes."""
    script = Path(session.cwd) / "gemini.js"
    script.touch()
    return [str(script)]


def _entry(session):
    """Return the program of Qwen Code."""
    script = Path(session.cwd) / "cli-entry.js"
    script.touch()
    return [str(script)]


def _database(session):
    """Return the database that Cline keeps open beside its sessions."""
    database = session.path.parents[2] / "db" / "sessions.db"
    database.parent.mkdir()
    database.touch()
    return [str(database)]


SIGNS = [
    (Qwen, "node", _entry),
    (Kimi, "kimi-code", lambda _: []),
    (Cline, "cline", _database),
    (Codex, "codex", _holds),
    (OpenCode, "opencode", _holds),
    (OpenCode2, "opencode.exe", _holds),
    (Copilot, "copilot", _inuse),
    (Pi, "pi", lambda _: []),
    (Gemini, "node", _script),
]


@linux
@pytest.mark.parametrize(("make", "name", "arguments"), SIGNS, ids=lambda one: getattr(one, "__name__", None))
def test_a_client_that_runs_is_at_work_and_one_that_was_killed_is_not(world, tmp_path, client, make, name, arguments):
    """However long the call takes. Whoever was killed is missed soon, without a doubt."""
    session = make(world, cwd=str(tmp_path))
    session.say(*SAID[: 1 if make is Gemini else 2])
    with client(tmp_path, name, *(arguments(session) or ["/dev/null"])):
        assert state_of(session, HOURS).state is State.WORKING
    assert state_of(session, SILENT_AFTER + 1).row() == {"state": "idle"}


@linux
def test_the_folder_of_a_long_session_is_in_its_first_line(world, tmp_path, client):
    """Only the end of it is read beside that."""
    session = Pi(world, cwd=str(tmp_path)).say(user("x" * 300 * 1024), *SAID)
    with client(tmp_path, "pi", "/dev/null"):
        assert state_of(session, HOURS).state is State.WORKING


@linux
def test_a_client_in_another_folder_is_no_sign(world, tmp_path, client):
    """Of Pi, it says nothing; that of OpenCode may serve this folder as well, so nothing is certain."""
    (tmp_path / "elsewhere").mkdir()
    sessions = [Pi(world, cwd=str(tmp_path)), OpenCode(world, cwd=str(tmp_path))]
    for session in sessions:
        session.say(*SAID)
    elsewhere = tmp_path / "elsewhere"
    with client(elsewhere, "opencode", str(sessions[1].path)), client(elsewhere, "pi", "/dev/null"):
        assert [state_of(one, SILENT_AFTER + 1).state for one in sessions] == [State.IDLE, State.WORKING]
        assert state_of(sessions[1], DOUBT_IN_CALL_AFTER + 1).word == "idle?"


@linux
def test_a_client_of_another_user_may_be_there(world, tmp_path, monkeypatch):
    """Only its name is known: that is a doubt."""
    session = Pi(world, cwd=str(tmp_path))
    session.say(*SAID)
    hidden = processes.Process("1", frozenset({"pi"}), "")
    monkeypatch.setattr(processes, "_processes", lambda: (hidden,))
    assert state_of(session, SILENT_AFTER + 1).state is State.WORKING


@linux
def test_nobody_is_looked_for_in_vain(world, monkeypatch):
    """Not for a session that is done, nor for one that wrote a moment ago."""
    monkeypatch.setattr(processes, "_read", lambda _: pytest.fail("looked"))
    session = Pi(world)
    session.say(*SAID)
    assert state_of(session, SILENT_AFTER - 5).state is State.WORKING


@linux
def test_a_look_is_remembered_for_a_moment(monkeypatch):
    """So that a hundred sessions cost one."""
    monkeypatch.setattr(processes, "_look", lambda: -1)
    assert processes._processes() is processes._processes()


def test_in_a_user_namespace_nothing_can_be_told(monkeypatch, tmp_path):
    """As below a service with restrictions: other programs of the user are hidden there."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self/uid_map").write_text("      1000       1000          1\n")
    monkeypatch.setattr(processes, "PROC", tmp_path)
    assert processes.runs_in("/home/me/app", frozenset({"pi"})) is None
    assert processes.has_open(str(tmp_path / "self/uid_map"), frozenset({"pi"})) is None
