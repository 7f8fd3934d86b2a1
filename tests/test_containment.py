"""One bad session does not stop any other, and its content is recorded once katod can read it."""

import errno
import os

import orjson
import pytest

from katod.agents.claude import tools
from katod.agents.claude.adapter import ClaudeAdapter
from katod.discover.source import Source
from katod.errors import OutputError
from katod.model import Command
from katod.pipeline import NOW
from katod.record import delivery
from katod.record.output import Output
from katod.record.session import ActiveSession
from katod.service import control
from katod.service.control import Request
from katod.tail.reader import SourceFile
from tests.support.inprocess import InProcess
from tests.support.outputs import counts, only
from tests.support.records import SESSION, Claude, Codex

pytestmark = pytest.mark.breaks
OTHER_ROLLOUT = "02a1f89e-eea5-7302-86e3-f8e0f705330b"
DEEP = b"[" * 995 + b"]" * 995


@pytest.fixture
def failing_once(monkeypatch):
    """Return a function that makes the adapter run out of memory once, at the next message of the assistant."""
    real, failures = ClaudeAdapter.handlers["assistant"], [MemoryError]

    def fail(self, record):
        if failures:
            raise failures.pop()
        return real(self, record)

    return lambda: monkeypatch.setitem(ClaudeAdapter.handlers, "assistant", fail)


@pytest.fixture
def print_fails_once(monkeypatch):
    """Return a function that makes the next event that is printed to an output run out of memory."""
    real, failures = Output.take, [MemoryError]

    def fail(self, event, metadata):
        if failures:
            raise failures.pop()
        return real(self, event, metadata)

    return lambda: monkeypatch.setattr(Output, "take", fail)


@pytest.mark.fault("one record breaks katod")
def test_a_failed_step_is_taken_up_again(world, failing_once):
    """A record that katod failed to read is in the output after the next step, and so is everything after it."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    run = InProcess(world)
    failing_once()
    source.append(make.says("two"))
    run.turn()
    run.turn(later=1000)
    source.append(make.says("three"))
    run.turn()
    run.stop()
    assert counts(only(world), "one", "two", "three") == [1, 1, 1]
    world.assert_live_is_batch()


@pytest.mark.fault("one record breaks katod")
def test_a_session_that_keeps_failing_stays_visible(world, monkeypatch):
    """The session is a problem in `katod status`, and its cursor does not move."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    world.once()

    def fail(*_):
        raise MemoryError

    monkeypatch.setitem(ClaudeAdapter.handlers, "assistant", fail)
    source.append(make.says("two"))
    world.once()
    assert [row["problem"] for row in orjson.loads(world.cli("status", "--json"))["problems"]] == [
        "internal error: MemoryError"
    ]
    monkeypatch.undo()
    assert counts(only(world), "one", "two") == [1, 0]


@pytest.mark.fault("one record breaks katod")
def test_a_file_found_after_a_failure_is_recorded(world, print_fails_once):
    """A second file of the session that appears before the retry is new: all of it is recorded."""
    make, first = Codex(), world.codex()
    run = InProcess(world)
    first.append(make.meta(), make.user("::start n\none"))
    run.turn()
    print_fails_once()
    first.append(make.says("two"))
    run.step()
    second = world.codex(rollout=OTHER_ROLLOUT).append(make.meta(), make.user("three"), make.says("four"))
    run.step()
    run.turn()
    second.append(make.says("five"))
    run.turn()
    run.stop()
    assert counts(only(world), "one", "two", "three", "four", "five") == [1] * 5
    world.assert_live_is_batch()


@pytest.mark.fault("one record breaks katod")
def test_a_stop_holds_for_an_output_whose_catch_up_failed(world, print_fails_once):
    """A `::stop` that is typed while the output waits for its retry ends the recording, in the ledger too."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.user("before"))
    run.turn()
    print_fails_once()
    source.append(make.user("::capture n\none"), make.says("two"))
    run.turn()
    assert run._pipeline.delivery.next_retry() is not None
    source.append(make.user("::stop"), make.says("unheard"))
    run.turn()
    run.turn(later=1000)
    source.append(make.says("unheard"))
    run.turn()
    run.stop()
    assert counts(only(world), "one", "two", "unheard") == [1, 1, 0]
    assert not world.status()["recordings"]


@pytest.mark.fault("one record breaks katod")
def test_a_failing_older_file_makes_the_newer_one_wait(world, monkeypatch):
    """The newer file of a session is not stepped again and again, and a request is answered."""
    make, older = Codex(), world.codex()
    run = InProcess(world)
    older.append(make.meta(), make.user("::start n\none"))
    run.turn()
    real = Source.next_batch

    def fail(self, *rest):
        if self.path == str(older.path):
            raise MemoryError
        return real(self, *rest)

    monkeypatch.setattr(Source, "next_batch", fail)
    older.append(make.says("two"))
    newer = world.codex(rollout=OTHER_ROLLOUT).append(make.meta(), make.says("three"))
    assert not run.step()
    assert all(known.problem for known in run._discovery.catalog.sources.values())
    [session] = run._ledger.sessions()
    assert "could not read" in run._requests.command(session.id, Command("stop"), "", "a request")
    monkeypatch.undo()
    run.turn()
    newer.append(make.says("four"))
    run.turn()
    run.stop()
    assert counts(only(world), "one", "two", "three") == [1, 1, 1]


def test_a_newer_file_does_not_have_the_older_ones_read_again(world, monkeypatch):
    """An older file of the session is opened only if it has changed since it was read."""
    make, older = Codex(), world.codex()
    run = InProcess(world)
    older.append(make.meta(), make.user("::start n\none"))
    newer = world.codex(rollout=OTHER_ROLLOUT).append(make.meta())
    run.turn()
    opened, real = [], SourceFile.__init__
    monkeypatch.setattr(SourceFile, "__init__", lambda self, fd, path: (opened.append(path), real(self, fd, path))[1])
    newer.append(make.says("two"))
    run.turn()
    assert set(opened) == {str(newer.path)}
    run.stop()


@pytest.mark.fault("one record breaks katod")
def test_a_project_that_is_excluded_after_a_failure_is_recorded_no_more(world, print_fails_once):
    """A session that failed is not in memory when the settings change; its recording ends at the retry."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.user("::start n\none"))
    run.turn()
    print_fails_once()
    source.append(make.says("two"))
    run.step()
    world.configure(exclude=[make.cwd])
    run._reload()
    source.append(make.says("private"))
    run.turn()
    run.turn(later=1000)
    run.stop()
    assert counts(only(world), "one", "private") == [1, 0]
    assert not world.status()["recordings"]


@pytest.mark.fault("one record breaks katod")
def test_a_session_that_fails_between_two_steps_is_stepped_again(world, print_fails_once, monkeypatch):
    """After a request that failed, the session's files are stepped, although none of them changed."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.user("::start n\none"))
    run.turn()
    [session] = run._ledger.sessions()
    monkeypatch.setattr(ActiveSession, "save", raising)
    assert "could not read" in run._requests.command(session.id, Command("stop"), "", "a request")
    monkeypatch.undo()
    assert [known.path for known in run._pipeline.take_failed()] == [str(source.path)]
    assert run._pipeline.take_failed() == []
    run.stop()


@pytest.mark.fault("one record breaks katod")
def test_a_session_that_a_request_loads_after_a_failure_goes_on(world, print_fails_once):
    """Whatever loads a session that failed ends its failure: later records are read, also beside a file that is gone."""
    make, older = Codex(), world.codex()
    run = InProcess(world)
    older.append(make.meta(), make.user("::start n\none"))
    newer = world.codex(rollout=OTHER_ROLLOUT).append(make.meta(), make.says("two"))
    run.turn()
    print_fails_once()
    newer.append(make.says("three"))
    run.step()
    older.path.unlink()
    [session] = run._ledger.sessions()
    assert run._requests.command(session.id, Command("start"), "", "a request") == ""
    newer.append(make.says("four"))
    run.turn()
    run.turn(later=1000)
    assert not run._pipeline._sessions.failed
    run.stop()
    assert counts(only(world), "one", "two", "three", "four") == [1] * 4
    assert world.status()["problems"] == []


def test_what_an_older_file_held_before_the_start_stays_unrecorded_after_a_failure(world, print_fails_once):
    """The older file is read again to where it was read, although it has not changed since."""
    make, older = Codex(), world.codex()
    run = InProcess(world)
    older.append(make.meta(), make.user("private"), make.says("private"))
    run.step()
    print_fails_once()
    newer = world.codex(rollout=OTHER_ROLLOUT).append(make.meta(), make.user("::start n\none"))
    run.step()
    run.turn()
    older.append(make.says("two"))
    newer.append(make.says("three"))
    run.turn()
    run.stop()
    assert counts(only(world), "private", "one", "two", "three") == [0, 1, 1, 1]


def test_a_failure_of_one_output_that_joins_leaves_the_others(world, monkeypatch):
    """Outputs that catch up are followed again from the ledger after a failed step of their session."""
    make, source = Claude(), world.claude()
    run, real = InProcess(world), delivery.append
    monkeypatch.setattr(delivery, "append", refusing)
    source.append(make.user("::start n\none"), make.user("::export e"), make.says("two"))
    run.turn()
    monkeypatch.setattr(delivery, "append", real)
    with monkeypatch.context() as failing:
        failing.setattr(ActiveSession, "save", raising)
        source.append(make.says("three"))
        run.step()
        run._pipeline.follow(NOW)
    run.turn(later=100_000)
    run.turn(later=100_000)
    run.stop()
    assert counts(world.written()["n.md"], "one", "two", "three") == [1, 1, 1]
    assert counts(world.written()["e.md"], "one") == [1]


def refusing(place, *_):
    """Refuse every append."""
    raise OutputError("full", path=place.path)


def raising(*_):
    """Fail as katod itself may."""
    raise MemoryError


def test_a_parked_export_is_tried_again_after_a_failed_step(world, monkeypatch, failing_once):
    """An output that catches up on its own keeps the time of its next retry."""
    make, source = Claude(), world.claude()
    run, real = InProcess(world), delivery.append

    def refuse(place, *rest):
        if place.parts[-1] == "e.md":
            raise OutputError("full", path=place.path)
        return real(place, *rest)

    monkeypatch.setattr(delivery, "append", refuse)
    source.append(make.user("::start n\none"), make.user("::export e"))
    run.turn()
    failing_once()
    source.append(make.says("two"))
    run.turn()
    monkeypatch.setattr(delivery, "append", real)
    run.turn(later=100_000)
    run.stop()
    assert counts(world.written()["e.md"], "one") == [1]


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_record_nested_too_deep_costs_only_itself(world, agent):
    """The records before and after it are recorded."""
    if agent == "claude":
        make, source = Claude(), world.claude()
        deep = b'{"type":"new-kind","x":' + DEEP + b"}\n"
    else:
        make, source = Codex(), world.codex()
        source.append(make.meta())
        deep = b'{"type":"event_msg","ordinal":7,"payload":{"type":"new","x":' + DEEP[10:-10] + b"}}\n"
    source.append(make.user("::start n\none"))
    world.once()
    source.append(make.says("two"), deep, make.says("three"))
    world.once()
    assert counts(only(world), "one", "two", "three") == [1, 1, 1]


def test_a_request_for_a_session_with_a_bad_record_is_answered(world):
    """The request is answered, and the recording and the daemon continue."""
    make, source = Claude(), world.claude()
    source.append(make.user("one"), b'{"type":"new-kind","x":' + DEEP + b"}\n", make.user("two"))
    world.once()
    control.enqueue(world.state, Request(("claude", SESSION, ""), "start", "n", "2026-02-10T23:00:00.000Z"))
    world.once()
    source.append(make.says("three"))
    world.once()
    assert counts(only(world), "three") == [1]


def test_a_request_that_fails_is_answered_and_gone(world, monkeypatch):
    """The request is answered with the problem and removed, so that it does not fail at every start."""
    source = world.claude().append(Claude().says("one"))
    world.once()

    def fail(*_):
        raise MemoryError

    monkeypatch.setitem(ClaudeAdapter.handlers, "assistant", fail)
    answer = control.enqueue(world.state, Request(("claude", SESSION, ""), "start", "n", "2026-02-10T23:00:00.000Z"))
    world.once()
    assert "could not read" in answer.read_text()
    assert source.path.exists()


def test_a_spilled_result_that_cannot_be_read_costs_only_itself(world, monkeypatch):
    """The short form in the record itself is shown instead."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n +tools\none"), make.calls("t1", "Bash", command="x"))
    folder = source.path.parent / SESSION / "tool-results"
    folder.mkdir(parents=True)
    (folder / "abc.txt").write_text("spilled")

    class Broken:
        """The `os` module, with a disk that fails."""

        def __getattr__(self, name):
            return getattr(os, name)

        def pread(self, *_):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(tools, "os", Broken())
    source.append(make.result("t1", "<persisted-output>\nFull output saved to: /x/abc.txt\n"), make.says("two"))
    world.once()
    text = only(world)
    assert counts(text, "one", "two") == [1, 1]
    assert "saved to: /x/abc.txt" in text


def test_sub_agents_of_like_names_get_files_of_their_own(world):
    """Sub-agents whose ids give the same file name are numbered."""
    world.config.write_text("[recording]\nsubagents = true\n")
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\ngo"), make.calls("t1", "Task", description="look"))
    world.once()
    for name in ("a_b-X", "a_b-x"):
        agent, child = Claude(), world.claude("x")
        child.path = source.path.parent / SESSION / "subagents" / f"agent-{name}.jsonl"
        child.append(agent.user("look", isSidechain=True, agentId=name), agent.says("found it", isSidechain=True))
    world.once()
    assert sorted(world.written()) == ["agent-a_b-x-2.md", "agent-a_b-x.md", "notes.md"]


def test_nothing_is_written_into_the_state_of_katod(world):
    """The state directory is refused even if the configuration allows the folder above it."""
    world.config.write_text(f'[output]\nallowed_roots = ["{world.home}"]\n')
    source = world.claude().append(Claude().user(f"::start {world.state}/mine.md\none"))
    world.once()
    assert "katod's state directory" in world.cli("status")
    assert not (world.state / "mine.md").exists()
    assert source.path.exists()
