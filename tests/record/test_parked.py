"""Outputs that are parked for a while, and what happens to their sessions in the meantime."""

import errno
import json
import os
import sqlite3

import pytest

from katod.errors import LedgerError, OutputError
from katod.record import delivery, naming
from katod.record.resync import Backfill
from katod.service import control
from katod.service.control import Request
from tests.support.inprocess import InProcess
from tests.support.outputs import counts, only
from tests.support.records import SESSION, Claude, Codex, CodexLegacy, line


@pytest.fixture
def full(monkeypatch):
    """Make every write fail until the returned function is called."""
    real = delivery.append

    def refuse(place, *_):
        raise OutputError("full", path=place.path)

    monkeypatch.setattr(delivery, "append", refuse)
    return lambda: monkeypatch.setattr(delivery, "append", real)


def test_a_capture_that_waits_and_goes_on_loses_nothing(world, full):
    """A capture that ended while its file could not be written, and a later start to the same file, are complete."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.user("one"), make.says("two"), make.user("::capture n\nthree\n::stop"))
    run.turn()
    source.append(make.user("::start\nfour"))
    run.turn()
    full()
    run.turn(later=1000)
    source.append(make.says("five"))
    run.turn(later=1000)
    run.stop()
    assert counts(only(world), "one", "two", "three", "four", "five") == [1] * 5
    world.assert_live_is_batch()


def _written_again(rows):
    """Return records as a client writes them again: at once, under other ids."""
    copies = [json.loads(json.dumps(row)) for row in rows]
    for number, copy in enumerate(copies):
        copy["uuid"] = f"00000000-0001-4000-8000-{number:012d}"
        copy["timestamp"] = rows[-1]["timestamp"].replace(".000Z", f".{number:03}Z")
        copy["message"] |= {"id": f"copy_{number}"} if "id" in copy["message"] else {}
    return copies


def test_a_waiting_capture_that_goes_on_knows_what_was_said_after_its_end(world, full):
    """What is said after `::stop` is read together with it: if a client writes it again later, that is no news."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.typed("one"), make.says("two"), make.typed("::capture n\nthree\n::stop"))
    between = [make.typed("aside"), make.says("between"), make.typed("another"), make.says("as well")]
    source.append(*between)
    run.turn()
    full()
    source.append(make.typed("::start\nfour"), make.says("five"), *_written_again(between), make.typed("six"))
    run.turn(later=1000)
    run.turn(later=1000)
    run.stop()
    assert counts(only(world), "three", "between", "as well", "five", "six") == [1, 0, 0, 1, 1]
    world.assert_live_is_batch()


def test_a_waiting_capture_goes_on_after_words_that_followed_its_end(world, full):
    """`katod start` begins after the last event of the session, read together with the end of the capture."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.typed("one"), make.typed("::capture n\ntwo\n::stop"), make.says("between"))
    run.turn()
    control.enqueue(world.state, Request(("claude", SESSION, ""), "start", "", "2026-02-10T23:00:00.000Z"))
    run._take_requests()
    full()
    source.append(make.says("three"))
    run.turn(later=1000)
    run.turn(later=1000)
    run.stop()
    assert counts(only(world), "two", "between", "three") == [1, 0, 1]
    world.assert_live_is_batch()


def test_what_changes_meanwhile_does_not_reach_a_waiting_output_early(world, full):
    """A parked output follows with states of its own, so its text equals that of the export."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.user("::start n.jsonl\none"), make.calls("t1", "Bash", command="ls"))
    run.turn()
    source.append(make.says("two", gitBranch="feature"), make.result("t1", "boom", error=True))
    run.turn()
    full()
    run.turn(later=1000)
    source.append(make.says("three", gitBranch="main"))
    run.turn(later=1000)
    run.stop()
    world.assert_live_is_batch()


@pytest.mark.slow
def test_a_waiting_output_survives_a_rewrite_of_its_session(world):
    """If a session is compacted while its output is parked, what is left of it is written once."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    os.link(path, world.home / "other")
    source.append(make.says("two" + "x" * 3000))
    world.once()
    kept = line(make.says("three"))
    source.append(kept)
    world.once()
    source.path.write_bytes(kept + line(make.says("four")))
    world.once()
    (world.home / "other").unlink()
    world.once()
    source.append(make.says("five"))
    world.once()
    assert counts(path.read_text(), "one", "three", "four", "five") == [1, 1, 1, 1]


@pytest.mark.slow
def test_a_waiting_export_costs_nothing_while_it_waits(world, full, monkeypatch):
    """The session of a parked export is not translated again at each append."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(*(make.says("x" * 1000) for _ in range(300)), make.user("::export e"))
    run.turn()
    translated = []
    real = Backfill._source

    def counted(self, session, found, budget, opened):
        translated.append(found.cursor.offset - found.translated)
        return real(self, session, found, budget, opened)

    monkeypatch.setattr(Backfill, "_source", counted)
    for _ in range(5):
        source.append(make.says("more"))
        run.turn()
    run.stop()
    assert sum(translated) == 0


def test_a_capture_of_two_files_of_one_session_holds_both(world):
    """A capture reads two files of a session one after the other, even if they grew in turns."""
    make = Claude()
    first, second = world.claude(), world.claude(folder="-home-me-other")
    first.append(make.user("::start live\na1"))
    world.once()
    second.append(make.says("b1"))
    world.once()
    first.append(make.says("a2"))
    world.once()
    second.append(make.user("::capture whole"))
    world.once()
    assert counts(world.written()["whole.md"], "a1", "b1", "a2") == [1, 1, 1]


def test_words_said_again_after_a_rewrite_are_new(world):
    """Reading a session without ids again stores no text twice, so that repeated text still counts as new."""
    make, source = CodexLegacy(), world.codex()
    rows = [make.meta(), make.user("::start n\none"), make.says("ok"), make.user("::stop"), make.says("mid")]
    records = [line(row) for row in rows]
    source.append(*records)
    world.once()
    again = line(make.user("::start\ntwo"))
    source.append(again)
    world.once()
    new = [line(make.says("three")), line(make.says("ok"))]
    source.path.write_bytes(b"".join([line(make.meta(cli_version="0.170.0")), *records[1:], again, *new]))
    world.once()
    assert counts(only(world), "one", "two", "three", "ok") == [1, 1, 1, 2]


def test_a_queued_command_acts_after_a_restart(world):
    """A queued `::start` is obeyed with the next record, even if katod was restarted in between."""
    make, source = Claude(), world.claude()
    queued = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:36:00.000Z"}
    source.append(make.user("one"), queued | {"operation": "enqueue", "content": "::start notes"})
    source.append(queued | {"operation": "remove"})
    world.once()
    source.append(make.says("three"))
    world.once()
    assert counts(only(world), "one", "three") == [0, 1]


def test_a_sub_agent_that_ended_while_katod_was_down_is_recorded(world):
    """The parent is read first, whichever file is older, as its recording decides about the sub-agent."""
    world.config.write_text("[recording]\nsubagents = true\n")
    make, source, agent = Claude(), world.claude(), Claude()
    source.append(make.user("::start notes\ngo"), make.calls("t1", "Task", description="look"))
    child = world.claude("x")
    child.path = source.path.parent / SESSION / "subagents" / "agent-abc123.jsonl"
    child.append(agent.user("look", isSidechain=True, agentId="abc123"), agent.says("found it", isSidechain=True))
    os.utime(child.path, ns=(source.path.stat().st_mtime_ns - 5_000_000, source.path.stat().st_mtime_ns - 5_000_000))
    world.once()
    assert counts(world.written()["agent-abc123.md"], "found it") == [1]


@pytest.mark.breaks
def test_one_bad_session_stops_no_other(world):
    """An output that cannot be placed, invalid base64 or NUL in a path does not affect other sessions."""
    world.config.write_text('[recording]\nauto = true\n[content]\nattachments = "save"\n')
    (world.home / "katod").mkdir()
    (world.home / "katod" / "app").symlink_to(world.home)
    bad = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "abcde"}}
    make, other = Claude(), Claude(session="7a8b9c0d-1111-4222-8333-444455556666", cwd="/home/me/no\0where")
    world.claude().append(make.user([{"type": "text", "text": "look"}, bad]))
    world.claude(other.session, folder="-b").append(other.user("::start a/b"), other.user([bad]))
    third = Claude(session="8b9c0d1e-1111-4222-8333-444455556666", cwd="/home/me/fine")
    world.claude(third.session, folder="-c").append(third.user("all is well"))
    world.once()
    assert any("· all is well" in text for text in world.written().values())


def test_history_that_is_rewritten_is_not_recorded_by_rule(world):
    """An old session is not auto-recorded when its agent rewrites it."""
    make, source = Claude(), world.claude()
    source.append(make.user("old one"), make.says("old two"), make.says("old three"))
    os.utime(source.path, (1, 1))
    world.once()
    world.config.write_text("[recording]\nauto = true\n")
    world.once()
    source.path.write_bytes(source.path.read_bytes().split(b"\n")[0] + b"\n" + line(make.user("new")))
    world.once()
    assert world.written() == {}


def test_a_request_for_a_session_that_was_not_swept_begins_at_its_end(world):
    """`katod start` records what is written from then on, however new the session's file is."""
    make, source = Claude(), world.claude()
    run = InProcess(world)
    source.append(make.user("private"))
    control.enqueue(world.state, Request(("claude", SESSION, ""), "start", "notes", "2026-02-10T23:00:00.000Z"))
    run._take_requests()
    source.append(make.says("later"))
    run.turn()
    run.stop()
    assert counts(only(world), "private", "later") == [0, 1]


def test_a_request_is_carried_out_once(world):
    """A request that is found again after a crash is answered, but not carried out again."""
    make = Claude()
    world.claude().append(make.user("one"))
    world.once()
    answer = control.enqueue(world.state, Request(("claude", SESSION, ""), "capture", "n", "2026-02-10T23:00:00.000Z"))
    asked = answer.with_suffix(".request")
    saved = asked.read_bytes()
    world.once()
    asked.write_bytes(saved)
    answer.unlink()
    world.once()
    assert answer.read_text() == ""
    assert counts(only(world), "one") == [1]


def test_a_file_that_is_gone_is_no_problem(world):
    """Agents delete their files: a vanished one is not an error, whether or not it was read to its end."""
    source = world.claude().append(Claude().user("one"), b'{"partial')
    world.once()
    source.path.unlink()
    world.once()
    assert '"problems":[]' in world.cli("status", "--json")


def test_a_damaged_ledger_is_named_by_status(world):
    """`katod status` fails if the ledger cannot be read."""
    (world.state / "ledger.db").write_bytes(b"garbage" * 1000)
    world.cli("status", code=1)


def test_an_output_deleted_while_words_wait_for_it_is_begun_anew(world, monkeypatch):
    """The text that was waiting is written to a new file, after a head and a mark."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\none"))
    run = InProcess(world)
    path = world.home / "katod" / "app" / "notes.md"

    def deleted_just_now(place, *_):
        place.path.unlink()
        raise OutputError("no longer exists", path=place.path)

    with monkeypatch.context() as failing:
        failing.setattr(delivery, "append", deleted_just_now)
        source.append(make.says("two"))
        run.turn()
    assert not path.exists()
    run.turn(later=1000)  # it is still missing
    run.turn(later=2000)
    source.append(make.says("three"))
    run.turn()
    run.stop()
    text = path.read_text()
    assert text.startswith("---\ntitle:")
    assert text.count("---\ntitle:") == text.count("The earlier file is gone") == 1
    assert counts(text, "one", "two", "three") == [0, 1, 1]


def test_a_recording_that_the_settings_end_equals_its_export(world):
    """The mark of an exclusion has the same time in the recording and in its export."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    world.once()
    world.config.write_text('[recording]\nexclude = ["/home/me/app"]\n')
    world.once()
    source.append(make.says("two"))
    world.once()
    assert world.assert_live_is_batch() == 1
    assert "this project is excluded 2" in (world.home / "katod" / "app" / "n.md").read_text()


@pytest.mark.slow
def test_a_capture_of_copied_records_survives_a_restart(world, monkeypatch):
    """A record in two files of a session is captured once, even if katod is restarted in between."""
    make = Claude()
    first, second = world.claude(), world.claude(folder="-home-me-other")
    first.append(make.user("a1"), make.says("a2"))
    world.once()
    second.append(first.path.read_bytes(), make.says("b1"))
    world.once()
    second.append(make.user("::capture whole"))

    def refuse(place, *_):
        raise OutputError("full", path=place.path)

    with monkeypatch.context() as failing:
        failing.setattr(delivery, "append", refuse)
        world.once()
    world.once()
    assert counts(world.written()["whole.md"], "a1", "a2", "b1") == [1, 1, 1]


def test_recording_by_rule_outlives_a_restart_before_the_first_words(world):
    """A session that began while katod ran is auto-recorded, even if its first prompt came after a restart."""
    world.config.write_text("[recording]\nauto = true\n")
    make, source = Codex(), world.codex()
    source.append(make.meta())
    world.once()
    source.append(make.user("hello"), make.says("hi"))
    world.once()
    assert counts(only(world), "hello", "hi") == [1, 1]


def test_a_restored_file_gives_its_new_turns(world):
    """After Codex restores a backup, new turns are recorded, although a turn begins like any other."""
    make, source = CodexLegacy(), world.codex()

    def turn(number, said, answer):
        ids = {"turn_id": f"t{number}"}
        begin, end = ({"type": kind} | ids for kind in ("task_started", "task_complete"))
        return [make.record("event_msg", begin), make.user(said), make.says(answer), make.record("event_msg", end)]

    head = b"".join(line(record) for record in [make.meta(), *turn(1, "::start n\none", "a")])
    source.append(head, *(record for n in range(2, 6) for record in turn(n, f"u{n}", f"s{n}")))
    world.once()
    source.path.write_bytes(head)
    source.append(*turn(7, "new1", "new2"), *turn(8, "new3", "new4"))
    world.once()
    assert counts(only(world), "new1", "new2", "new3", "new4") == [1, 1, 1, 1]


def test_without_its_file_the_configuration_stays(world):
    """A reload without a configuration file keeps the current settings, so an exclusion still applies."""
    world.config.write_text('[recording]\nexclude = ["/home/me/app"]\n')
    run = InProcess(world)
    world.config.unlink()
    run._reload()
    world.claude().append(Claude().user("::start n\none"))
    run.turn()
    run.stop()
    assert world.written() == {}


def test_a_command_to_a_disk_that_fails_is_refused_and_its_session_goes_on(world, monkeypatch):
    """A disk error for one path refuses only that command, and the recording continues."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    world.once()
    real = naming.examine

    def fail(root, parts):
        if parts[-1] == "dead.md":
            raise OSError(errno.EIO, "Input/output error")
        return real(root, parts)

    monkeypatch.setattr(naming, "examine", fail)
    source.append(make.user("::export dead\ntwo"), make.says("three"))
    world.once()
    assert counts(world.written()["n.md"], "one", "two", "three") == [1, 1, 1]
    assert "Input/output error" in world.cli("status")


def test_a_recording_of_a_newer_katod_is_left_as_it_is(world):
    """Options of a newer katod are not damage: katod refuses to start, and quarantines nothing."""
    world.claude().append(Claude().user("::start n\none"))
    world.once()
    ledger = sqlite3.connect(world.state / "ledger.db")
    ledger.execute("UPDATE outputs SET options = json_set(options, '$.new', 1)")
    ledger.commit()
    ledger.close()
    with pytest.raises(LedgerError, match="newer version of katod"):
        world.once()
    assert not list(world.state.glob("*.damaged*"))
