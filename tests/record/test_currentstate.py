"""What a session is doing, found out on demand."""

import os
import time

import pytest

from katod.agents import AGENTS
from katod.agents import reports as agents
from katod.discover.roots import stat_source
from katod.lifecycle import Lifecycle
from katod.model import Stat
from katod.record import currentstate as module
from katod.record.currentstate import current_state
from katod.states import RUNS, Activity, Need, Report, State
from tests.serve.serving import asks
from tests.support.records import MAKERS, Claude, calls, says, user

LARGE = 300 * 1024


def now_of(session):
    """Return what a session is doing, given its maker."""
    identity = AGENTS[session.agent].identify(session.path)
    return current_state(
        [(str(session.path), identity, stat_source(AGENTS[session.agent], str(session.path))[1])], time.time()
    )


def test_the_end_of_a_file_says_what_is_done(world):
    """As it grows; nothing is read that did not change."""
    claude = world.claude()
    claude.append(Claude().user("Look."), Claude().calls("t1", "Bash", command="ls"))
    assert now_of(claude) == Activity(State.WORKING)
    claude.append(Claude().result("t1", "a.py"), Claude().says("There is one file."))
    assert now_of(claude) == Activity(State.DONE)


def test_a_result_written_before_its_call_ends_it(world):
    """A session of Claude Code 2.1.98 to 2.1.177 is done, though the result of its call comes first."""
    claude = world.claude()
    claude.append(Claude().user("Look."), Claude().result("t1", "a.py"), Claude().calls("t1", "Bash", command="ls"))
    claude.append(Claude().says("There is one file."))
    assert now_of(claude) == Activity(State.DONE)


@pytest.mark.whole
@pytest.mark.parametrize(
    "filler", [[LARGE], [1000] * 300, [2_000_000]], ids=["one long line", "many lines", "a very long line"]
)
def test_only_the_end_of_a_long_file_is_read(world, filler):
    """However long its lines are."""
    claude = world.claude()
    for size in filler:
        claude.append(Claude().user("x" * size))
    claude.append(Claude().calls("t1", "AskUserQuestion", questions=[{"question": "Which?", "options": []}]))
    assert now_of(claude) == Activity(State.BLOCKED, Need("question", "AskUserQuestion"))


def test_an_end_that_says_nothing_leaves_it_open(world):
    """A result of a call that is not in it, for example."""
    claude = world.claude()
    claude.append(Claude().user("Look."), Claude().calls("t1", "Bash", command="ls"))
    claude.append(Claude().result("t1", "x" * LARGE))
    assert now_of(claude) is None


def test_a_session_that_did_not_change_for_a_day_is_over(world, monkeypatch):
    """And one that works, but has said nothing for hours, is stalled, if its client is there."""
    monkeypatch.setattr(module, "heard", lambda *_: RUNS)
    claude = world.claude().append(Claude().user("Look."))
    for hours, state in ((3, Activity(State.WORKING)), (5, Activity(State.WORKING, stalled=True)), (25, None)):
        moment = time.time() - hours * 3600
        os.utime(claude.path, (moment, moment))
        assert now_of(claude) == state


def test_what_waits_since_yesterday_waits_still(world, monkeypatch):
    """As long as its agent says so; an agent that is idle then says nothing."""
    claude = world.claude().append(Claude().user("Look."), Claude().calls("t1", "Bash", command="ls"))
    os.utime(claude.path, (time.time() - 30 * 3600,) * 2)
    said = Report(State.BLOCKED, waits_for="permission")
    monkeypatch.setattr(agents, "reported", lambda *_: said)
    assert now_of(claude) == Activity(State.BLOCKED, Need("permission", "Bash"))
    said = Report(State.IDLE)
    assert now_of(claude) is None


def test_an_answer_that_may_go_on_is_done_after_a_while(world):
    """Gemini writes the calls of an answer only when they have ended, and Claude Code's older versions no ends."""
    make = Claude()
    claude = world.claude().append(make.user("Look."), make.says("I look.", message={"stop_reason": None}))
    assert now_of(claude) == Activity(State.WORKING)
    os.utime(claude.path, (time.time() - 61,) * 2)
    assert now_of(claude) == Activity(State.DONE, is_quiet=True)


def test_what_the_agent_says_itself_counts(world, monkeypatch):
    """A request for permission, which is in no record."""
    monkeypatch.setattr(agents, "reported", lambda *_: Report(State.BLOCKED))
    claude = world.claude().append(Claude().user("Look."))
    assert now_of(claude) == Activity(State.BLOCKED)


def test_what_is_written_within_one_tick_of_the_clock_counts(world):
    """Two writes may have the same time; what was read between them is not all."""
    claude = world.claude().append(Claude().user("Look."))
    before = claude.path.stat().st_mtime_ns
    assert now_of(claude) == Activity(State.WORKING)
    asks(claude, "q1")
    os.utime(claude.path, ns=(before, before))
    assert now_of(claude).state is State.BLOCKED


FILES = [make for make in MAKERS if not make.__name__.startswith("OpenCode")]  # it ends its calls when it starts


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_call_of_a_client_that_was_killed_is_over_with_the_next_answer(world, make):
    """Its result will never be recorded: the session is as if there had been no call."""
    killed, usual = make(world), make(world, session="6f1c2c1e-0000-4c3e-9b5e-0a1d5f8f2c11")
    killed.say(user("one"), calls("c", "ls"), user("two"), says("done"))
    usual.say(user("one"), says("said"), user("two"), says("done"))
    assert now_of(killed) == now_of(usual)


def test_a_file_that_cannot_be_read_says_nothing(world):
    """Nor one that is gone."""
    claude = world.claude().append(Claude().user("Look."))
    identity = AGENTS["claude"].identify(claude.path)
    claude.path.unlink()
    assert current_state([(str(claude.path), identity, Stat(1, time.time_ns(), 1, 1))], time.time()) is None


@pytest.mark.breaks
def test_a_record_that_breaks_katod_breaks_no_list(world, monkeypatch):
    """The state is not known then; the session is a problem elsewhere."""
    claude = world.claude().append(Claude().user("Look."))
    monkeypatch.setattr(Lifecycle, "take", lambda *_: 1 / 0)
    assert now_of(claude) is None
