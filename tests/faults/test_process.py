"""Faults of the process: stop signals, changes of the clock, too few file descriptors, long runs."""

import errno
import itertools
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from katod import durable
from katod.discover.watch import Hints
from katod.log import EventLog
from katod.service import control
from katod.service.control import Request
from tests.examples import mostly
from tests.support.inprocess import InProcess
from tests.support.live import Live, permitted, until
from tests.support.world import World

DAY_NS = 86_400 * 10**9
MARK = "mark-00000001-000001."


# -- stop signals --------------------------------------------------------------------------------------


def busy(folder):
    """Return a world in which the daemon logs many kinds of events."""
    world = World(folder)
    one, two = world.session(1), world.session(2)
    one.append(one.user("one\n::start\nmark-00000001-000001."), one.says("mark-00000001-000002."))
    one.append(b'{"torn": \n', one.user("::export all.jsonl\n::start /etc/passwd"))
    two.append(two.user("::start\nmark-00000002-000001.\n::stop"), two.user("::start\nmark-00000002-000002."))
    return world


def damaged(folder):
    """Return a world whose ledger is quarantined at the start."""
    world = World(folder, seen_empty=False)
    world.state.mkdir()
    (world.state / "ledger.db").write_bytes(b"garbage" * 1000)
    session = world.session()
    session.append(session.user("::start\nhistory"))
    return world


def stopped_at(world, number, signals=1):
    """Run the daemon in a child process that is signalled at one event of its log; return its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            tell_at(number, signals, world.home / "reached")
            world.process(once=False)
            code = 0
        finally:
            os._exit(code)
    until(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT), "the process to end", poll=0.001)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tell_at(number, signals, reached):
    """Signal this process at that event, counted from 1, or when it becomes idle without reaching the event."""
    say, wait, left = EventLog._emit, Hints.wait, iter(range(1, number + 1))

    def telling(*arguments, **fields):
        say(*arguments, **fields)
        if next(left, None) == number:
            reached.touch()
            stop()

    def waiting(hints, timeout):
        if timeout > 0.5 and list(left):  # no numbers are left once the event was reached
            stop()
        wait(hints, timeout)

    def stop():
        for _ in range(signals):
            os.kill(os.getpid(), signal.SIGTERM)

    EventLog._emit, Hints.wait = telling, waiting


@pytest.mark.slow
@pytest.mark.fault("asked to stop at any moment")
@pytest.mark.parametrize("scene", mostly((busy,), (busy, damaged)))
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 3], ids=["any event", "some events"])
def test_told_to_stop_at_any_event_it_finishes_its_step(quick, scene, step):
    """It exits with 0 and leaves no pending intent; after the next run, outputs are as if it had not been stopped."""
    undisturbed = scene(quick / "undisturbed")
    undisturbed.process()
    for number in itertools.count(1, step):
        world = scene(quick / str(number))
        assert stopped_at(world, number) == 0, f"event {number}"
        assert [row.path for row in world.outputs() if row.intent is not None or row.problem] == []
        world.process()
        assert world.contents() == undisturbed.contents(), f"event {number}"
        if not (world.home / "reached").exists():
            break
    assert number > (10 if scene is busy else 2), "events were told at all"


@pytest.mark.slow
@pytest.mark.fault("asked to stop at any moment")
def test_told_twice_it_ends_at_once(quick):
    """A second signal makes it exit with 1 at once; the next run completes everything."""
    undisturbed, world = busy(quick / "undisturbed"), busy(quick / "twice")
    undisturbed.process()
    assert stopped_at(world, 6, signals=2) == 1
    world.process()
    assert world.contents() == undisturbed.contents()


# -- the clock -----------------------------------------------------------------------------------------


@pytest.fixture
def set_clock(monkeypatch):
    """Return a function that sets this process's clock off by so many nanoseconds."""
    seconds, nanoseconds = time.time, time.time_ns

    def ahead(by):
        monkeypatch.setattr(time, "time", lambda: seconds() + by / 1e9)
        monkeypatch.setattr(time, "time_ns", lambda: nanoseconds() + by)

    return ahead


def assert_recorded(world, words):
    """Assert that the only output contains these words and equals its export."""
    (row,) = world.outputs()
    assert words in row.path.read_text()
    assert row.path.read_bytes() == world.export(row)


@pytest.mark.fault("clock set, machine suspended")
@pytest.mark.parametrize("by", [-DAY_NS, DAY_NS])
def test_a_clock_that_is_set_while_katod_runs_hides_no_session(world, set_clock, by):
    """A session that begins after the clock was set back or forward is new: its commands are obeyed."""
    set_clock(-by)
    run = InProcess(world)
    set_clock(0)
    session = world.session()
    session.append(session.user(f"::start\n{MARK}"))
    run.turn()
    run.stop()
    assert_recorded(world, MARK)


@pytest.mark.fault("clock set, machine suspended")
@pytest.mark.parametrize("by", [-DAY_NS, DAY_NS])
def test_a_clock_that_is_set_while_katod_is_down_hides_no_session(world, set_clock, by):
    """Commands in a session created while katod was down are obeyed, whatever the clock said at its last run."""
    set_clock(-by)
    world.process()
    set_clock(0)
    session = world.session()
    session.append(session.user(f"::start\n{MARK}"))
    world.process()
    assert_recorded(world, MARK)


@pytest.mark.fault("clock set, machine suspended")
def test_a_restored_session_is_history_whatever_the_clock_says(world, set_clock):
    """A file whose own mtime is older than the last sweep is history, even after the clock was set back."""
    set_clock(DAY_NS)
    world.process()
    set_clock(0)
    session = world.session()
    session.append(session.user(f"::start\n{MARK}"))
    os.utime(session.path, ns=(time.time_ns() - DAY_NS,) * 2)
    world.process()
    assert world.outputs() == []


SLEEPS = "import time, signal; now = time.time; signal.signal(signal.SIGUSR1, lambda *_: setattr(time, 'time', lambda: now() + 1e6))"


@pytest.mark.slow
@pytest.mark.fault("clock set, machine suspended")
def test_after_a_sleep_everything_is_looked_at(world):
    """When the wall clock jumps, a session without any file event is found at once."""
    world.configure(use_events=False)
    with Live(world, also=SLEEPS) as live:
        session = world.session()
        session.append(session.user(f"::start\n{MARK}"))
        live.process.send_signal(signal.SIGUSR1)
        live.until_written(MARK)
    assert_recorded(world, MARK)


# -- descriptors ---------------------------------------------------------------------------------------

FEWEST = 5  # with fewer, the interpreter does not start


@pytest.mark.slow
@pytest.mark.fault("descriptors run out")
@pytest.mark.parametrize("numbers", [[9], range(FEWEST, 14)], ids=["nine", "any"])
def test_a_run_that_may_open_little_refuses_nothing(quick, numbers):
    """With any number of descriptors it exits cleanly, and the next run completes the outputs."""
    undisturbed = busy(quick / "undisturbed")
    undisturbed.process()
    prefix = permitted(("prlimit", "--nofile=20"), "no prlimit (util-linux) here")[0]
    for number in numbers:
        world = busy(quick / str(number))
        done = world.katod("run", "--once", check=False, prefix=(prefix, f"--nofile={number}"))
        assert b"Traceback" not in done.stderr
        assert done.returncode in (0, 1)
        world.process()
        assert world.contents() == undisturbed.contents(), f"{number} descriptors"


@pytest.mark.slow
@pytest.mark.fault("descriptors run out")
def test_a_daemon_that_may_open_nothing_goes_on_when_it_may(world):
    """Files that it cannot open are shown as problems and retried; no command is refused because of them."""
    session, other = world.session(1), world.session(2)
    with Live(world) as live:
        session.append(session.user("::start\none"))
        live.until_written("one")
        most = resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, (3, most[1]))
        session.append(session.says("two"))
        other.append(other.user("::start\nthree"))
        closed = {str(session.path), str(other.path)}
        until(lambda: {row["path"] for row in world.status()["problems"]} == closed, "both problems")
        resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, most)
        live.until_written("two")
        live.until_written("three")
    assert world.status()["refused"] == []


def test_an_answer_that_cannot_be_written_now_is_given_later(world, monkeypatch):
    """An answer that cannot be written is written later, unchanged: a refusal is never reported as success."""
    katod = InProcess(world)
    moment = "2026-02-10T23:00:00.000Z"
    answer = control.enqueue(world.state, Request(("claude", "unknown", ""), "start", "n", moment))
    with monkeypatch.context() as full:
        full.setattr(durable, "rename", no_space)
        katod._take_requests()
    katod._take_requests()
    katod.stop()
    assert answer.read_text().startswith("the running katod does not follow claude:unknown")


def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.slow
def test_a_log_that_cannot_be_written_costs_nothing(world):
    """A full disk for the log does not affect recording."""
    world.configure(level="debug")
    session = world.session()
    session.append(session.user(f"::start\n{MARK}"))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "katod", "run", "--once"]
        subprocess.run(command, env=world.environment, stderr=full, timeout=60, check=False)
    assert_recorded(world, MARK)


# -- a long run ----------------------------------------------------------------------------------------

MANY, TURNS, TEXT = 200, 5, "all work and no play\n" * 1000
MOST_KB = 4_000  # a fifth of the text in the messages


@pytest.mark.slow
@pytest.mark.fault("hundreds of sessions")
@pytest.mark.parametrize("many", [8, MANY])
def test_two_hundred_recordings_leak_nothing(world, many):
    """Once all sessions are recorded, further messages cost neither descriptors nor memory."""
    sessions = [world.session(number) for number in range(1, many + 1)]
    with Live(world) as live:
        say(world, sessions, lambda session: f"::start {session.session}\nbegin.")
        say(world, sessions, lambda _: f"{TEXT}turn 0.")
        descriptors, memory = live.descriptors(), live.memory()
        for turn in range(1, TURNS + 1):
            say(world, sessions, lambda _, turn=turn: f"{TEXT}turn {turn}.")
            until(lambda: live.descriptors() <= descriptors, "as few descriptors as before")
        assert live.memory() - memory < MOST_KB
    for row in world.outputs():
        assert row.path.read_bytes() == world.export(row)


def say(world, sessions, text):
    """Append a message to every session, and wait until all of them are recorded."""
    for session in sessions:
        session.append(session.user(text(session)))
    for session in sessions:
        path, words = world.out / "app" / f"{session.session}.md", text(session).rpartition("\n")[2]
        until(lambda path=path, words=words: path.exists() and words in path.read_text(), f"{words} in {path}")
