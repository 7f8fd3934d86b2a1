"""Editors and people: files replaced during an append, renamed, moved, or overwritten with an older copy."""

import os
import shutil

import pytest

from katod import durable
from katod.record import delivery
from tests.examples import mostly
from tests.support.inprocess import InProcess
from tests.support.live import Live
from tests.support.world import CUT

from .checks import marks_of
from .power import Cut, Disk

NOTE = "a note of mine"
KILLS = {"inside": Cut(1, "inside", 0.6), "before": Cut(1, "before", 0), "behind": Cut(1, "behind", 0)}
kills = pytest.mark.parametrize("kill", mostly(("inside", "behind"), KILLS))


class Talk:
    """One recorded session with a mark in each message."""

    def __init__(self, world, monkeypatch, name=""):
        monkeypatch.setattr(delivery, "_FIRST_RETRY", 0.01)  # what the tests wait for
        self.world, self.session, self.marks = world, world.session(), []
        self.session.append(self.session.user(f"::start{name}\none"))
        self.go_on()

    def speak(self, count=2):
        for _ in range(count):
            self.marks.append(f"mark-00000001-{len(self.marks):06d}.")
            self.session.append(self.session.says(f"some words\n{self.marks[-1]}"))

    def go_on(self, count=2):
        """Speak, and let katod write it."""
        self.speak(count)
        self.world.process()

    @property
    def row(self):
        return self.world.outputs()[0]

    @property
    def path(self):
        return self.row.path

    def move(self, path):
        """Rename the output."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return self.path.rename(path)

    def assert_whole(self, path=None, notes=0):
        """Assert that the only output has every mark once and in order; at this path, if one is given."""
        assert self.world.parked() == {}
        if path is not None:
            assert self.path == path
            assert self.world.status()["recordings"][0]["output"] == str(path)
        found = [path for folder in ("katod", "notes") for path in (self.world.home / folder).rglob("*.md")]
        assert found == [self.path]
        assert marks_of(self.path, edited=True)[0] == self.marks, self.path.read_text()
        assert self.path.read_text().count(NOTE) == notes


@pytest.fixture
def talk(world, monkeypatch):
    return Talk(world, monkeypatch)


def save(path, content):
    """Save as most editors do: write a new file and rename it."""
    fresh = path.with_name("fresh")
    fresh.write_text(content)
    fresh.replace(path)


# -- replaced during an append ------------------------------------------------------------------------


def at_the_next_sync(monkeypatch, act):
    """Do something once, after katod wrote to an output and before it returns from the sync."""
    sync, left = durable.sync, [act]

    def late(fd):
        sync(fd)
        if left:
            left.pop()()

    monkeypatch.setattr(durable, "sync", late)


@pytest.mark.fault("output replaced during an append")
def test_what_went_to_a_replaced_file_is_written_to_the_new_one(talk, monkeypatch):
    """An editor that saves while katod has the file open keeps its note, and the append is in the new file, once."""
    before = talk.path.read_text()
    at_the_next_sync(monkeypatch, lambda: save(talk.path, f"{before}\n{NOTE}\n"))
    talk.go_on()
    talk.assert_whole(notes=1)
    talk.go_on()
    talk.assert_whole(notes=1)


@pytest.mark.fault("output replaced during an append")
@pytest.mark.parametrize("part", [0.0, 0.2])
def test_first_lines_that_were_cut_short_and_saved_as_a_new_file_are_left_alone(world, monkeypatch, part):
    """Nothing in such a file names its session: the output waits until it is moved, and is then written whole."""
    monkeypatch.setattr(world, "process", lambda: None)
    talk = Talk(world, monkeypatch)
    monkeypatch.undo()
    monkeypatch.setattr(delivery, "_FIRST_RETRY", 0.01)
    assert world.once_until(Cut(1, "inside", part).on(Disk(world.out)))
    path = talk.path
    save(path, content := f"{path.read_text()}{NOTE}\n")
    world.once()
    assert world.parked() == {path.name: "a different file already exists here (move or rename it)"}
    assert path.read_text() == content
    path.rename(path.with_suffix(".txt"))
    talk.go_on()
    talk.assert_whole(path)


@pytest.mark.fault("output replaced during an append")
@pytest.mark.parametrize("name", ["", " log.jsonl"], ids=["markdown", "jsonl"])
def test_a_recording_goes_on_below_a_title_of_yours_whatever_else_you_change(world, monkeypatch, name):
    """An editor that saves a new file may change its first lines, and later its last ones."""
    talk = Talk(world, monkeypatch, name)
    [path] = world.files()
    save(path, f"My title\n\n{path.read_text()}")
    talk.go_on()
    save(path, path.read_text().replace("some words", "many words"))
    talk.go_on()
    assert world.parked() == {}
    assert world.files() == [path]
    assert marks_of(path, edited=True)[0] == talk.marks


@pytest.mark.slow
@pytest.mark.fault("output replaced during an append")
@pytest.mark.parametrize("killed", [False, True], ids=["alive", "killed"])
def test_a_file_that_was_removed_during_an_append_and_saved_after_it_is_completed(talk, monkeypatch, killed):
    """An editor that moves the old file away before it saves, and a kill in between, lose and double nothing."""
    monkeypatch.setattr(delivery, "_FIRST_RETRY", 100)
    path, before = talk.path, talk.path.read_text()
    aside, run = path.with_name(f"{path.name}~"), None

    def removed():
        path.rename(aside)
        if killed:
            os._exit(CUT)

    talk.speak()
    if killed:
        assert talk.world.once_until(lambda: at_the_next_sync(monkeypatch, removed))
        run = InProcess(talk.world)
    else:
        at_the_next_sync(monkeypatch, removed)
        run = InProcess(talk.world)
        run.turn()
    assert "is missing" in talk.world.parked()[path.name]
    save(path, f"{before}\n{NOTE}\n")
    aside.unlink()
    run.turn(later=1000)
    run.stop()
    talk.assert_whole(path, notes=1)


@pytest.mark.fault("output replaced during an append")
def test_a_file_that_is_missing_while_an_editor_saves_it_is_waited_for(talk, monkeypatch):
    """A name that is missing for a moment is neither taken by a new file nor given up."""
    monkeypatch.setattr(delivery, "_FIRST_RETRY", 100)
    run, path, content = InProcess(talk.world), talk.path, talk.path.read_text()
    path.unlink()
    talk.speak()
    run.turn()
    assert not path.exists()
    assert "is missing" in talk.world.parked()[path.name]
    save(path, f"{NOTE}\n{content}")
    run.turn(later=1000)
    run.stop()
    talk.assert_whole(path, notes=1)


# -- renamed and moved --------------------------------------------------------------------------------


MOVES = {
    "renamed": lambda talk: talk.path.with_name("my talk.md"),
    "moved to another folder": lambda talk: talk.world.out / "archive" / "2026" / talk.path.name,
    "moved and renamed": lambda talk: talk.world.out / "my talk.md",
}


@pytest.mark.fault("output renamed or moved")
@pytest.mark.parametrize("where", MOVES)
@pytest.mark.parametrize("how", mostly(("renamed",), ("renamed", "copied")))
def test_a_renamed_output_is_followed(talk, where, how):
    """The recording goes on in the file at its new path, which the ledger and `status` know, copied or renamed."""
    old, path = talk.path, MOVES[where](talk)
    if how == "renamed":
        talk.move(path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(old, path)
        old.unlink()
    talk.go_on()
    talk.assert_whole(path)
    talk.go_on()
    talk.assert_whole(path)


@pytest.mark.slow
@pytest.mark.fault("output renamed or moved")
def test_all_renamed_outputs_are_followed_at_once_after_many_crashes(world, monkeypatch):
    """`run --once` looks for each of many, and does not wait longer for one that earlier runs were killed looking for."""
    monkeypatch.setattr(delivery, "_FIRST_RETRY", 0.05)
    sessions = [world.session(number) for number in range(6)]
    for number, session in enumerate(sessions):
        session.append(session.user(f"::start talk-{number}\none"))
    world.process()
    for session, row in zip(sessions, world.outputs(), strict=True):
        row.path.rename(row.path.with_name(f"mine {row.path.name}"))
        session.append(session.says("two"))
        InProcess(world).vanish()
    world.process()
    assert world.parked() == {}
    assert [row.path.read_text().count("two") for row in world.outputs()] == [1] * 6


@pytest.mark.slow
@pytest.mark.fault("output renamed or moved")
def test_a_running_daemon_follows_a_renamed_output(talk):
    """Without a restart, the recording goes on in the renamed file, after a pause of about a second."""
    with Live(talk.world) as live:
        for name in ("one.md", "two.md"):
            path = talk.move(talk.path.with_name(name))
            talk.speak()
            live.until_written(talk.marks[-1], name)
    talk.assert_whole(path)


@pytest.mark.fault("output renamed or moved")
@pytest.mark.parametrize("edit", ["a note at the end", "a note at the beginning"])
def test_an_output_that_was_renamed_and_edited_is_followed(talk, edit):
    """A note in the renamed file stays, and a mark shows where katod continues."""
    path = talk.move(talk.path.with_name("mine.md"))
    content = path.read_text()
    path.write_text(f"{content}{NOTE}\n" if edit == "a note at the end" else f"{NOTE}\n{content}")
    talk.go_on()
    talk.assert_whole(path, notes=1)
    assert "changed by hand" in path.read_text()


@pytest.mark.slow
@pytest.mark.fault("output renamed or moved")
@pytest.mark.parametrize("first", [False, True], ids=["a later append", "the first append"])
@kills
def test_a_batch_is_not_in_two_files_after_a_kill_and_a_rename(world, monkeypatch, kill, first):
    """What a kill left half-written, or written and not yet noted, is completed in the renamed file."""
    if first:
        monkeypatch.setattr(world, "process", lambda: None)
    talk = Talk(world, monkeypatch)
    monkeypatch.undo()
    monkeypatch.setattr(delivery, "_FIRST_RETRY", 0.01)
    talk.speak()
    assert world.once_until(KILLS[kill].on(Disk(world.out)))
    path = talk.move(talk.path.with_name("mine.md"))
    talk.go_on()
    talk.assert_whole(path)


ELSEWHERE = {
    "a copy of an editor": lambda path: path.with_name(f"{path.name}~"),
    "a backup": lambda path: path.with_name(f"{path.stem}.bak.md"),
    "hidden": lambda path: path.with_name(f".{path.name}"),
    "in a hidden folder": lambda path: path.parent / ".trash" / path.name,
    "with another suffix": lambda path: path.with_suffix(".txt"),
    "outside": lambda path: path.parents[2] / "Desktop" / path.name,
}


@pytest.mark.fault("output renamed or moved")
@pytest.mark.parametrize("where", ELSEWHERE)
def test_what_is_no_renamed_output_is_not_written_to(talk, where):
    """Katod does not follow into copies, hidden places or other directories: a new file says that it continues."""
    path = talk.path
    gone = talk.move(ELSEWHERE[where](path))
    content = gone.read_bytes()
    talk.go_on()
    assert gone.read_bytes() == content
    assert talk.path == path
    assert marks_of(path)[0] == talk.marks[2:]
    assert "continues here" in path.read_text()


@pytest.mark.slow
@pytest.mark.fault("output renamed or moved")
def test_a_renamed_output_of_an_ended_recording_is_followed(talk):
    """A `::start` that goes on in the session's transcript finds it under its new name."""
    talk.session.append(talk.session.user("::stop"))
    talk.world.process()
    path = talk.move(talk.path.with_name("mine.md"))
    talk.session.append(talk.session.user("::start"))
    talk.go_on()
    talk.assert_whole(path)


# -- the output directory moved in the settings --------------------------------------------------------


@pytest.mark.fault("output directory changed in the settings")
def test_an_output_directory_that_was_moved_is_followed(talk):
    """If the person moves the directory and names its new place in the settings, a running recording goes on there."""
    new = talk.world.home / "notes"
    path = new / talk.path.relative_to(talk.world.out)
    talk.world.out.rename(new)
    talk.world.configure(directory=new)
    talk.go_on()
    talk.assert_whole(path)
    assert not talk.world.out.exists()


@pytest.mark.slow
@pytest.mark.fault("output directory changed in the settings")
def test_a_directory_that_was_given_up_is_left_at_the_next_start(talk):
    """A `::start` after the old directory was removed records to the new one; what was recorded before stays gone."""
    talk.session.append(talk.session.user("::stop"))
    talk.world.process()
    shutil.rmtree(talk.world.out)
    new = talk.world.home / "notes"
    talk.world.configure(directory=new)
    talk.session.append(talk.session.user("::start\nanew"))
    talk.go_on()
    assert not talk.world.out.exists()
    assert talk.world.parked() == {}
    [_, row] = talk.world.outputs()
    assert new in row.path.parents
    assert marks_of(row.path)[0] == talk.marks[2:]


# -- an older copy saved over katod's words ------------------------------------------------------------


@pytest.mark.fault("older copy of an output saved")
@pytest.mark.parametrize("name", ["", " log.jsonl"], ids=["markdown", "jsonl"])
@pytest.mark.parametrize("noticed", [False, True], ids=["at rest", "while recording"])
def test_an_older_copy_is_noticed_and_completed_once(world, monkeypatch, name, noticed):
    """`status` says how many events are missing, and `verify --append-missing` appends them, once."""
    talk = Talk(world, monkeypatch, name)
    stale = talk.path.read_text()
    talk.go_on(3)
    assert world.status()["missing"] == []
    save(talk.path, stale + ("" if name else f"\n{NOTE}\n"))
    if noticed:
        talk.go_on()
    row = talk.row
    events = 6 if name else 3  # with those that a transcript does not show
    assert world.status()["missing"] == [{"id": row.id, "output": str(row.path), "events": events}]
    assert f"{events} events missing or changed\n  → run `katod verify --append-missing {row.id}`" in world.cli(
        "status"
    )
    assert f"{events} of" in world.cli("verify", code=1)
    world.cli("verify", "--append-missing", "--yes")
    text = talk.path.read_text()
    world.cli("verify", "--append-missing", "--yes")
    assert talk.path.read_text() == text
    assert world.status()["missing"] == []
    lost, later = talk.marks[2:5], talk.marks[5:]
    assert marks_of(talk.path)[0] == [*talk.marks[:2], *later, *lost]
    assert text.count(NOTE) == (not name)
    talk.marks = [*talk.marks[:2], *later, *lost]
    talk.go_on()
    assert marks_of(talk.path)[0] == talk.marks
    world.cli("verify")


@pytest.mark.fault("older copy of an output saved")
def test_missing_events_are_appended_with_a_heading_and_only_when_asked(talk):
    """Below a mark, each missing message has its speaker and time; without consent nothing is written."""
    stale = talk.path.read_text()
    talk.go_on()
    heading = next(line for line in talk.path.read_text().splitlines() if line.startswith("### Claude"))
    save(talk.path, stale)
    talk.world.cli("verify", "--append-missing", code=1)
    assert talk.path.read_text() == stale
    talk.world.cli("verify", "--append-missing", "--yes")
    added = talk.path.read_text().removeprefix(stale).split("\n\n")
    assert added[0].strip() == "*This file was changed by hand; the recording continues below*"
    assert added[1].startswith("*Missing from this file and added again")
    assert added[2].split(" · ")[0] == heading.split(" · ")[0]


@pytest.mark.fault("older copy of an output saved")
def test_a_running_daemon_appends_what_is_missing(talk):
    """The daemon writes the missing events itself, so that nothing is appended between them."""
    stale = talk.path.read_text()
    talk.go_on()
    save(talk.path, stale)
    run = InProcess(talk.world)
    row = talk.row
    assert run._requests.restore(row.session, row.id) == ""
    talk.speak()
    run.turn()
    run.stop()
    talk.assert_whole()


@pytest.mark.slow
@pytest.mark.fault("older copy of an output saved")
def test_what_is_missing_of_a_recording_that_ended_is_appended_too(talk):
    """Its output follows nothing any more, and is complete afterwards."""
    stale = talk.path.read_text()
    talk.go_on()
    talk.session.append(talk.session.user("::stop"))
    talk.world.process()
    save(talk.path, stale)
    talk.world.cli("verify", "--append-missing", "--yes")
    talk.assert_whole()
