"""What many sessions used, collected step by step."""

from katod.store.usagecache import CACHE_NAME
from katod.usage import overall
from katod.usage.overall import collected
from tests.support.records import OTHER, Claude
from tests.usage.test_collect import found


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
