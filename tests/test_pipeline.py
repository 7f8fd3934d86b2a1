"""What one step does, seen from outside: sessions that grow, change, move and fork, and their outputs."""

import base64
import json
import os
import time
from typing import Any

import pytest

from katod.model import Command
from katod.record.catchup import CatchUp
from tests.support.inprocess import InProcess
from tests.support.outputs import counts, only
from tests.support.records import (
    OTHER,
    SESSION,
    THREAD,
    Claude,
    Codex,
    CodexLegacy,
    GeminiDocument,
    OpenCode,
    line,
    says,
    user,
)
from tests.support.records.base import calls, result
from tests.support.world import World

PIXEL = base64.b64encode(b"\x89PNG not really").decode()


# -- sources that are not append-only logs ------------------------------------------------------------


@pytest.mark.slow
def test_a_line_that_the_agent_replaces_in_place_doubles_nothing(world: World) -> None:
    """If the end of a file is truncated and rewritten, only new records are written to the output."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\none"), make.says("two"), make.says("withdrawn"))
    world.once()
    data = source.path.read_bytes().splitlines(keepends=True)
    source.path.write_bytes(b"".join(data[:-1]) + line(make.says("instead")))
    world.once()
    source.append(make.says("after"))
    world.once()
    assert counts(only(world), "one", "two", "withdrawn", "instead", "after") == [1, 1, 1, 1, 1]


def test_a_compacted_file_with_a_new_inode_goes_on(world: World) -> None:
    """If a file is replaced by one without its beginning, only new records are written to the output."""
    make, source = Claude(), world.claude()
    records = [line(r) for r in (make.user("::start\none"), make.says("two"), make.says("three"))]
    source.append(*records)
    world.once()
    new = source.path.with_suffix(".tmp")
    new.write_bytes(records[-1] + line(make.says("four")))
    os.replace(new, source.path)
    world.once()
    assert counts(only(world), "one", "two", "three", "four") == [1, 1, 1, 1]


def test_records_that_are_written_again_are_printed_once(world: World) -> None:
    """Records that an agent appends again with their old ids are written once, and the export agrees."""
    make, source = Claude(), world.claude()
    source.append(make.user("before"), make.user("::start\none"), make.says("two"))
    world.once()
    source.append(source.path.read_bytes(), make.says("three"))
    world.once()
    assert counts(only(world), "before", "one", "two", "three") == [0, 1, 1, 1]
    world.assert_live_is_batch()


def test_a_rewritten_session_without_ids_is_aligned_by_its_words(world: World) -> None:
    """Codex's legacy format has no ids: known content in its original order shows where new content begins."""
    make, source = CodexLegacy(), world.codex()
    records = [
        line(r) for r in (make.meta(), make.user("::start\none"), make.says("ok"), make.user("two"), make.says("ok"))
    ]
    source.append(*records)
    world.once()
    shorter = line(make.meta(cli_version="0.170.0"))
    source.path.write_bytes(shorter + b"".join(records[1:]) + line(make.says("three")))
    world.once()
    assert counts(only(world), "one", "two", "ok", "three") == [1, 1, 2, 1]


def test_a_known_command_with_new_words_is_new(world: World) -> None:
    """A record is known only if all of its text is: new text below a known command is written."""
    make, source = CodexLegacy(), world.codex()
    records = [line(r) for r in (make.meta(), make.user("::start\none"), make.says("two"), make.user("::start\nthree"))]
    source.append(*records)
    world.once()
    again = line(make.user("::start\nfour"))
    source.path.write_bytes(b"".join(records[:3]) + again + line(make.says("five")))
    world.once()
    assert counts(only(world), "one", "two", "three", "four", "five") == [1, 1, 1, 1, 1]


def test_a_session_that_is_migrated_to_another_form_is_aligned(world: World) -> None:
    """A rollout rewritten from the legacy to the paginated format resumes after the last known content."""
    old, source = CodexLegacy(), world.codex()
    source.append(old.meta(), old.user("::start\none"), old.says("two"))
    world.once()
    new = Codex()
    source.path.write_bytes(
        b"".join(line(r) for r in (new.meta(), new.user("::start\none"), new.says("two"), new.says("three")))
    )
    world.once()
    assert counts(only(world), "one", "two", "three") == [1, 1, 1]


def test_a_session_in_which_nothing_is_known_any_more_gets_a_mark(world: World) -> None:
    """If no record is recognised, one mark notes the gap, and reading resumes at the end."""
    make, source = CodexLegacy(), world.codex()
    source.append(make.meta(), make.user("::start\none"), make.says("two"))
    world.once()
    source.path.write_bytes(line(make.meta(id="x", cwd="/else")) + line(make.says("unknown")))
    world.once()
    source.append(make.says("after"))
    world.once()
    text = only(world)
    assert counts(text, "one", "two", "unknown", "after") == [1, 1, 0, 1]
    assert text.count("A part of the conversation is missing here") == 1


def test_a_vanished_and_restored_file_ends_nothing(world: World) -> None:
    """A session file that disappears for a while is read from its cursor when it is back."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\none"))
    world.once()
    data = source.path.read_bytes()
    source.path.unlink()
    world.once()
    source.path.write_bytes(data + line(make.says("two")))
    world.once()
    assert counts(only(world), "one", "two") == [1, 1]
    world.assert_live_is_batch()


def test_an_archived_rollout_is_the_same_session(world: World) -> None:
    """A rollout that is moved to the archive continues in the same output."""
    make, source = Codex(), world.codex()
    source.append(make.meta(), make.user("::start\none"))
    world.once()
    archive = world.home / ".codex" / "archived_sessions"
    archive.mkdir()
    source.path = source.path.rename(archive / source.path.name)
    world.once()
    source.append(make.says("two"))
    world.once()
    assert counts(only(world), "one", "two") == [1, 1]


def test_a_reverted_thread_goes_on_in_its_new_file(world: World) -> None:
    """A revert creates a second file of the same thread: its turns follow in the same output, and none twice."""
    make, source = Codex(), world.codex()
    source.append(make.meta(), make.user("::start\none"), make.says("two"))
    world.once()
    again = Codex(start=2)
    rollout = "01a1f89e-eea5-7302-86e3-f8e0f7059999"
    world.codex(rollout=rollout).append(again.meta(history_base={"end_ordinal_exclusive": 2}), again.user("three"))
    world.once()
    assert counts(only(world), "one", "two", "three") == [1, 1, 1]
    world.assert_live_is_batch()


# -- whose commands --------------------------------------------------------------------------------


def test_copied_history_commands_nothing_in_a_fork(world: World) -> None:
    """Commands that a fork copied with their ids are ignored."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes.md\none"), make.says("two"))
    world.once()
    copied = (
        source.path.read_bytes()
        .replace(SESSION.encode(), OTHER.encode())
        .replace(f'"uuid":"{OTHER[:8]}'.encode(), f'"uuid":"{SESSION[:8]}'.encode())
    )
    world.claude(OTHER).append(copied, Claude(session=OTHER, start=50).says("of the fork"))
    world.once()
    assert "of the fork" not in only(world)


def test_a_copied_turn_commands_nothing_in_an_older_fork(world: World) -> None:
    """A legacy fork copies its parent's turns; their ids are older than the thread, so they are history."""
    thread = "01a1f8a0-0000-7000-8000-000000000001"
    make = CodexLegacy(session=thread)
    records = [
        make.meta(forked_from_id=THREAD),
        make.meta(id=THREAD),
        make.record("event_msg", {"type": "task_started", "turn_id": "01a1f89f-0000-7000-8000-000000000001"}),
        make.user("::start old.md\ncopied"),
        make.record("event_msg", {"type": "task_started", "turn_id": "01a1f8a1-0000-7000-8000-000000000001"}),
        make.user("::start new.md\ntyped"),
    ]
    world.codex(thread).append(*records)
    world.once()
    assert list(world.written()) == ["new.md"]


@pytest.mark.parametrize("meta", [{"thread_source": "subagent"}, {"source": {"subagent": "review"}}])
def test_a_sub_agent_thread_never_commands(world: World, meta: dict[str, object]) -> None:
    """Codex's internal threads quote text typed elsewhere, so commands in them are ignored."""
    make = Codex()
    world.codex().append(make.meta(**meta), make.user("::start\nquoted"))
    world.once()
    assert world.written() == {}


def test_text_taken_from_the_queue_commands_where_it_stands_nowhere_else(world: World) -> None:
    """A `::stop` typed while Claude works, which gets no record of its own, is obeyed once."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\none"), make.says("two"))
    queued = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:36:00.000Z"}
    source.append(queued | {"operation": "enqueue", "content": "::stop"}, queued | {"operation": "remove"})
    world.once()
    source.append(make.says("three"))
    world.once()
    text = only(world)
    assert counts(text, "two", "three") == [1, 0]
    assert text.count("Recording stopped") == 1


# -- ranges and outputs ----------------------------------------------------------------------------


def test_an_ended_recording_can_be_derived_while_words_wait_in_the_queue(world: World) -> None:
    """Queued text in a session that is no longer recorded does not affect the export of its recording."""
    make, source = Claude(), world.claude()
    queued = {"type": "queue-operation", "operation": "enqueue", "content": "later", "sessionId": SESSION}
    source.append(queued | {"timestamp": "2026-02-10T22:36:00.000Z"}, make.user("::start\none"), make.user("::stop"))
    world.once()
    assert world.assert_live_is_batch() == 1
    assert "as recorded" in world.cli("verify")


def test_starting_to_another_output_ends_the_first(world: World) -> None:
    """`::start other` ends the recording and starts one there; a bare `::start` continues in the current output."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start a\none"), make.user("::start b\ntwo"), make.user("::start\nthree"))
    source.append(make.user("::stop"), make.user("::start\nfour"), make.user("::start a\nfive"))
    world.once()
    files = world.written()
    assert counts(files["a.md"], "one", "two", "three", "four", "five") == [1, 0, 0, 0, 1]
    assert counts(files["b.md"], "one", "two", "three", "four", "five") == [0, 1, 1, 1, 0]
    assert world.assert_live_is_batch() == 2


def test_a_capture_goes_on_live_and_a_stop_meets_it(world: World) -> None:
    """A capture writes everything before it and continues live; a stop in the middle of a message ends it there."""
    make, source = Claude(), world.claude()
    source.append(make.user("one"), make.says("two"), make.user("::capture\nthree"), make.says("four"))
    source.append(make.user("five\n::stop\nsix"))
    world.once()
    assert counts(only(world), "one", "two", "three", "four", "five", "six") == [1, 1, 1, 1, 1, 0]
    world.assert_live_is_batch()


def test_the_shell_does_what_the_chat_does(world: World) -> None:
    """`katod start` starts after the last event, `stop` stops, `capture` has everything; each prints the path."""
    make, source = Claude(), world.claude()
    source.append(make.user("one"), make.says("two"))
    world.once()
    assert "recording to" in world.cli("start", SESSION[:8], "shell")
    source.append(make.says("three"))
    world.once()
    assert "stopped" in world.cli("stop", SESSION)
    source.append(make.says("four"))
    world.once()
    assert counts(world.written()["shell.md"], "one", "two", "three", "four") == [0, 0, 1, 0]
    assert "recording to" in world.cli("capture", SESSION, "whole.md")
    assert counts(world.written()["whole.md"], "one", "two", "three", "four") == [1, 1, 1, 1]
    assert world.assert_live_is_batch() == 2
    world.cli("start", SESSION, "../x", code=1)


def test_history_can_be_captured_from_the_shell(world: World) -> None:
    """Commands that predate katod's first run are ignored, but the user can capture the session."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\nold words"))
    os.utime(source.path, (1, 1))
    world.once()
    assert world.written() == {}
    world.cli("capture", SESSION)
    assert counts(only(world), "old words") == [1]


def test_new_sessions_are_recorded_by_rule_until_a_stop(world: World) -> None:
    """With `recording.auto`, a session is recorded from its beginning; `::stop` overrides it until a `::start`."""
    world.config.write_text('[recording]\nauto = ["/home/me/*"]\n')
    make, source = Claude(), world.claude()
    source.append(make.user("one"), make.says("two"))
    world.once()
    source.append(make.user("::stop"), make.says("three"))
    world.once()
    source.append(make.says("four"), make.user("::start\nfive"))
    world.once()
    world.claude(OTHER, folder="-else").append(Claude(session=OTHER, cwd="/else").user("not here"))
    world.once()
    assert counts(only(world), "one", "two", "three", "four", "five") == [1, 1, 0, 0, 1]
    world.assert_live_is_batch()


def test_a_start_before_the_first_words_is_the_only_recording(world: World) -> None:
    """With `recording.auto`, a session that a command already records is not auto-recorded as well."""
    world.config.write_text("[recording]\nauto = true\n")
    make, source = Claude(), world.claude()
    source.append(make.user("::start"), make.user("one"), make.user("::start"), make.user("::stop"), make.says("two"))
    world.once()
    assert counts(only(world), "one", "two") == [1, 0]
    world.assert_live_is_batch()


def test_an_excluded_project_is_never_recorded(world: World) -> None:
    """A command in an excluded project is refused; excluding it later ends the recording with a mark."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\none"))
    world.once()
    world.config.write_text('[recording]\nexclude = ["/home/me/app"]\n')
    source.append(make.says("two"), make.user("::start more\nthree"))
    world.once()
    text = only(world)
    assert counts(text, "one", "two") == [1, 0]
    assert "this project is excluded" in text
    assert "excluded" in json.loads(world.cli("status", "--json"))["refused"][0]["reason"]


def test_a_sub_agent_is_recorded_beside_its_parent(world: World) -> None:
    """With `recording.subagents`, a sub-agent's conversation has its own file, linked from its parent's."""
    world.config.write_text("[recording]\nsubagents = true\n")
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\ngo"), make.calls("t1", "Task", description="look around"))
    world.once()
    agent = Claude()
    child = world.claude("x")
    child.path = source.path.parent / SESSION / "subagents" / "agent-abc123.jsonl"
    child.append(
        agent.user("look around", isSidechain=True, agentId="abc123"), agent.says("found it", isSidechain=True)
    )
    world.once()
    extra = {"agentId": "abc123", "status": "completed"}
    source.append(make.result("t1", "found it", toolUseResult=extra), make.says("thanks"))
    world.once()
    files = world.written()
    assert "found it" in files["agent-abc123.md"]
    assert "[transcript](<notes.agents/agent-abc123.md>)" in files["notes.md"]
    assert (world.home / "katod" / "app" / "notes.agents" / "agent-abc123.md").exists()
    assert world.assert_live_is_batch() == 2


def test_images_are_saved_beside_the_transcript(world: World) -> None:
    """With `attachments = "save"`, an image is saved in the assets folder under its hash, and linked."""
    world.config.write_text('[content]\nattachments = "save"\n')
    make = Claude()
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    world.claude().append(make.user("::start pics"), make.user([{"type": "text", "text": "look"}, block]))
    world.once()
    text = only(world)
    (saved,) = (world.home / "katod" / "app" / "pics.assets").iterdir()
    assert saved.read_bytes() == base64.b64decode(PIXEL)
    assert f"(<pics.assets/{saved.name}>)" in text


def test_nothing_that_was_said_is_in_the_ledger_of_an_unrecorded_session(world: World) -> None:
    """The state directory has no content of a session that is not recorded, with or without commands."""
    make, source = Claude(), world.claude()
    source.append(make.user("SECRETWORD one"), make.says("SECRETWORD two"), make.user("::stop\nSECRETWORD three"))
    world.once()
    world.configure(exclude=[make.cwd])
    source.append(make.user("::start ../../SECRETWORD"), make.says("SECRETWORD four"))
    world.once()
    for path in world.state.rglob("*"):
        assert not path.is_file() or b"SECRETWORD" not in path.read_bytes(), path


def test_what_a_person_writes_into_a_transcript_stays(world: World) -> None:
    """A note at the end is kept; one mark follows, then a new heading, and every event is written once."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\none"), make.says("two"))
    world.once()
    path = world.home / "katod" / "app" / "notes.md"
    with path.open("a") as file:
        file.write("my own note, without a newline")
    source.append(make.says("three"))
    world.once()
    source.append(make.says("four"))
    world.once()
    text = path.read_text()
    assert counts(text, "two", "my own note, without a newline", "three", "four") == [1, 1, 1, 1]
    assert text.count("changed by hand") == 1
    assert text.count("## Claude") == 2
    assert "in a file that was edited" in world.cli("verify")


def test_a_transcript_that_was_deleted_is_begun_anew(world: World) -> None:
    """If the file is gone, a new one says that it continues, with its own head."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\none"))
    world.once()
    path = world.home / "katod" / "app" / "notes.md"
    path.unlink()
    source.append(make.says("two"))
    world.once()
    text = path.read_text()
    assert text.startswith("---\ntitle:")
    assert counts(text, "one", "two") == [0, 1]
    assert text.count("The earlier file is gone") == 1


def test_a_capture_waits_for_a_document_that_is_being_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-written document is not read as one without content: the output is parked until it is complete."""
    maker = GeminiDocument(world)
    run = InProcess(world)
    maker.say(user("word 0"), says("word 1"))
    run.turn()
    real, torn = CatchUp._read, list[int]()

    def tear_once(*arguments: Any) -> None:
        data = maker.path.read_bytes()
        if not torn:
            torn.append(maker.path.write_bytes(data[: len(data) // 2]))
        real(*arguments)
        maker.path.write_bytes(data)

    monkeypatch.setattr(CatchUp, "_read", tear_once)
    maker.say(user("::capture n\nword 2"), says("word 3"))
    run.turn()
    assert torn
    run.turn(later=1000)
    run.stop()
    [text] = world.written().values()
    assert [text.count(f"word {n}") for n in range(1, 4)] == [1, 1, 1]
    assert "missing" not in text


def test_an_export_survives_a_rewrite_between_two_of_its_steps(world: World) -> None:
    """If the file is rewritten while an export reads it, the session resyncs first, and nothing is left out unsaid."""
    make, source = CodexLegacy(), world.codex()
    run = InProcess(world)
    words = [make.says(f"word {n}") for n in range(12)]
    rows = [make.meta(), *words, make.user("::export n\nhello"), make.says("the end")]
    source.append(*rows)
    run.read()
    run._pipeline.follow(time.monotonic(), 1200)
    source.path.write_bytes(line(rows[0]) + b"".join(line(row) for row in rows[3:]))
    while run._pipeline.follow(time.monotonic(), 1200):
        pass
    run.turn()
    run.turn(later=1000)
    run.stop()
    [text] = world.written().values()
    written = [number for number in range(12) if f"word {number}\n" in text]
    assert written == list(range(12)) or "missing" in text


def test_a_refusal_is_answered_after_a_restart_too(world: World) -> None:
    """If katod ended before it could write the answer, the same request is answered as it was then."""
    make, source = Claude(), world.claude()
    source.append(make.user("hello"))
    run = InProcess(world)
    [session] = run._ledger.sessions()
    refusal = run._requests.command(session.id, Command("start", "../x"), "2026-02-10T22:36:00Z", "a request")
    assert "component" in refusal
    run.vanish()
    run = InProcess(world)
    assert run._requests.command(session.id, Command("start", "../x"), "2026-02-10T22:36:00Z", "a request") == refusal
    run.stop()


def test_a_capture_of_a_document_is_written_while_the_agent_works(world: World) -> None:
    """A document that is newer than what the session last read is read all the same: its new events wait for their turn."""
    maker = GeminiDocument(world)
    run = InProcess(world)
    maker.say(user("word 0"), says("word 1"), user("::capture n\nword 2"))
    run.read()
    maker.say(says("word 3"))
    while run._pipeline.follow(time.monotonic()):
        pass
    assert "word 2" in only(world)
    run.turn()
    run.stop()
    assert counts(only(world), *(f"word {n}" for n in range(1, 4))) == [1, 1, 1]


def test_a_capture_ends_although_the_last_row_of_its_session_was_deleted(world: World) -> None:
    """The position of a database session is a time, which its remaining rows may never reach."""
    maker = OpenCode(world)
    run = InProcess(world)
    maker.say(user("word 0"), says("word 1"), user("::capture n\nword 2"), says("word 3"))
    run.read()
    maker.run("DELETE FROM part WHERE rowid = (SELECT max(rowid) FROM part)")
    maker.run("DELETE FROM message WHERE rowid = (SELECT max(rowid) FROM message)")
    for _ in range(100):
        if not run._pipeline.follow(time.monotonic()):
            break
    else:
        pytest.fail("it never ends")
    run.stop()
    assert "word 2" in only(world)


@pytest.mark.slow
def test_an_export_of_a_file_that_is_truncated_for_a_while_is_whole_or_says_so(world: World) -> None:
    """An export never ends early without a mark: it waits until the session has read the rewritten file."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(*(make.says(f"word {n} {'x' * 200}") for n in range(400)), make.user("::export n\nend"))
    run.read()
    run._pipeline.follow(time.monotonic(), 10_000)
    whole = source.path.read_bytes()
    source.path.write_bytes(whole[:40_000])
    run.turn()
    source.path.write_bytes(whole)
    run.turn()
    run.turn(later=1000)
    run.stop()
    text = only(world)
    assert sum(f"word {n} x" in text for n in range(400)) == 400 or "missing" in text


def test_an_exported_page_has_results(world: World) -> None:
    """They are collapsed and without secrets, live as from the shell; the options of a command decide, as in Markdown."""
    source = world.session(1)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    source.say(user("hello"), calls("1", "ls"), result("1", f"found.txt {secret[:40]}"), user("::export talk.html"))
    source.say(user("::export less.html -tools"), user("::export more.md +tools"))
    world.once()
    assert world.assert_live_is_batch() == 3
    assert "found.txt [REDACTED" in world.written()["talk.html"]
    assert "found.txt" not in world.written()["less.html"]
    assert "found.txt" in world.written()["more.md"]
    assert "found.txt [REDACTED" in world.cli("export", source.session, "-f", "html")
    assert "found.txt" not in world.cli("export", source.session, "-f", "html", "--tools", "summary")


def test_an_export_may_be_a_page(world: World) -> None:
    """`::export` with `.html` writes a whole page, equal to the export from the shell; `::start` refuses the suffix."""
    make, source = Claude(), world.claude()
    source.append(make.user("hello"), make.says("hi"), make.user("::export talk.html"), make.says("done"))
    world.once()
    text = world.written()["talk.html"]
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</main>\n</body>\n</html>\n")
    assert "done" not in text
    source.append(make.user("::start more.html\nwords"))
    world.once()
    assert "nothing can be appended to a `.html` file" in world.status()["refused"][0]["reason"]
    assert [name for name in world.written() if name.endswith(".html")] == ["talk.html"]
