"""What fails once, or is cut short by a kill, costs nothing: what was said and done stands in the outputs afterwards."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from unittest import mock

import pytest

from katod.agents import AGENTS
from katod.errors import OutputError
from katod.model import SessionKey
from katod.record import delivery
from katod.record.controller import Controller
from katod.record.naming import OutputNaming
from katod.service.control import Request
from tests.support.inprocess import InProcess
from tests.support.records import Claude, CodexLegacy, says, user

BY_HAND = "This file was changed by hand"
MISSING = "A part of the conversation is missing here"


def now():
    """Return the time as agents record it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def failing_once(real):
    """Return a method that fails as if there were too many open files, and works afterwards."""
    failures = [OSError(24, "Too many open files")]

    def act(*arguments, **named):
        if failures:
            raise failures.pop()
        return real(*arguments, **named)

    return act


def only(world):
    """Return the text of the only output."""
    (text,) = world.written().values()
    return text


def refuse(place, *_):
    """Fail as if the disk were full."""
    raise OutputError("full", path=place.path)


def killed_within(running, words):
    """End katod as if it were killed within an append, before these words."""

    def torn(place, intent):
        with place.path.open("ab") as file:
            file.write(intent[: intent.find(words)])
        raise KeyboardInterrupt

    with mock.patch.object(delivery, "append", torn), pytest.raises(KeyboardInterrupt):
        running.turn()
    running.vanish()


@pytest.mark.breaks
def test_what_is_said_after_a_pause_is_recorded_though_the_first_try_failed(world):
    """The recording goes on where the pause ended, whenever that works."""
    claude = Claude(world).say(user("::start n.md\nhello"), says("fine"))
    running = InProcess(world)
    running.turn()
    running._pause_recording(now())
    running.turn()
    with mock.patch.object(Controller, "resume", failing_once(Controller.resume)):
        running._resume_recording(now())
        for number in range(3):
            claude.say(user(f"question {number}"), says("answer"))
            running.turn(later=100)
    running.stop()
    assert [f"question {number}" in only(world) for number in range(3)] == [True] * 3


@pytest.mark.parametrize("killed", [False, True])
def test_a_command_typed_in_a_pause_does_not_act_when_its_line_ends_later(world, killed):
    """Also if katod is killed right after the pause ended."""
    claude = Claude(world).say(user("hello"), says("fine"))
    running = InProcess(world)
    running.turn()
    running._pause_recording(now())
    line = json.dumps(claude.user("::start x.md\nin the pause", timestamp=now()))
    claude.append(line[:-1])
    running.turn()
    running._resume_recording(now())
    if killed:
        running.vanish()
        running = InProcess(world)
    claude.append(f"{line[-1]}\n")
    claude.say(says("answer"))
    running.turn()
    running.stop()
    assert not world.outputs()


@pytest.mark.breaks
def test_a_command_in_a_rewritten_file_acts_though_the_first_try_failed(world):
    """It was typed after the file was last read, however often it has to be read again."""
    claude = Claude(world)
    hello = claude.user("hello there " * 20, timestamp=now())
    claude.append(hello, claude.says("fine", timestamp=now()))
    running = InProcess(world)
    running.turn()
    running._pipeline.flush()
    command = claude.user("::start kept.md\nimportant words", timestamp=now())
    compacted = claude.user("compacted " * 30, timestamp=hello["timestamp"])
    (world.home / claude.place()).write_text(f"{json.dumps(compacted)}\n{json.dumps(command)}\n")
    with mock.patch.object(OutputNaming, "make", failing_once(OutputNaming.make)):
        for _ in range(3):
            running.turn()
            claude.append(claude.says("more", timestamp=now()))
    running.turn()
    running.stop()
    assert "important words" in only(world)


def test_a_forgotten_session_does_not_come_back_with_an_output_that_waits(world, monkeypatch):
    """Not even its id, in which the person of the other one went on."""
    running, one, other = InProcess(world), Claude(world), Claude(world, "bbbbbbbb-0000-4000-8000-000000000001")
    one.append(one.user("::start n.md\nhello", timestamp=now()), one.says("fine", timestamp=now()))
    running.turn()
    other.append(other.user("new words", timestamp=now()), other.says("ok", timestamp=now()))
    running.turn()
    assert [row.successor for row in world.outputs()] == [f"claude:{other.session}"]
    monkeypatch.setattr(delivery, "append", refuse)
    monkeypatch.setattr(delivery, "complete", refuse)
    one.append(one.says("last words"))
    running.turn()
    running._carry_out_in_session(Request(SessionKey("claude", one.session), "stop", "", now()), "k1")
    running._carry_out(Request(SessionKey("claude", other.session), "forget", "", now()), "k2")
    running.turn(later=100_000)
    running.stop()
    assert [row.successor for row in world.outputs()] == [""]


@pytest.mark.breaks
def test_committed_text_is_written_though_its_session_cannot_be_loaded(world, monkeypatch):
    """An update may have broken the reader of an agent; what was translated before needs none."""
    claude = Claude(world).say(user("::start n.md\nhello"), says("fine"))
    running = InProcess(world)
    running.turn()
    claude.say(says("the second part"))
    killed_within(running, b"part")
    broken = replace(AGENTS["claude"], adapter_name="claude.nowhere.Adapter").guarded()
    monkeypatch.setitem(AGENTS, "claude", broken)
    running = InProcess(world)
    running.turn()
    running.stop()
    assert "the second part" in only(world)
    assert [row.intent for row in world.outputs()] == [None]


def test_the_mark_of_a_missing_part_outlives_a_kill(world, monkeypatch):
    """Its output catches up alone, as it could not be written when the session was rewritten."""
    codex = CodexLegacy(world).say(user("::start n.md\nhello"), says("fine"))
    running = InProcess(world)
    codex.say(says("second"))
    running.turn()
    with monkeypatch.context() as full:
        full.setattr(delivery, "append", refuse)
        codex.say(says("third"))
        running.turn()
    codex.items = codex.items[:1]
    codex.rewrite()
    codex.say(user("something else entirely " * 20), says("new world " * 20))
    running.read()
    running.vanish()
    running = InProcess(world)
    running.turn(later=1000)
    codex.say(says("fourth"))
    running.turn(later=1000)
    running.stop()
    assert only(world).count(MISSING) == 1


@pytest.mark.parametrize("rest", ["", '{"type":"user",'])
def test_text_of_the_person_is_marked_though_katod_ended_before_the_next_text(world, rest):
    """Also if only the beginning of a line was there when the edit was found."""
    claude = Claude(world).say(user("::start n.md\nhello"), says("fine"))
    running = InProcess(world)
    running.turn()
    with world.files()[0].open("a") as file:
        file.write("\nMY OWN NOTE\n")
    if rest:
        claude.append(rest)
        running.turn()
    running.stop()
    running = InProcess(world)
    if rest:
        claude.append('"x":1}\n')
    claude.say(says("third"))
    running.turn()
    running.stop()
    assert only(world).count(BY_HAND) == 1
    assert only(world).index("MY OWN NOTE") < only(world).index(BY_HAND) < only(world).index("third")


@pytest.mark.parametrize("restarted", [False, True])
def test_text_of_the_person_that_a_recovery_found_is_marked_before_the_next_text(world, restarted):
    """Also after another start, and if the step with the next text fails once."""
    claude = Claude(world).say(user("::start n.md\nhello"), says("fine"))
    running = InProcess(world)
    claude.say(says("second part of the text"), says("third part of the text"))
    killed_within(running, b"third")
    with world.files()[0].open("a") as file:
        file.write("\nMY OWN NOTE\n")
    running = InProcess(world)
    if restarted:
        running.stop()
        running = InProcess(world)
    claude.say(says("fourth"))
    running.turn()
    running.stop()
    assert only(world).count(BY_HAND) == 1
    assert only(world).index("MY OWN NOTE") < only(world).index(BY_HAND) < only(world).index("fourth")
