"""Forks in new files repeat what was said elsewhere: old commands among it stay history."""

import os

from tests.support.records import OTHER, SESSION, Claude


def fork(source, world):
    """A new file with the records of another one, ids and times as they were, and a session id of its own."""
    records = source.path.read_bytes().replace(SESSION.encode(), OTHER.encode())
    same_ids = records.replace(f'"uuid":"{OTHER[:8]}'.encode(), f'"uuid":"{SESSION[:8]}'.encode())
    return world.claude(OTHER).append(same_ids, Claude(session=OTHER, start=50).says("of the fork"))


def test_a_command_of_history_does_not_act_in_a_fork(world):
    """Typed before katod looked, it never commands, wherever it is copied to."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes.md\none"), make.says("two"))
    os.utime(source.path, (1, 1))
    world.once()
    fork(source, world)
    world.once()
    assert world.written() == {}


def test_an_old_time_alone_is_no_proof(world):
    """A clock may be wrong: what stands in no other file acts."""
    world.claude().append(Claude().user("::start notes.md\none"))
    world.once()
    assert list(world.written()) == ["notes.md"]


def test_a_fork_whose_origin_is_gone_is_taken_as_it_is(world):
    """Without the file that was copied there is no proof."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes.md\none"))
    os.utime(source.path, (1, 1))
    world.once()
    fork(source, world)
    source.path.unlink()
    world.once()
    assert list(world.written()) == ["notes.md"]
