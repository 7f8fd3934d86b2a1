"""Claude Code: what it says of a running session in its small files."""

import json
import os
import time
from pathlib import Path

import pytest

from katod.agents.claude import running
from katod.agents.claude.running import reported
from katod.metadata import SessionStart
from katod.states import Report, State

SESSION = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
START = SessionStart(cwd="/home/me/app", version="2.1.330", origin="cli")
NEEDS = {"permission prompt": "permission", "input needed": "question"}
GONE = Report(State.IDLE, is_gone=True)
NAME = "(a) b"  # a name of a process that its own line has to be told from


class Machine:
    """The client's folder, and the processes of the machine."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.proc = folder / "config", folder / "proc"
        self.path = self.folder / "projects" / "-home-me-app" / f"{SESSION}.jsonl"
        (self.folder / "sessions").mkdir(parents=True)
        (self.proc / "self" / "ns").mkdir(parents=True)
        (self.proc / "self" / "ns" / "pid").symlink_to("pid:[4026532249]")

    def runs(self, pid: int, began: str) -> None:
        """Have a process that began then."""
        (self.proc / str(pid)).mkdir(parents=True)
        fields = ["S", *(str(n) for n in range(4, 22)), began, *(str(n) for n in range(23, 53))]
        (self.proc / str(pid) / "stat").write_text(f"{pid} ({NAME}) {' '.join(fields)}\n")

    def writes(self, pid: int, text: str | None = None, **fields: object) -> None:
        """Write the file of a process."""
        row = {"pid": pid, "sessionId": SESSION, "procStart": "372431", "statusUpdatedAt": 1_795_306_172_420}
        row |= {"cwd": "/home/me/app", "pidDomain": "linux:3d12:pid:[4026532249]"} | fields
        (self.folder / "sessions" / f"{pid}.json").write_text(json.dumps(row) if text is None else text)

    def says(self, start: SessionStart = START) -> Report | None:
        """Return what the client says of the session."""
        return reported(self.path, SESSION, start)

    def rests(self, seconds: float = 61.0) -> None:
        """Have the session's file, to which nothing was written for so long."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        os.utime(self.path, (time.time() - seconds,) * 2)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a machine on which process 28 began at 372431."""
    made = Machine(tmp_path)
    monkeypatch.setattr(running, "PROC", made.proc)
    made.runs(28, "372431")
    return made


@pytest.mark.whole
@pytest.mark.parametrize(
    ("status", "waits", "state"),
    [
        ("idle", None, State.IDLE),
        ("shell", None, State.IDLE),
        ("busy", None, State.WORKING),
        ("waiting", "permission prompt", State.BLOCKED),
        ("waiting", "input needed", State.BLOCKED),
    ],
)
def test_its_words_are_states(machine, status, waits, state):
    """With the time of the last change."""
    machine.writes(28, status=status, **({"waitingFor": waits} if waits else {}))
    assert machine.says() == Report(state, 1_795_306_172.42, NEEDS.get(waits, ""))


def test_a_file_without_a_time_has_its_own(machine):
    """The time at which it was written."""
    machine.writes(28, status="waiting", waitingFor="permission prompt", statusUpdatedAt=None)
    os.utime(machine.folder / "sessions" / "28.json", (1000.0, 1000.0))
    assert machine.says() == Report(State.BLOCKED, 1000.0, "permission")


@pytest.mark.slow
def test_files_that_were_left_behind_hide_none(machine):
    """However many, and whatever their numbers are."""
    for pid in range(1000, 1300):
        machine.writes(pid, status="busy", sessionId="x")
    machine.runs(9, "400000")
    machine.writes(9, status="busy", procStart="400000")
    assert machine.says() == Report(State.WORKING, 1_795_306_172.42)


def test_a_client_that_was_killed_does_not_work(machine):
    """Once nothing was written for a minute; but another that runs the same session does."""
    machine.writes(29, status="busy")
    machine.rests(0)
    assert machine.says() is None
    machine.rests()
    assert machine.says() == GONE
    machine.writes(28, status="busy")
    assert machine.says() == Report(State.WORKING, 1_795_306_172.42)


def test_a_client_in_a_container_may_run(machine):
    """Its number says nothing here, nor does one without the place where it counts."""
    machine.rests()
    for domain in ("linux:3d12:pid:[4026532777]", None):
        machine.writes(29, status="busy", pidDomain=domain)
        assert machine.says() is None


def test_a_session_without_a_client_is_over(machine):
    """If its version always has a file; unless one runs at the same place, which may have gone on with it."""
    machine.rests()
    assert machine.says() == GONE
    for other in ({"version": "2.1.101"}, {"version": ""}, {"origin": "sdk-cli"}):
        assert machine.says(START._replace(**other)) is None
    machine.writes(28, status="idle", sessionId="x")
    assert machine.says() is None
    machine.writes(28, status="idle", sessionId="x", cwd="/home/me/other")
    assert machine.says() == GONE
    machine.writes(28, "")
    assert machine.says() is None


def test_what_says_nothing_of_the_session_does_not_count(machine):
    """A dialog of the client itself, an unknown word, another session, a file without a state."""
    for fields in (
        {"status": "waiting", "waitingFor": "dialog open"}, {"status": "dreaming"}, {"status": "busy", "sessionId": "x"},
        {}, {"status": ["busy"]}, {"status": "busy", "procStart": 372431},
    ):  # fmt: skip
        machine.writes(28, **fields)
        assert machine.says() is None


def test_a_file_of_another_process_does_not_count(machine):
    """Its process has ended, or its number belongs to one that began at another time."""
    machine.writes(28, status="busy", procStart="372432")
    machine.writes(29, status="busy")
    assert machine.says() is None


def test_without_a_list_of_processes_none_counts(machine, monkeypatch):
    """As on macOS, where a file that was left behind cannot be told from one that is in use."""
    machine.writes(28, status="busy")
    monkeypatch.setattr(running, "PROC", machine.folder / "nowhere")
    assert machine.says() is None


@pytest.mark.whole
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"busy"'])
def test_a_file_that_is_being_written_is_passed_over(machine, text):
    """Empty for a moment when it is made; others count."""
    machine.writes(30, text)
    assert machine.says() is None
    machine.writes(28, status="busy")
    assert machine.says() == Report(State.WORKING, 1_795_306_172.42)


def test_half_a_character_in_a_file_hides_nothing(machine):
    """A name that was cut has one."""
    machine.writes(28, status="busy", name="cut \ud83d")
    assert machine.says() == Report(State.WORKING, 1_795_306_172.42)


def test_what_changed_last_counts(machine):
    """Of two windows on one session."""
    machine.runs(31, "400000")
    machine.writes(28, status="waiting", waitingFor="input needed")
    machine.writes(31, status="busy", procStart="400000", statusUpdatedAt=1_795_306_999_000)
    assert machine.says() == Report(State.WORKING, 1_795_306_999.0)


def test_a_folder_that_is_not_there_says_nothing(machine):
    """Nor does a session that is elsewhere, or something that is no file."""
    os.mkfifo(machine.folder / "sessions" / "28.json")
    assert machine.says() is None
    (machine.folder / "sessions" / "28.json").unlink()
    (machine.folder / "sessions").rmdir()
    assert machine.says() is None
    assert reported(Path("/elsewhere/s.jsonl"), SESSION, START) is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_a_real_process_is_recognised(machine, monkeypatch):
    """By the 22nd field of its own line."""
    monkeypatch.undo()
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    machine.writes(os.getpid(), status="busy", procStart=fields[19])
    assert machine.says() is not None
    machine.writes(os.getpid(), status="busy", procStart=fields[20])
    assert machine.says() is None


@pytest.mark.whole
@pytest.mark.parametrize("wrong", [('"pid": 28', '"pid": "28"'), ('"372431"', '""'), ('"372431"', "372431")])
def test_a_file_that_does_not_say_which_process_it_is_of_says_nothing(machine: Machine, wrong: tuple[str, str]) -> None:
    """Whether that runs is not known."""
    machine.writes(28, status="busy")
    file = machine.folder / "sessions" / "28.json"
    assert machine.says() is not None
    file.write_text(file.read_text().replace(*wrong))
    assert machine.says() is None
