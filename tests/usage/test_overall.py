"""What many sessions used, collected step by step."""

from contextlib import closing

from katod import processes
from katod.store.usagecache import CACHE_NAME
from katod.usage import overall
from katod.usage.overall import collected
from tests.support.records import OTHER, Claude
from tests.usage.test_collect import found, reads

__all__ = ["reads"]


def sessions(world):
    """Write two sessions, and return them as a sweep finds them."""
    makers = [Claude(world, session) for session in ("", OTHER)]
    for number, make in enumerate(makers):
        make.append(make.says("a", message={"id": f"msg_{number}_0123456789abcdef"}))
    return found(*makers)


def test_there_is_a_step_for_each_session(world):
    """So that others can have their turn in between; what all of them used is the last one."""
    *steps, usage = collected(sessions(world), world.state, "UTC")
    assert steps == [None, None]
    assert [spent.cell.tokens.total for spent in usage.cells] == [15, 15]
    assert usage.collector.project(usage.cells[0].project) == "/home/me/app"
    assert (world.state / CACHE_NAME).exists()


def test_what_did_not_change_is_not_read_again(world, reads):
    """Also if some of its answers are copies of another session's, and have to be told from the rest."""
    makers = [Claude(world, session) for session in ("", OTHER)]
    for number, make in enumerate(makers):
        ids = ("msg_0123456789abcdef_c", f"msg_0123456789abcdef_{number}")
        make.append(*(make.says("a", message={"id": name}) for name in ids))
    for _ in range(2):
        *_, usage = collected(found(*makers), world.state, "UTC")
        assert sum(spent.cell.tokens.total for spent in usage.cells) == 45
        assert reads == [0, 0]


def test_what_is_known_of_others_is_kept_unless_these_are_all(world):
    """The page shows some sessions; the command, all of them."""
    both = sessions(world)
    for everything, left in ((False, 2), (True, 1)):
        list(collected(both, world.state, "UTC"))
        list(collected(both[:1], world.state, "UTC", everything=everything))
        cache = overall.UsageCache.open(world.state, overall.VERSION, "UTC")
        assert len(cache.sources()) == left
        cache.close()


def test_a_file_that_cannot_be_read_is_a_problem_of_its_own(world):
    """The others are counted."""
    both = sessions(world)
    path = both[0].files[0][0]
    type(world.home)(path).unlink()
    *_, usage = collected(both, world.state, "UTC")
    assert list(usage.problems) == [path]
    assert len(usage.cells) == 1


def test_what_was_read_is_kept_if_the_rest_is_given_up(world):
    """Who leaves the page in between need not wait for it again; what is known of others stays."""
    both = sessions(world)
    steps = collected(both, world.state, "UTC", everything=True)
    next(steps)
    steps.close()
    assert known(world, both) == [both[0].files[0][0]]
    list(collected(both, world.state, "UTC"))
    steps = collected(both, world.state, "UTC", everything=True)
    next(steps)
    steps.close()
    assert known(world, both) == sorted(session.files[0][0] for session in both)


def test_nothing_is_kept_of_a_session_that_is_forgotten_before_the_rest_is_given_up(world, monkeypatch):
    """As if all of them were read."""
    both, forgotten = sessions(world), set()
    monkeypatch.setattr(overall, "forgotten_sessions", lambda _state, _keys: forgotten)
    steps = collected([*both, both[1]], world.state, "UTC")
    next(steps)
    next(steps)
    forgotten.add(both[0].key)
    steps.close()
    assert known(world, both) == [both[1].files[0][0]]


def known(world, sessions):
    """Return the paths of the sources of which something is kept."""
    with closing(overall.UsageCache.open(world.state, overall.VERSION, "UTC")) as cache:
        found = cache.sources()
        paths = [path for session in sessions for path, _, _ in session.files]
        return sorted(path for path in paths if cache.hashes.of(path) in found)


def test_what_is_new_is_read_ahead_by_other_processes(world, reads, monkeypatch):
    """With the same result, and kept as usual; only for a caller that asks for it."""
    monkeypatch.setattr(overall, "_MUCH", 0)
    monkeypatch.setattr(processes, "_PIECE", 1)
    monkeypatch.setattr(processes, "cores", lambda: 2)
    places = sessions(world)
    *_, here = collected(places, world.state / "other", "UTC")
    assert reads == [0, 0]
    del reads[:]
    for _ in range(2):
        *steps, usage = collected(places, world.state, "UTC", ahead=True)
        assert steps == [None, None]
        assert [spent.cell.tokens.total for spent in usage.cells] == [spent.cell.tokens.total for spent in here.cells]
        assert reads == []
