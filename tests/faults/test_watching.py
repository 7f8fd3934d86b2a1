"""What the watcher does not tell: the sweep finds it, and the watch is set again."""

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

# How many events the kernel keeps for a reader that does not read.
LIMIT = Path("/proc/sys/fs/inotify/max_queued_events")
QUEUE = int(LIMIT.read_text()) if LIMIT.exists() else 16_384


@pytest.fixture
def watcher():
    """A watcher of its own, and what it hints at."""
    watcher = Watcher(Hints(AGENTS.values()), EventLog())
    assert watcher.start()
    yield watcher
    watcher.stop()


def speaks(session, words="mark-00000001-000001."):
    """Have a person start a recording and say something."""
    session.append(session.user(f"::start\n{words}"))
    return words


def elsewhere(session):
    """Have a session in a folder of its own: nobody looks there because of others."""
    session.path = session.path.parent.with_name(f"-{session.session}") / session.path.name
    return session


def tells(watcher, folder):
    """Wait until the watcher tells of a file below a folder."""
    path = folder / "below" / "one.jsonl"

    def told():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.read_text() + "x" if path.exists() else "")
        return str(path) in watcher._hints.take()[0]

    return until(told, "a hint")


@pytest.mark.fault("root made later")
def test_a_folder_that_is_made_later_is_watched(watcher, tmp_path):
    """It is found to be new, once, and its files are told of from then on."""
    folder = tmp_path / "projects"
    assert not watcher.renew([(folder, True)])
    folder.mkdir()
    assert watcher.renew([(folder, True)])
    assert not watcher.renew([(folder, True)])
    tells(watcher, folder)


@pytest.mark.fault("root made later")
def test_a_session_in_a_root_that_is_made_later_is_recorded(world):
    """What was written before its watch was set is found at once, and no command in it is missed."""
    with Live(world) as live:
        live.until_written(speaks(world.session()))


@pytest.mark.fault("root deleted and made again")
def test_a_folder_that_is_made_again_is_watched_again(watcher, tmp_path):
    """Even where nobody looked in between, and the new one has the inode of the old one."""
    folder = tmp_path / "projects"
    folder.mkdir()
    watcher.renew([(folder, True)])
    tells(watcher, folder)
    for _ in range(3):
        shutil.rmtree(folder)
        folder.mkdir()
        until(lambda: watcher.renew([(folder, True)]), "the new watch")
        tells(watcher, folder)


@pytest.mark.fault("root deleted and made again")
def test_a_session_in_a_root_that_is_made_again_is_recorded(world):
    """The sessions of the new root are followed, without a word in the log."""
    session = world.session(1)
    with Live(world) as live:
        live.until_written(speaks(session))
        shutil.rmtree(world.home / ".claude")
        live.until_written(speaks(elsewhere(world.session(2)), "in the new root"))


@pytest.mark.fault("no file events")
def test_without_events_the_sweep_finds_what_changes(world):
    """With `watch.use_events = false` a new session is found, and then followed, by the clock alone."""
    world.configure(use_events=False)
    with Live(world, full=1.0) as live:
        live.until_written(speaks(world.session()))
        assert "sweeps only" in live.said()


@pytest.mark.fault("no file events")
def test_without_events_a_session_that_is_active_is_looked_at_often(world):
    """What is said in it is there long before the next full sweep."""
    session = world.session()
    speaks(session)
    world.configure(use_events=False)
    with Live(world) as live:
        live.until_written("mark-00000001-000001.")
        session.append(session.says("by the clock"))
        live.until_written("by the clock")


@pytest.mark.fault("watch limit reached")
@pytest.mark.parametrize("watches", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_a_watch_limit_blinds_nobody(world, watches):
    """Where the kernel gives too few watches, sessions in folders new and old are found by the sweep."""
    first, second = world.session(1), elsewhere(world.session(2))
    with Live(world, *with_watches(watches=watches), full=1.0) as live:
        live.until_written(speaks(first))
        live.until_written(speaks(second, "in another folder"))


@pytest.mark.fault("no watcher at all")
def test_without_a_watcher_the_sweep_finds_what_changes(world):
    """It is said in the log and shown as the mode; all sessions are followed."""
    with Live(world, *with_watches(instances=0), full=1.0) as live:
        live.until_written(speaks(world.session()))
        assert "watch.lost" in live.said()
        assert "sweeps only" in live.said()


@pytest.mark.slow
@pytest.mark.fault("event queue overflows")
def test_after_lost_events_everything_is_looked_at(world):
    """A session made while the queue was full is found although the kernel never told of it."""
    session = world.session()
    with Live(world) as live:
        live.process.send_signal(signal.SIGSTOP)
        until(lambda: "T" in _state(live.process.pid), "it to stop")
        fill_the_queue(session.path.parent)
        speaks(session)
        live.process.send_signal(signal.SIGCONT)
        live.until_written("mark-00000001-000001.")


def fill_the_queue(folder):
    """Cause more events in a folder than the kernel keeps."""
    names = [folder / "one", folder / "two"]
    names[0].touch()
    for _ in range(QUEUE // 2 + 100):  # each renaming tells of both names
        names[0].rename(names[1])
        names.reverse()


def problems(world, prefix=()):
    """Return what `katod status` shows as problems: path to problem."""
    rows = json.loads(world.katod("status", "--json", prefix=prefix).stdout)["problems"]
    return {row["path"]: row["problem"] for row in rows}


def _state(process):
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


# Which folder above a session is closed, and how.
CLOSED = {"wholly": (0, 0o000), "names only": (0, 0o400), "no names": (0, 0o300), "the one that is watched": (1, 0o000)}


@pytest.mark.fault("folder may not be read, later it may")
@pytest.mark.parametrize(
    ("above", "mode"),
    [pytest.param(*how, id=name, marks=[] if name == "no names" else pytest.mark.slow) for name, how in CLOSED.items()],
)
def test_a_folder_that_may_be_read_later_is_swept(world, above, mode):
    """It is named in the log and in the status; what was typed meanwhile is obeyed when it can be read."""
    session, prefix = world.session(), without_privileges()
    folder = session.path.parents[above]
    speaks(session)
    folder.chmod(mode)
    with Live(world, *prefix) as live:
        live.until_said("source.unreadable")
        assert problems(world, prefix) == {str(folder): "Permission denied"}
        folder.chmod(0o700)
        live.until_written("mark-00000001-000001.")
        session.append(session.says("and on"))
        live.until_written("and on")
    assert problems(world, prefix) == {}


@pytest.mark.fault("source may not be read, later it may")
def test_a_source_that_may_be_read_later_is_read(world):
    """It is shown while it is closed, and read as soon as it is not; another session goes on meanwhile."""
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
