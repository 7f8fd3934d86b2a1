"""A run that is killed at any moment: the next one completes it. No session is there twice, and none is missing."""

import os
import random
import re
import shutil

import pytest

from katod import durable
from tests.support.records import Claude
from tests.support.records.base import calls, result, says, user
from tests.support.world import CUT, in_new_process

pytestmark = pytest.mark.slow
CHANGES = ("write", "write_at", "truncate", "sync", "rename", "link", "remove", "remove_folder", "sync_names")
KILLS = 16  # in each story, drawn from all moments
SEED = int(os.environ.get("KATOD_FAULTS_SEED", "1"))


class Moments:
    """Counts what changes the disk, and ends the process before one of these moments."""

    def __init__(self, patched, last=0):
        self.count = 0
        self.last = last
        for name in CHANGES:
            patched.setattr(durable, name, self.counted(getattr(durable, name)))

    def counted(self, real):
        def call(*given, **named):
            self.count += 1
            if self.count == self.last:
                os._exit(CUT)
            return real(*given, **named)

        return call


def first(world, tables, two):
    """Nothing is there yet."""


def grown(world, tables, two):
    """One has grown, one is gone, one is new."""
    tables.export()
    two[0].say(user("more"))
    two[1].path.unlink()
    world.session(4).say(user("words 4"))


def moved(world, tables, two):
    """One begins in another month, and the files of a month go."""
    late = Claude(world, "00000003-8a53-4c3e-9b5e-0a1d5f8f2c11")
    late.append(late.user("late") | {"timestamp": "2026-03-05T10:00:00.000Z"})
    tables.export()
    late.path.write_bytes(late.path.read_bytes().replace(b"2026-03", b"2026-02"))


def excluded(world, tables, two):
    """A project is excluded, and another one has news."""
    other = Claude(world, "00000003-8a53-4c3e-9b5e-0a1d5f8f2c11", cwd="/home/me/other")
    other.say(user("words 3"))
    tables.export()
    other.say(says("news"))
    world.configure(exclude=["/home/me/app"])


def deleted(world, tables, two):
    """The files of a data set are gone."""
    tables.export()
    shutil.rmtree(tables.root)


@pytest.mark.parametrize("room", [0, 2**30], ids=["file by file", "all at once"])
@pytest.mark.parametrize("story", [first, grown, moved, excluded, deleted])
def test_a_killed_run_is_completed_by_the_next_one(world, tables, two, story, room, tmp_path, monkeypatch):
    """Whichever file was being written, and also if the next run is killed, too."""
    monkeypatch.setattr("katod.tables.writer.ROOM", room)
    story(world, tables, two)
    before = tmp_path / "before"
    shutil.copytree(world.home, before)
    with monkeypatch.context() as patched:
        moments = Moments(patched)
        tables.export()
    expected = tables.content()
    assert moments.count > KILLS

    for moment in random.Random(SEED).sample(range(1, moments.count + 1), KILLS):
        again(world, before)
        for last in (moment, moment // 2 + 1):
            killed(tables, monkeypatch, last)
        tables.export()
        assert tables.content() == expected, moment
        assert not list(tables.root.rglob("*.tmp"))
        stamps = tables.stamps()
        tables.export()
        assert tables.stamps() == stamps


def again(world, before):
    """Put the home back as it was."""
    shutil.rmtree(world.home)
    shutil.copytree(before, world.home)


def killed(tables, monkeypatch, last):
    """Run until a moment, in another process."""

    def act():
        Moments(monkeypatch, last)
        tables.export()

    in_new_process(act, ends=(0, CUT))


def test_a_month_whose_rows_were_lost_is_complete_only_with_all_its_sessions(world, tables, two, monkeypatch):
    """A run that is killed after some of them were written leaves the others to the next one, though none changed."""
    from katod.tables import writer  # noqa: PLC0415 - an extra

    tables.export()
    expected = tables.content()
    shutil.rmtree(tables.root)
    monkeypatch.setattr(writer, "ROOM", 0)
    real, left = writer.staged, [1]

    def staged(*given, **named):
        left[0] -= 1
        if left[0] < 0:
            os._exit(CUT)
        return real(*given, **named)

    def act():
        monkeypatch.setattr(writer, "staged", staged)
        tables.export()

    assert in_new_process(act, ends=(0, CUT)) == CUT
    assert len(tables.rows("sessions")) == 1
    tables.export()
    assert tables.content() == expected


WORD = "zanzibar"


def planted(world, tables):
    """Return a session that the next export writes for the first time, into a month that others have or not."""
    one = world.session(3)
    one.count = 1000
    one.say(user(WORD), says(WORD), calls("c1", WORD), result("c1", WORD))
    return one


def alone(world, tables, two):
    """Nothing was exported before."""
    return planted(world, tables)


def beside(world, tables, two):
    """In the month of others."""
    tables.export()
    return planted(world, tables)


def moves(world, tables, two):
    """It is in another month than before."""
    one = planted(world, tables)
    tables.export()
    one.path.write_bytes(re.sub(rb"202\d-\d\d-", b"2025-11-", one.path.read_bytes()))
    return one


@pytest.mark.parametrize("story", [alone, beside, moves])
@pytest.mark.parametrize("forgets", [False, True], ids=["deleted", "forgotten"])
def test_a_session_whose_rows_a_killed_run_began_to_write_is_whole_or_not_there(
    world, tables, two, story, forgets, tmp_path, monkeypatch
):
    """If its agent deletes it before the next run; and once it is forgotten, nothing of it is anywhere."""
    one = story(world, tables, two)
    before = tmp_path / "before"
    shutil.copytree(world.home, before)
    with monkeypatch.context() as patched:
        moments = Moments(patched)
        tables.export()
    whole = tables.of(one.session)
    for moment in random.Random(SEED).sample(range(1, moments.count + 1), KILLS):
        again(world, before)
        killed(tables, monkeypatch, moment)
        if forgets:
            world.cli("forget", f"claude:{one.session}", "--outputs", "--yes")
            assert tables.has(WORD) == [], moment
            assert not tables.of(one.session), moment
        one.path.unlink()
        for _ in range(2):
            tables.export()
            assert tables.of(one.session) in ({}, *([] if forgets else [whole])), moment
        assert bool(tables.has(WORD)) == bool(tables.of(one.session)), moment
