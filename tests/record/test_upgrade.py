"""An upgrade of katod during a recording: newer versions of adapters and formats."""

import os
from dataclasses import replace

import orjson
import pytest

from katod import events as ev
from katod.agents.claude.adapter import ClaudeAdapter
from katod.agents.codex.adapter import CodexAdapter
from katod.formats.transcript.markdown import Markdown
from katod.record.policy import Policy
from katod.record.stream import TALLY, SessionStream
from katod.service import control
from katod.service.control import Request
from tests.support.outputs import counts, only
from tests.support.records import SESSION, Claude, Codex, line
from tests.support.versions import set_format_version
from tests.support.world import World

options, state = Policy.options, SessionStream.state


@pytest.mark.fault("upgraded during a recording")
@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("risen", ["format", "adapters", "both"])
def test_a_recording_goes_on_after_an_upgrade(
    world: World, monkeypatch: pytest.MonkeyPatch, agent: str, risen: str
) -> None:
    """Existing text is not changed, new text follows under the same speaker, and nothing is written twice."""
    make, source = (Claude(), world.claude()) if agent == "claude" else (Codex(), world.codex())
    if isinstance(make, Codex):
        source.append(make.meta())
    source.append(make.user("::start\none"), make.says("two"))
    world.once()
    before = only(world)
    if risen != "adapters":
        set_format_version(monkeypatch, "markdown", 99)
    for adapter in (ClaudeAdapter, CodexAdapter) if risen != "format" else ():
        monkeypatch.setattr(adapter, "version", adapter.version + 1)
    source.append(make.says("three"))
    world.once()
    text = only(world)
    assert text.startswith(before)
    assert counts(text, "one", "two", "three") == [1, 1, 1]
    assert text.count("## ") == 2, "the assistant goes on speaking"
    world.assert_live_is_batch()


@pytest.mark.fault("upgraded during a recording")
def test_the_state_of_another_version_is_not_trusted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the stored state is of another version, it is rebuilt by rendering again, so no speaker is repeated."""
    make, source = Claude(), world.claude()
    with monkeypatch.context() as older:
        older.setattr(Markdown, "state", lambda _: {})
        source.append(make.user("::start\none"), make.says("two"))
        world.once()
    set_format_version(monkeypatch, "markdown", 99)
    source.append(make.says("three"))
    world.once()
    assert only(world).count("## ") == 2
    assert [row.version for row in world.outputs()] == [99]
    world.assert_live_is_batch()


@pytest.mark.fault("upgraded during a recording")
def test_an_upgrade_after_a_compaction_goes_on(world, monkeypatch):
    """A recording resumes where it was, even if the agent has dropped its beginning since."""
    make, source = Claude(), world.claude()
    records = [line(record) for record in (make.user("::start\none"), make.says("two"), make.says("three"))]
    source.append(*records)
    world.once()
    new = source.path.with_suffix(".tmp")
    new.write_bytes(records[-1] + line(make.says("four")))
    os.replace(new, source.path)
    world.once()
    set_format_version(monkeypatch, "markdown", 99)
    source.append(make.says("five"))
    world.once()
    assert counts(only(world), "one", "two", "three", "four", "five") == [1, 1, 1, 1, 1]


@pytest.mark.fault("upgraded during a recording")
def test_an_ended_recording_that_begins_again_is_of_the_present_version(world, monkeypatch):
    """The state of its format is upgraded, as if the current version had rendered all of it."""
    make, source = Claude(), world.claude()
    with monkeypatch.context() as before:
        before.setattr(Markdown, "state", lambda _: {})
        source.append(make.user("::start n\none"), make.says("two"), make.user("::stop"))
        world.once()
    set_format_version(monkeypatch, "markdown", 99)
    source.append(make.user("::start\nthree"), make.says("four"))
    world.once()
    assert [row.version for row in world.outputs()] == [99]
    world.assert_live_is_batch()


@pytest.mark.fault("upgraded during a recording")
def test_a_file_rewritten_before_an_upgrade_is_no_history(world, monkeypatch):
    """New records in a rewritten file are recorded, although the session is read from its beginning.

    The other file of the session changes first, so that its step is the one that reads all of it.
    """
    make = Claude()
    first, second = world.claude(), world.claude(folder="-home-me-other")
    first.append(make.user("::start live\na1"))
    second.append(make.says("b1"), make.says("b2"))
    world.once()
    first.append(make.says("a2"))
    second.path.write_bytes(line(make.says("c1")) + line(make.says("c2")))
    monkeypatch.setattr(ClaudeAdapter, "version", 99)
    world.once()
    assert counts(world.written()["live.md"], "a1", "b1", "a2", "c1", "c2") == [1, 1, 1, 1, 1]


def test_a_stop_from_the_shell_ends_what_can_no_longer_be_read(world, monkeypatch):
    """If the file is gone and the stored state is of another version, the recording still ends."""
    source = world.claude().append(Claude().user("::start\none"))
    world.once()
    monkeypatch.setattr(ClaudeAdapter, "version", 99)
    source.path.rename(world.home / "aside")
    control.enqueue(world.state, Request(("claude", SESSION, ""), "stop", "", "2026-02-10T23:00:00.000Z"))
    world.once()
    assert not world.outputs()[0].open


def test_a_recording_of_before_there_were_receipts_goes_on_without(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays what it was, and `katod verify` finds nothing missing; the next one has receipts, of all records."""
    make, source = Claude(), world.claude()
    with monkeypatch.context() as older:
        older.setattr(Policy, "options", lambda *args: replace(options(*args), receipts=False))
        older.setattr(SessionStream, "state", lambda stream: {k: v for k, v in state(stream).items() if k != TALLY})
        source.append(make.user("::start old.jsonl\none"), make.says("two"))
        world.once()
    source.append(make.user("three"), make.user("::capture new.jsonl"), make.says("four"), make.user("::stop"))
    world.once()
    kinds = {name: [orjson.loads(row)["kind"] for row in text.splitlines()] for name, text in world.written().items()}
    assert {name: rows.count(ev.RECEIPT) for name, rows in kinds.items()} == {"old.jsonl": 0, "new.jsonl": 1}
    assert orjson.loads(world.written()["new.jsonl"].splitlines()[-1])["payload"]["records"] == 6
    assert world.cli("verify").count("as recorded") == 2
    world.assert_live_is_batch()
