"""The sessions that are open."""

import asyncio
import threading
from unittest import mock

from katod.log import EventLog
from katod.serve.feed.hub import Hub, OpenChannels


class Clock(asyncio.SelectorEventLoop):
    """A loop in which time passes when it is told to."""

    now = 0.0

    def time(self):
        return self.now

    def passes(self, seconds):
        """Let time pass, and all happen that is due then."""
        self.now += seconds
        self.run_until_complete(asyncio.sleep(0))


def closed(opened, *steps):
    """Return which sessions are open after each step: a name and what happens to it, or seconds that pass."""
    loop = Clock()

    async def take(name, what):
        getattr(opened, what)(*((name, None), object)[: 1 if what == "leave" else 2])

    found = []
    for step in steps:
        if isinstance(step, tuple):
            loop.run_until_complete(take(*step))
        else:
            loop.passes(step)
        found.append("".join(sorted(name for name, _ in opened)))
    loop.close()
    return found


def test_a_session_is_open_for_ten_seconds_after_its_last_viewer():
    """Whoever left it before; one that comes back in time finds it as it was."""
    enter, leave = ("a", "enter"), ("a", "leave")
    steps = (enter, 60.0, leave, 9.0, enter, 60.0, enter, leave, 60.0, leave, 9.5, 1.0)
    assert closed(OpenChannels(), *steps) == [*["a"] * 11, ""]
    assert closed(OpenChannels(), enter, leave, 9.0, enter, leave, 2.0, 7.5, 1.0) == [*["a"] * 7, ""]


def test_one_session_is_kept_for_those_who_come_back():
    """The one that was left last; what is offered counts as left."""
    steps = [(name, "enter") for name in "abc"] + [(name, "leave") for name in "cab"] + [("d", "offer")]
    assert closed(OpenChannels(), *steps) == ["a", "ab", "abc", "abc", "ab", "b", "d"]


def test_a_session_that_is_opened_again_stays_open():
    """The time for which it would have been kept before it was closed for others has nothing to say any more."""
    steps = [("a", "enter"), ("a", "leave"), ("b", "enter"), ("b", "leave"), ("a", "enter"), 10.5, 60.0]
    assert closed(OpenChannels(), *steps) == ["a", "a", "ab", "b", "ab", "a", "a"]


def test_a_hub_that_is_closed_reads_and_watches_no_longer():
    """Its threads end, and so does what it does in the background."""
    index, changes = mock.Mock(), mock.Mock()

    async def within():
        before = set(threading.enumerate())
        hub = Hub(index, changes, EventLog())
        await hub.start()
        own = set(threading.enumerate()) - before
        hub.close()
        await asyncio.gather(*hub._tasks, return_exceptions=True)
        for thread in own:
            await asyncio.to_thread(thread.join, 10)
        return len(own), [thread.is_alive() for thread in own], hub._tasks

    assert asyncio.run(within()) == (2, [False, False], set())
    assert (index.all.called, changes.start.called, changes.close.called) == (True, True, True)


def test_files_that_changed_are_read_in_the_sessions_that_are_open():
    """In those whose files they are; without a hint in all, and what is not open is looked for."""
    index, told = mock.Mock(), []
    index.take_up.side_effect = lambda paths: {path.strip("/") for path in paths}

    def channel(name):
        async def advance():
            told.append(name)

        return mock.Mock(advance=advance, key=None)

    async def within():
        hub = Hub(index, mock.Mock(), EventLog())
        hub._opened = [(name, channel(name)) for name in "ab"]
        found = []
        for paths in ({"/b"}, {"/c"}, set()):
            await hub._take_up(paths)
            await asyncio.gather(*hub._tasks)
            found.append(("".join(told), index.all.call_count))
        hub.close()
        return found

    assert asyncio.run(within()) == [("b", 0), ("b", 0), ("bab", 1)]
