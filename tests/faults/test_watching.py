"""Changes that the watcher does not report are found by the sweep, and lost watches are set again."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.discover.watch import Hints, Watcher
from katod.log import EventLog
from tests.support.live import Live, until, with_watches, without_privileges
from tests.support.records import line

# The length of the kernel's event queue.
LIMIT = Path("/proc/sys/fs/inotify/max_queued_events")
QUEUE = int(LIMIT.read_text()) if LIMIT.exists() else 16_384


@pytest.fixture
def watcher():
    """A started watcher with its own hints."""
    watcher = Watcher(Hints(AGENTS.values()), EventLog())
    assert watcher.start()
    yield watcher
    watcher.stop()


def speaks(session, words="mark-00000001-000001."):
    """Start a recording with a message; return its words."""
    session.append(session.user(f"::start\n{words}"))
    return words


def elsewhere(session):
    """Move a session to a folder of its own, where no other session causes a look."""
    session.path = session.path.parent.with_name(f"-{session.session}") / session.path.name
    return session


def tells(watcher, folder):
    """Wait until the watcher hints at a file below a folder."""
    path = folder / "below" / "one.jsonl"

    def told():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.read_text() + "x" if path.exists() else "")
        return str(path) in watcher._hints.take()[0]

    return until(told, "a hint")


@pytest.mark.fault("root created later")
def test_a_folder_that_is_made_later_is_watched(watcher, tmp_path):
    """A new folder is reported as new once, and its files are watched from then on."""
    folder = tmp_path / "projects"
    assert not watcher.renew([(folder, True)])
    folder.mkdir()
    assert watcher.renew([(folder, True)])
    assert not watcher.renew([(folder, True)])
    tells(watcher, folder)


@pytest.mark.slow
@pytest.mark.fault("root created later")
def test_a_session_in_a_root_that_is_made_later_is_recorded(world):
    """A session written before its root was watched is found at once, and its commands are obeyed."""
    with Live(world) as live:
        live.until_written(speaks(world.session()))


@pytest.mark.fault("root deleted and recreated")
def test_a_folder_that_is_made_again_is_watched_again(watcher, tmp_path):
    """A recreated folder is watched again, even if nobody looked in between and its inode was reused."""
    folder = tmp_path / "projects"
    folder.mkdir()
    watcher.renew([(folder, True)])
    tells(watcher, folder)
    for _ in range(3):
        shutil.rmtree(folder)
        folder.mkdir()
        until(lambda: watcher.renew([(folder, True)]), "the new watch")
        tells(watcher, folder)


@pytest.mark.slow
@pytest.mark.fault("root deleted and recreated")
def test_a_session_in_a_root_that_is_made_again_is_recorded(world):
    """The sessions of a recreated root are recorded."""
    session = world.session(1)
    with Live(world) as live:
        live.until_written(speaks(session))
        shutil.rmtree(world.home / ".claude")
        live.until_written(speaks(elsewhere(world.session(2)), "in the new root"))


@pytest.mark.slow
@pytest.mark.fault("no file events")
def test_without_events_the_sweep_finds_what_changes(world):
    """With `watch.use_events = false`, timed sweeps alone find and follow a new session."""
    world.configure(use_events=False)
    with Live(world, full=1.0) as live:
        live.until_written(speaks(world.session()))
        assert "sweeps only" in live.said()


@pytest.mark.slow
@pytest.mark.fault("no file events")
def test_without_events_a_session_that_is_active_is_looked_at_often(world):
    """New messages of an active session are recorded long before the next full sweep."""
    session = world.session()
    speaks(session)
    world.configure(use_events=False)
    with Live(world) as live:
        live.until_written("mark-00000001-000001.")
        session.append(session.says("by the clock"))
        live.until_written("by the clock")


@pytest.mark.slow
@pytest.mark.fault("watch limit reached")
@pytest.mark.parametrize("watches", [0, 3])
def test_a_watch_limit_blinds_nobody(world, watches):
    """If the kernel grants too few watches, the sweep finds sessions in old and new folders."""
    first, second = world.session(1), elsewhere(world.session(2))
    with Live(world, *with_watches(watches=watches), full=1.0) as live:
        live.until_written(speaks(first))
        live.until_written(speaks(second, "in another folder"))


@pytest.mark.slow
@pytest.mark.fault("no watcher")
def test_without_a_watcher_the_sweep_finds_what_changes(world):
    """The log reports the missing watcher and the mode `sweeps only`; sessions are still recorded."""
    with Live(world, *with_watches(instances=0), full=1.0) as live:
        live.until_written(speaks(world.session()))
        assert "watch.lost" in live.said()
        assert "sweeps only" in live.said()


@pytest.mark.slow
@pytest.mark.fault("event queue overflows")
def test_after_lost_events_everything_is_looked_at(world):
    """A session created while the event queue was full is found although no event reports it."""
    session = world.session()
    with Live(world) as live:
        live.process.send_signal(signal.SIGSTOP)
        until(lambda: "T" in _state(live.process.pid), "it to stop")
        fill_the_queue(session.path.parent)
        speaks(session)
        live.process.send_signal(signal.SIGCONT)
        live.until_written("mark-00000001-000001.")


def fill_the_queue(folder):
    """Cause more events in a folder than the kernel queues."""
    names = [folder / "one", folder / "two"]
    names[0].touch()
    for _ in range(QUEUE // 2 + 100):  # each rename causes an event for both names
        names[0].rename(names[1])
        names.reverse()


def problems(world, prefix=()):
    """Return the problems that `katod status` shows, by path."""
    rows = json.loads(world.katod("status", "--json", prefix=prefix).stdout)["problems"]
    return {row["path"]: row["problem"] for row in rows}


def _state(process):
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


# Which folder above the session is unreadable, and its mode.
CLOSED = {"wholly": (0, 0o000), "names only": (0, 0o400), "no names": (0, 0o300), "the one that is watched": (1, 0o000)}


@pytest.mark.slow
@pytest.mark.fault("folder temporarily unreadable")
@pytest.mark.parametrize(("above", "mode"), [pytest.param(*how, id=name) for name, how in CLOSED.items()])
def test_a_folder_that_may_be_read_later_is_swept(world, above, mode):
    """The folder is logged and shown as a problem; commands typed meanwhile are obeyed once it can be read."""
    session, prefix = world.session(), without_privileges()
    folder = session.path.parents[above]
    speaks(session)
    folder.chmod(mode)
    with Live(world, *prefix) as live:
        live.until_said("root.unreadable")
        until(lambda: problems(world, prefix) == {str(folder): "Permission denied"}, "the problem in status")
        folder.chmod(0o700)
        live.until_written("mark-00000001-000001.")
        session.append(session.says("and on"))
        live.until_written("and on")
    assert problems(world, prefix) == {}


@pytest.mark.slow
@pytest.mark.fault("source temporarily unreadable")
def test_a_source_that_may_be_read_later_is_read(world):
    """The source is shown as a problem while unreadable, and read afterwards; another session continues meanwhile."""
    session, other = world.session(1), world.session(2)
    with Live(world, *without_privileges()) as live:
        live.until_written(speaks(session))
        with session.path.open("ab", buffering=0) as file:
            session.path.chmod(0)
            file.write(line(session.says("while it was closed")))
        until(lambda: "cannot be opened" in problems(world).get(str(session.path), ""), "the problem", poll=0.2)
        live.until_written(speaks(other, "all the same"))
        session.path.chmod(0o600)
        live.until_written("while it was closed")
        until(lambda: not problems(world), "no problem", poll=0.2)
