"""A session is forgotten: nothing of it is left in katod's files and log, and nothing old in it acts."""

import os
import shutil
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.service import control
from katod.service.control import Request
from katod.store.ledger import Ledger
from tests.examples import mostly
from tests.support.inprocess import InProcess
from tests.support.live import Live, until
from tests.support.records import (
    MAKERS,
    OTHER,
    Claude,
    Codex,
    CodexLegacy,
    Cursor,
    Gemini,
    GeminiDocument,
    OpenCode,
    moment,
    says,
    user,
)
from tests.support.world import CUT, in_new_process

CWD = "/home/me/zanzibar"
WORDS = ("quagga", "xylophone", CWD)
OF_EACH_KIND = (Claude, CodexLegacy, GeminiDocument, OpenCode)


def talks(maker, command="::start", words="quagga crossing"):
    """Write a conversation with a command in it."""
    return maker.say(user(f"{command}\n{words}"), says("xylophone"))


def source_of(maker):
    """Return the path of a session, as the ledger has it."""
    return f"{maker.path}#{maker.id}" if isinstance(maker, OpenCode) else str(maker.path)


def number(maker):
    """Return what selects a session on the command line."""
    return str(AGENTS[maker.agent].identify(Path(source_of(maker))).key)


def found(world, *words):
    """Return which words are in which files of the state directory, their names included."""
    return sorted(
        (str(path.relative_to(world.state)), word)
        for path in world.state.rglob("*")
        for word in words
        if word in path.name or (path.is_file() and word.encode() in path.read_bytes())
    )


def run(world):
    """Run a daemon that processes everything and exits; return its log, with all events."""
    printed = world.cli("run", "--once")
    return printed + world.said


def forget(world, maker, *options):
    return world.cli("forget", number(maker), "--yes", *options)


# -- nothing is left -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", mostly(OF_EACH_KIND, MAKERS), ids=lambda make: make.__name__)
def test_nothing_of_a_recorded_session_is_left(world, make):
    """No word, title or path of it is in any file of the state directory, nor in the log; its transcript stays."""
    world.configure(level="debug")
    maker = talks(make(world, cwd=CWD))
    log = run(world)
    needles = [*WORDS, source_of(maker), *(str(row.path) for row in world.outputs())]
    assert len(world.files()) == 1
    assert found(world, *needles) != []
    forget(world, maker)
    log += run(world)
    assert found(world, *needles) == []
    assert [word for word in needles if word in log] == []
    assert len(world.files()) == 1
    assert world.status()["sources"] == 0
    assert world.cli("status", "--all")


@pytest.mark.slow
@pytest.mark.fault("session forgotten")
@pytest.mark.parametrize("make", mostly(OF_EACH_KIND, MAKERS), ids=lambda make: make.__name__)
def test_nothing_of_a_session_that_is_only_known_is_left(world, make):
    """Neither a path nor a near miss of it is left; unchanged, it is not known again by the next sweeps."""
    maker = make(world, cwd=CWD).say(user("::strat\nquagga"), says("xylophone"))
    run(world)
    assert found(world, source_of(maker)) != []
    forget(world, maker)
    run(world)
    assert found(world, *WORDS, source_of(maker)) == []
    assert world.status()["nearMisses"] == []
    maker.say(user("on"), says("and on"))
    run(world)
    assert world.files() == []


@pytest.mark.slow
def test_nothing_of_refusals_and_auto_recordings_is_left(world):
    """Nor of what was refused; the session is not auto-recorded again when it goes on."""
    world.configure(auto=True, level="debug")
    maker = talks(Claude(world, cwd=CWD), "::start zebra.txt")
    log = run(world)
    needles = [*WORDS, "zebra", source_of(maker), *(str(row.path) for row in world.outputs())]
    assert world.status()["refused"]
    forget(world, maker, "--outputs")
    log += run(world)
    assert found(world, *needles) == []
    talks(maker, "on", "and on")
    log += run(world)
    assert (world.files(), world.outputs()) == ([], [])
    assert [word for word in needles if word in log] == []


@pytest.mark.slow
def test_sub_agents_are_forgotten_with_their_session(world):
    """Their sessions, transcripts and folder go with it."""
    world.configure(subagents=True)
    maker = Claude(world, cwd=CWD)
    child = Claude(world, cwd=CWD, subagent="abc")
    talks(maker)
    run(world)
    child.say(user("look at the quagga"), says("xylophone"))
    maker.say(says("more"))
    run(world)
    paths = [str(row.path) for row in world.outputs()]
    assert len(paths) == 2
    forget(world, maker, "--outputs")
    assert world.files() == []
    assert [path.name for path in world.out.rglob("*.agents")] == []
    assert found(world, *WORDS, str(maker.path), str(child.path), *paths) == []


def test_a_quarantined_ledger_in_which_it_is_goes_too(world):
    """A ledger that was set aside is deleted if the session is in it, and stays otherwise."""
    maker = talks(Claude(world, cwd=CWD))
    run(world)
    ledger = world.state / "ledger.db"
    shutil.copy(ledger, world.state / "ledger.db.damaged-1")
    (world.state / "ledger.db.damaged-2").write_bytes(b"another one")
    assert "ledger.db.damaged-1" in forget(world, maker)
    assert [path.name for path in world.state.glob("ledger.db.*")] == ["ledger.db.damaged-2"]
    assert found(world, *WORDS, str(maker.path)) == []


def test_answers_that_nobody_waits_for_go_too(world):
    """What an earlier command was answered may name a file."""
    maker = talks(Claude(world, cwd=CWD))
    run(world)
    answer = world.state / "requests" / "old.answer"
    answer.write_text("quagga.md: the file already exists")
    os.utime(answer, (1, 1))
    forget(world, maker)
    assert found(world, *WORDS) == []


@pytest.mark.slow
def test_a_sign_of_life_goes_too(world):
    """A daemon that was killed leaves a file for status lines, which is called after the session."""
    maker = talks(Claude(world, cwd=CWD))
    with Live(world) as live:
        live.until_written("xylophone")
        until(lambda: list((world.state / "recording").glob("*")), "the sign")
        live.kill()
    forget(world, maker)
    assert list((world.state / "recording").glob("*")) == []


def test_what_could_not_be_written_is_never_written(world):
    """An output that is parked is dropped with its session, in memory, too."""
    maker = talks(Claude(world), "::start notes")
    daemon = InProcess(world)
    [path] = world.files()
    path.unlink()
    path.mkdir()
    maker.say(says("more"))
    daemon.turn()
    assert list(world.parked()) == ["notes.md"]
    control.enqueue(world.state, Request(("claude", maker.session, ""), "forget", "", moment()))
    daemon._take_requests()
    path.rmdir()
    for _ in range(3):
        daemon.turn(later=1000.0)
    daemon.stop()
    assert (world.files(), world.outputs()) == ([], [])


@pytest.mark.slow
def test_nothing_is_left_while_katod_runs(world):
    """A daemon that records the session forgets it: its files, its signs of life, its log; others go on, once."""
    world.configure(level="debug")
    maker, other = Claude(world, cwd=CWD), world.claude(OTHER)
    with Live(world) as live:
        talks(maker)
        other.say(user("::start other\none"), says("two"))
        live.until_written("xylophone")
        live.until_written("two", "other.md")
        until(lambda: len(list((world.state / "recording").glob("*"))) == 2, "the signs")
        needles = [*WORDS, str(maker.path), *(str(row.path) for row in world.outputs() if row.path.stem != "other")]
        forget(world, maker, "--outputs")
        assert found(world, *needles) == []
        other.say(says("three"))
        live.until_written("three", "other.md")
        maker.say(says("after"), user("::start again\nnew words"), says("yes"))
        live.until_written("new words", "again.md")
        assert [word for word in needles if word in live.said()] == []
    assert [row["output"] for row in world.status()["recordings"] if "again" not in row["output"]] == [
        str(path) for path in world.files() if path.stem == "other"
    ]
    assert world.assert_live_is_batch() == 2
    assert "quagga" not in world.written()["again.md"]


@pytest.mark.slow
@pytest.mark.fault("session forgotten")
def test_a_reader_of_the_ledger_delays_only_the_end(world, monkeypatch):
    """While another program reads the ledger, its log keeps what was deleted: katod says so, and tries again."""
    monkeypatch.setattr("katod.cli.record._PATIENCE", 0.3)
    monkeypatch.setattr("katod.store.integrity._PATIENCE_WITH_READERS", 0.05)
    maker = talks(Claude(world, cwd=CWD))
    run(world)
    reader = Ledger.read(world.state)
    reader.db.execute("BEGIN")
    assert reader.sessions()
    world.cli("forget", number(maker), "--yes", code=1)
    assert "another program" in world.said
    reader.close()
    run(world)
    assert found(world, *WORDS, str(maker.path), maker.session) == []


# -- nothing old acts ----------------------------------------------------------------------------------


def with_time(world, maker, *things):
    """Append what was said just now, as agents date it."""
    for said in things:
        for record in maker.records(said):
            maker.append(record | ({"timestamp": moment()} if "timestamp" in record else {}))
    return maker


def leave_unread(world, maker):
    """Record a session and end that; then a command is typed that katod has not read yet."""
    talks(maker)
    maker.say(user("::stop\nso"), says("ok"))
    run(world)
    return maker.say(user("::start unread\nwords"), says("ok"))


def restored(maker, content, mtime_ns):
    maker.path.parent.mkdir(parents=True, exist_ok=True)
    maker.path.write_bytes(content)
    os.utime(maker.path, ns=(mtime_ns, mtime_ns))


BACK = {
    "as it was": lambda lines: lines,
    "shorter": lambda lines: lines[:-1],
    "longer": lambda lines: [*lines, lines[-1]],
    "without its beginning": lambda lines: [lines[0], *lines[2:]],
}


CASES = list(product((Claude, Codex, CodexLegacy, Cursor), BACK, (0, 3600)))
SOME = (
    (Claude, "longer", 0),
    (Codex, "shorter", 3600),
    (CodexLegacy, "without its beginning", 0),
    (Cursor, "as it was", 0),
)


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly(SOME, CASES), ids=lambda case: f"{case[0].__name__} {case[1]} {case[2]}")
def test_old_commands_do_not_act_when_the_file_comes_back(world, case):
    """A file that was deleted and is restored, in any form, is history; what is typed then is obeyed."""
    make, how, later = case
    maker = make(world)
    maker.say(user("old"), says("ok"))
    leave_unread(world, maker)
    forget(world, maker, "--outputs")
    assert world.files() == []
    lines, mtime = maker.path.read_bytes().splitlines(keepends=True), maker.path.stat().st_mtime_ns
    maker.path.unlink()
    run(world)
    restored(maker, b"".join(BACK[how](lines)), mtime + later * 10**9)
    run(world)
    run(world)
    assert world.files() == []
    with_time(world, maker, user("::start new\nwords"), says("ok"))
    run(world)
    assert [path.name for path in world.files()] == ["new.md"]


@pytest.mark.fault("session forgotten")
@pytest.mark.parametrize("make", [Claude, CodexLegacy], ids=lambda make: make.__name__)
def test_old_commands_that_katod_never_saw_do_not_act(world, make):
    """What another machine had of a session, typed before it was forgotten, is history when it is synced here."""
    maker = talks(make(world))
    run(world)
    forget(world, maker, "--outputs")
    maker.say(user("::start elsewhere\nwords"), says("ok"))
    content = maker.path.read_bytes()
    maker.path.rename(world.home / "old")  # so that its inode is not given to the new file
    restored(maker, content, time.time_ns())
    run(world)
    assert world.files() == []
    ledger = Ledger.read(world.state)
    assert [session.auto for session in ledger.sessions()] == ["off"]
    ledger.close()


@pytest.mark.slow
def test_old_commands_do_not_act_in_an_archived_or_compressed_file(world):
    """A Codex thread that is archived, and then compressed, is known by its id."""
    zstandard = pytest.importorskip("zstandard")
    maker = talks(CodexLegacy(world))
    run(world)
    forget(world, maker, "--outputs")
    archive = world.home / ".codex/archived_sessions" / maker.path.name
    archive.parent.mkdir()
    maker.path.rename(archive)
    run(world)
    assert world.status()["sources"] == 0
    packed = archive.with_name(f"{archive.name}.zst")
    packed.write_bytes(zstandard.ZstdCompressor().compress(archive.read_bytes()))
    archive.unlink()
    run(world)
    assert (world.files(), world.status()["sources"]) == ([], 1)


@pytest.mark.fault("session forgotten")
@pytest.mark.parametrize("make", [GeminiDocument, OpenCode], ids=lambda make: make.__name__)
def test_old_commands_do_not_act_in_a_document_that_changes(world, make):
    """They are known by their ids; new ones act."""
    maker = leave_unread(world, make(world))
    forget(world, maker, "--outputs")
    assert world.files() == []
    maker.rewrite()
    run(world)
    assert world.files() == []
    maker.rewrite(lambda number, _: number != 1)
    run(world)
    assert world.files() == []
    maker.say(user("::start new\nwords"), says("ok"))
    run(world)
    assert [path.name for path in world.files()] == ["new.md"]


@pytest.mark.slow
@pytest.mark.parametrize("make", mostly((Claude,), OF_EACH_KIND), ids=lambda make: make.__name__)
def test_a_person_may_ask_for_it_again(world, make):
    """From the shell, a forgotten session is captured as a whole; nothing old in it acts, and it can be forgotten again."""
    maker = talks(make(world, cwd=CWD), "::start first")
    world.once()
    for _ in range(2):
        world.cli("forget", number(maker), "--yes", "--outputs")
        assert found(world, *WORDS) == []
        world.cli("capture", number(maker), "again")
        world.once()
        assert [path.name for path in world.files()] == ["again.md"]
        assert "quagga crossing" in world.written()["again.md"]
        assert world.assert_live_is_batch() == 1


@pytest.mark.slow
@pytest.mark.parametrize("make", mostly((Claude,), OF_EACH_KIND), ids=lambda make: make.__name__)
def test_a_session_that_grows_is_known_again_from_there(world, make):
    """New commands act; a session that grows without one stays unrecorded."""
    maker = leave_unread(world, make(world))
    forget(world, maker, "--outputs")
    maker.say(user("on"), says("ok"))
    run(world)
    assert world.files() == []
    maker.say(user("::start new\nwords"), says("ok"))
    run(world)
    assert [path.name for path in world.files()] == ["new.md"]
    assert world.assert_live_is_batch() == 1
    forget(world, maker, "--outputs")
    maker.say(user("on"), says("ok"))
    run(world)
    assert world.files() == []


def test_what_the_agent_deleted_can_be_forgotten(world):
    """By its id, or by the number of its recording; when the file comes back, it is history."""
    maker = talks(Claude(world, cwd=CWD))
    run(world)
    content, mtime = maker.path.read_bytes(), maker.path.stat().st_mtime_ns
    maker.path.unlink()
    run(world)
    world.cli("forget", "1", "--yes", "--outputs")
    assert found(world, *WORDS, str(maker.path)) == []
    restored(maker, content, mtime + 10**9)
    run(world)
    assert world.files() == []


def copied(maker, session=OTHER):
    """Return another session with the records of this one, as a fork has them."""
    other = type(maker)(maker.world, session)
    other.path.parent.mkdir(parents=True, exist_ok=True)
    other.path.write_bytes(maker.path.read_bytes().replace(maker.session.encode(), session.encode()))
    return other


@pytest.mark.parametrize(
    "make", mostly((Claude, CodexLegacy), [Claude, Codex, CodexLegacy, Gemini]), ids=lambda make: make.__name__
)
def test_old_commands_do_not_act_in_a_copy_of_a_forgotten_session(world, make):
    """They are known by their times and words; what is typed in the copy is obeyed."""
    maker = talks(make(world).say(user("before"), says("ok")), "::start old")
    run(world)
    forget(world, maker, "--outputs")
    other = copied(maker)
    assert found(world, *WORDS, str(maker.path)) == []
    run(world)
    assert world.files() == []
    with_time(world, other, user("::start new\nwords"), says("ok"))
    run(world)
    assert [path.name for path in world.files()] == ["new.md"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["::start", "words"])
@pytest.mark.parametrize("make", mostly((CodexLegacy,), [Claude, CodexLegacy, Codex]), ids=lambda make: make.__name__)
def test_a_copy_of_a_forgotten_session_is_not_auto_recorded(world, make, command):
    """It has what was forgotten; another session is."""
    world.configure(auto=True)
    maker = talks(make(world), command)
    run(world)
    forget(world, maker, "--outputs")
    copied(maker).say(user("new words"), says("ok"))
    run(world)
    assert world.files() == []
    talks(make(world, OTHER.replace("0", "1")), "hello", "other words")
    run(world)
    assert len(world.files()) == 1


@pytest.mark.parametrize("parent", ["parent_thread_id", "forked_from_id"])
def test_a_session_that_names_a_forgotten_one_is_not_auto_recorded(world, parent):
    """Whatever it begins with."""
    world.configure(auto=True)
    maker = talks(Codex(world), "hello")
    run(world)
    forget(world, maker, "--outputs")
    fork = Codex(world, OTHER)
    fork.append(fork.meta(**{parent: maker.session}), fork.user("what was said before, in short"), fork.says("yes"))
    run(world)
    assert world.files() == []


@pytest.mark.slow
def test_old_commands_do_not_act_while_katod_runs(world):
    """A daemon that saw the session forgotten ignores what comes back, and obeys what is typed then."""
    with Live(world) as live:
        maker = talks(Claude(world))
        live.until_written("xylophone")
        forget(world, maker, "--outputs")
        content = maker.path.read_bytes()
        maker.path.unlink()
        restored(maker, content + content, time.time_ns())
        with_time(world, maker, user("::start new\nwords"), says("ok"))
        live.until_written("words", "new.md")
    assert [path.name for path in world.files()] == ["new.md"]


# -- all or nothing ------------------------------------------------------------------------------------

STEPS = ("delete_transcripts", "make_tombstones", "ledger.forget", "ledger.erase")


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_leaves_all_or_nothing_and_the_next_start_completes_it(world, monkeypatch, step):
    """Before the transaction everything is known, after it nothing; the request is carried out by the next start."""
    maker = talks(Claude(world, cwd=CWD))
    run(world)
    needles = [*WORDS, str(maker.path), *(str(row.path) for row in world.outputs())]

    def cut():
        def end(*_, **__):
            os._exit(CUT)

        owner, name = (Ledger, step.removeprefix("ledger.")) if "." in step else ("katod.daemon", step)
        monkeypatch.setattr(owner, name, end) if owner is Ledger else monkeypatch.setattr(f"{owner}.{name}", end)

    assert ends(world, maker, cut)
    known = len(world.outputs()) + world.status()["sources"]
    assert known == (0 if step == "ledger.erase" else 2)
    run(world)
    assert world.files() == []
    assert found(world, *needles, maker.session) == []


def ends(world, maker, cut):
    """Ask to forget in a process that is killed; return whether it was."""

    def act():
        cut()
        with suppress(SystemExit):
            forget(world, maker, "--outputs")

    return in_new_process(act, ends=(0, CUT)) == CUT


def test_a_session_in_which_the_person_went_on_is_forgotten_with_its_name(world):
    """A recording that it followed does not name it any more, in the ledger or in `katod status`."""
    Claude(world).say(user("::start talk.md\nhello"), says("hi"))
    running = InProcess(world)
    later = Claude(world, "11111111-4e08-49a9-b1df-7f5d23a36a11", start=60).say(user("something else"), says("fine"))
    running.turn()
    assert "successor" in world.status()["recordings"][0]
    control.enqueue(world.state, Request(("claude", later.session, ""), "forget", "", moment()))
    running._take_requests()
    assert "successor" not in world.status()["recordings"][0]
    running.stop()
    assert [row.successor for row in world.outputs()] == [""]
