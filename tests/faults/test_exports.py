"""Exports of everything: killed at any moment, the next run leaves the folder as if nothing had happened."""

import os
import shutil

import pytest

from katod.archive.manifest import MANIFEST
from katod.write import whole
from tests.support.records import Claude
from tests.support.records.base import says, user
from tests.support.world import CUT, World, in_new_process

from .table import note

# What changes something on the disk.
CALLS = ("fsync", "fdatasync", "link", "mkdir", "open", "pwrite", "rename", "unlink")
ENDLESS = 10_000


def begun(folder):
    """Return a world with a folder of exports in which there is work of each kind to do."""
    world = World(folder, seen_empty=False)
    for number in (1, 2, 3, 6):
        world.session(number).say(user(f"words {number}"), says("answer"))
    export(world)
    world.session(6).rewrite(lambda number, _: number < 1)
    world.session(1).append(Claude(start=50).user("one more"))
    edited = next(path for path in exports(world) if "words-2" in path)
    (world.home / "all" / edited).write_text("mine")
    world.session(2).append(Claude(start=50).user("two more"))
    world.session(4).say(user("words 4"))
    world.session(5).append(Claude().record("file-history-snapshot"))
    return world


def export(world):
    """Bring the folder up to date; return what katod prints."""
    return world.cli("export", "--all", "-o", str(world.home / "all"))


def exports(world):
    """Return the content of every file in the folder but the list, by name."""
    folder = world.home / "all"
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def cut_at(name, number, moment):
    """Make this process end at a call: before or after it takes effect, or when half of the data is written."""
    original, left = getattr(os, name), [number]

    def call(*arguments, **named):
        left[0] -= 1
        if left[0] == 0 and moment != "before":
            if moment == "half":
                fd, data, offset = arguments
                arguments = (fd, data[: len(data) // 2], offset)
            original(*arguments, **named)
        if left[0] == 0:
            os._exit(CUT)
        return original(*arguments, **named)

    setattr(os, name, call)


def killed(world, name, number, moment):
    """Export in a process that is killed at a call; return whether there was such a call."""

    def act():
        cut_at(name, number, moment)
        export(world)

    return in_new_process(act, ends=(0, CUT)) == CUT


def check(folder, name, number, moment):
    """Check one kill; return whether there was one."""
    world, wanted = begun(folder / f"{name}-{number}-{moment}"), begun(folder / "wanted")
    export(wanted)
    expected = exports(wanted)
    shutil.rmtree(wanted.home)
    if not killed(world, name, number, moment):
        return False
    said = export(world)
    assert exports(world) == expected, f"killed {moment} {name} number {number}"
    assert "left alone 1" in said
    assert export(world).startswith("unchanged 4, empty 1, left alone 1")
    shutil.rmtree(world.home)
    return True


@pytest.mark.slow
@pytest.mark.fault("killed while it exports everything")
@pytest.mark.parametrize("name", ["rename", "pwrite"])
def test_a_kill_beside_a_rename_leaves_nothing_torn(quick, name):
    """Whether the new file has its name or not, it is known as katod's own."""
    assert all(check(quick, name, 1, moment) for moment in ("before", "after"))


@pytest.mark.slow
@pytest.mark.fault("killed while it exports everything")
@pytest.mark.parametrize("name", CALLS)
def test_a_kill_at_any_call_leaves_nothing_torn(quick, name, request):
    """Whichever change of the disk is the last, after the next run the folder is as if there had been no kill."""
    kills, moments = 0, ("before", "half", "after") if name == "pwrite" else ("before", "after")
    for number in range(1, ENDLESS):
        done = [check(quick, name, number, moment) for moment in moments]
        kills += sum(done)
        if not any(done):
            break
    assert kills or name == "fdatasync"  # which not every platform has
    note(request.node.nodeid, kills, "")


@pytest.mark.fault("export changed by a person")
def test_a_change_between_the_look_and_the_rename_stays(quick, monkeypatch):
    """A file that is changed while its session is exported is not replaced; the session is named."""
    world = World(quick / "home", seen_empty=False)
    one = world.session(1).say(user("words"))
    export(world)
    [name] = exports(world)
    one.say(user("more"))
    complete = whole.UnfinishedFile.complete

    def meanwhile(self):
        (world.home / "all" / name).write_text("mine")
        return complete(self)

    monkeypatch.setattr(whole.UnfinishedFile, "complete", meanwhile)
    world.cli("export", "--all", "-o", str(world.home / "all"), code=1)
    monkeypatch.undo()
    assert "was changed while it was exported" in world.said
    assert exports(world) == {name: b"mine"}
    assert "left alone 1" in export(world)


@pytest.mark.fault("export changed by a person")
def test_a_file_that_appears_meanwhile_stays(quick, monkeypatch):
    """A new export never replaces a file; its session is exported under another name the next time."""
    world = World(quick / "home", seen_empty=False)
    world.session(1).say(user("words"))
    complete = whole.UnfinishedFile.complete
    path = world.home / "all" / "app" / "2026-02-10-words-00000001.md"

    def meanwhile(self):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
        return complete(self)

    monkeypatch.setattr(whole.UnfinishedFile, "complete", meanwhile)
    world.cli("export", "--all", "-o", str(world.home / "all"), code=1)
    monkeypatch.undo()
    assert "wrote 1" in export(world)
    assert path.read_text() == "mine"
    assert sorted(exports(world)) == ["app/2026-02-10-words-00000001-2.md", "app/2026-02-10-words-00000001.md"]
