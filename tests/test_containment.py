"""One bad session does not stop any other, and its content is recorded once katod can read it."""

import errno
import os

import orjson
import pytest

from katod.agents.claude import tools
from katod.agents.claude.adapter import ClaudeAdapter
from katod.errors import OutputError
from katod.record import delivery
from katod.service import control
from katod.service.control import Request
from tests.support.inprocess import InProcess
from tests.support.outputs import counts, only
from tests.support.records import SESSION, Claude, Codex

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
        "katod failed: MemoryError"
    ]
    monkeypatch.undo()
    assert counts(only(world), "one", "two") == [1, 0]


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
