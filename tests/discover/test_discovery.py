"""When katod looks at which folders: sweeps, active folders and hints."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.discover import discovery as module
from katod.discover.discovery import (
    ACTIVE_EVERY,
    ACTIVE_FOR,
    DEEP_EVERY,
    FULL_EVERY,
    FULL_EVERY_WHEN_QUIET,
    RESTING_EVERY,
    RESTS_AFTER,
    Discovery,
)
from katod.discover.roots import Root
from katod.discover.source import Source
from katod.log import EventLog
from katod.model import Identity, SessionKey, Stat
from katod.store.rows import SourceRow
from tests.support.inprocess import InProcess
from tests.support.records import OpenCode, user

ROOT = Root(AGENTS["claude"], Path("/r"))
INNER = Root(AGENTS["codex"], Path("/r/inner"))


class Clock:
    """Both clocks of the machine; they advance together, unless one is set."""

    def __init__(self):
        self.passed, self.wall = 1000.0, 2_000_000.0

    def monotonic(self):
        return self.passed

    def time(self):
        return self.wall

    def go(self, seconds):
        self.passed += seconds
        self.wall += seconds
        return self.passed


class Disk:
    """A catalog that returns preset changes, and notes what it is asked to look at."""

    def __init__(self):
        self.changed, self.swept, self.folders, self.hinted, self.deep = [], 0, [], [], []
        self.newest = 7  # the id of the last known source

    def sweep(self, _roots, *, deep):
        self.swept += 1
        self.deep.append(deep)
        return self.changed

    def sweep_folders(self, folders):
        self.folders.append([folder for _, folder in folders])
        return []

    def hint(self, root, path):
        self.hinted.append((root, path))
        return self.changed


class Places:
    """Which roots are there (None: all), and how often that was asked."""

    def __init__(self):
        self.roots, self.asked = None, 0

    def has(self, root):
        self.asked += 1
        return self.roots is None or root in self.roots


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def there(monkeypatch):
    """The roots that are there, which are asked for; at first all."""
    found = Places()
    monkeypatch.setattr(Root, "is_there", property(found.has))
    return found


@pytest.fixture
def discovery(disk, clock, there):
    return Discovery(disk, [ROOT, INNER], Path("/state/requests"), EventLog())


def source(path="/r/projects/a/s.jsonl", written=2_000_000.0):
    return Source(SourceRow(0, 1, path, Identity(SessionKey("claude", path)), Stat(0, int(written * 1e9), 0, 0)))


# -- full sweeps -------------------------------------------------------------------------------------


def looks(discovery, clock, seconds, step=1.0):
    """Return after how many seconds there was a full sweep, if asked every second."""
    begin = clock.passed
    found = []
    while clock.passed < begin + seconds:
        if discovery.everything(clock.go(step)) is not None:
            found.append(clock.passed - begin)
    return found


def test_everything_is_looked_at_now_and_then(discovery, disk, clock):
    """Full sweeps are regular, and half as frequent while nothing changes."""
    assert looks(discovery, clock, 200) == [FULL_EVERY + n * FULL_EVERY_WHEN_QUIET for n in range(3)]
    assert disk.swept == 3


def test_everything_is_looked_at_more_often_while_something_changes(discovery, disk, clock):
    """While something changes, full sweeps are frequent: other changes without a hint are likely near it."""
    disk.changed = [source()]
    assert looks(discovery, clock, 100) == [FULL_EVERY, 2 * FULL_EVERY, 3 * FULL_EVERY]


def test_a_look_at_everything_returns_what_changed(discovery, disk, clock):
    """A full sweep returns a list of what changed; None means that it is not due yet."""
    disk.changed = [source()]
    assert discovery.everything(clock.passed) is None
    assert discovery.everything(clock.go(FULL_EVERY)) == disk.changed


@pytest.mark.parametrize("seconds", [FULL_EVERY + 1, -FULL_EVERY - 1])
def test_after_a_gap_of_the_clock_everything_is_looked_at(discovery, clock, seconds):
    """After the machine slept or its clock was set, there is one full sweep, as hints may be lost."""
    clock.wall += seconds
    assert looks(discovery, clock, 5) == [1.0]


def test_a_clock_that_is_corrected_is_no_gap(discovery, clock):
    """A small clock correction causes no sweep: it happens all the time."""
    clock.wall += FULL_EVERY - 1
    assert looks(discovery, clock, 5) == []


def test_after_lost_hints_everything_is_looked_at_but_not_all_the_time(discovery, clock):
    """Lost hints cause a full sweep, but not more often than active folders are checked."""
    found = []
    for _ in range(50):
        discovery.hints.lost()
        discovery.hinted()
        found += [clock.passed] if discovery.everything(clock.go(0.1)) is not None else []
    pauses = [after - before for before, after in pairwise(found)]
    assert len(found) == 3
    assert all(pause >= ACTIVE_EVERY - 0.01 for pause in pauses)


def test_hints_that_were_lost_once_are_made_up_for_once(discovery, clock):
    """After hints were lost once, there is one full sweep."""
    discovery.hints.lost()
    discovery.hinted()
    assert looks(discovery, clock, 10) == [1.0]


def test_a_new_folder_is_looked_into(discovery, clock, monkeypatch):
    """A new folder causes a full sweep: it may have been filled before it was watched."""
    monkeypatch.setattr(discovery, "renew", lambda: True)
    assert discovery.everything(clock.go(1)) is None
    discovery.active(clock.go(ACTIVE_EVERY))
    assert discovery.everything(clock.passed) is not None


# -- active folders ----------------------------------------------------------------------------------


def test_active_folders_are_looked_at_often(discovery, disk, clock):
    """From the first change on, an active folder is checked every two seconds."""
    disk.changed = [source()]
    discovery.sweep()
    assert discovery.active(clock.go(ACTIVE_EVERY - 0.1)) is None
    assert discovery.active(clock.go(0.1)) == []
    assert discovery.active(clock.go(1)) is None
    assert discovery.active(clock.go(1)) == []
    assert disk.folders == [["/r/projects/a"]] * 2


def test_a_folder_is_active_for_a_while(discovery, disk, clock):
    """After a while a folder is no longer active, and only full sweeps find changes in it."""
    disk.changed = [source()]
    discovery.sweep()
    discovery.active(clock.go(ACTIVE_FOR - 1))
    discovery.active(clock.go(ACTIVE_EVERY))
    assert disk.folders == [["/r/projects/a"], []]


def test_a_file_that_was_written_long_ago_makes_no_folder_active(discovery, disk, clock):
    """A file last written long ago does not make its folder active, as at the first start all files are found."""
    disk.changed = [source(written=clock.wall - ACTIVE_FOR - 1), source("/elsewhere/s.jsonl")]
    discovery.sweep()
    discovery.active(clock.go(ACTIVE_EVERY))
    assert disk.folders == [[]]


def test_the_deadline_is_the_next_look(discovery, clock):
    """The deadline is the next check of active folders or the next full sweep, whichever comes first."""
    assert discovery.deadline() == clock.passed + ACTIVE_EVERY
    discovery.active(clock.go(FULL_EVERY - 1))
    assert discovery.deadline() == clock.passed + 1


# -- hints -------------------------------------------------------------------------------------------


def test_a_hint_is_looked_at_in_its_innermost_root(discovery, disk):
    """A hint is passed to its innermost root and makes its folder active; a path outside all roots is ignored."""
    disk.changed = [source()]
    discovery.hints._gather({"/r/projects/a/s.jsonl"}, overflow=False)
    assert discovery.hinted() == (disk.changed, False)
    discovery.hints._gather({"/r/inner/sessions/t.jsonl", "/rest/x.jsonl"}, overflow=False)
    discovery.hinted()
    assert disk.hinted == [(ROOT, "/r/projects/a/s.jsonl"), (INNER, "/r/inner/sessions/t.jsonl")]
    assert [folder for _, folder in discovery._active] == ["/r/projects/a"]
    assert discovery.hinted() == ([], False)


def test_a_hint_for_the_other_folder_is_told(discovery, disk):
    """A hint for the folder of requests, where the shell leaves them, is reported separately."""
    discovery.hints._gather({"/state/requests/x.request"}, overflow=False)
    assert discovery.hinted() == ([], True)
    assert disk.hinted == []


# -- the watcher -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "named"),
    [
        ("/r/projects/-home-me-shop", "/r"),
        ("/r/inner/sessions/secret", "/r/inner"),
        ("/r", "/r"),
        ("/rest/a", "/rest/a"),
    ],
)
def test_the_log_names_the_root_of_a_folder(disk, there, folder, named):
    """A missed change is logged with the root: an agent may name the folder in it after a project."""
    logged = []
    log = EventLog(lambda _level, event, fields: logged.append((event, fields["path"])))
    Discovery(disk, [ROOT, INNER], Path("/state/requests"), log)._watcher.doubt([folder])
    assert logged == [("watch.missed", named)]


def test_a_folder_that_cannot_be_watched_is_logged_by_its_root(disk, there, monkeypatch):
    """Its name may be that of a project, too."""
    logged = []
    log = EventLog(lambda _level, event, fields: logged.append((event, fields["path"])))
    watcher = Discovery(disk, [ROOT], Path("/state/requests"), log)._watcher
    monkeypatch.setattr(watcher, "_observer", Refusing())
    assert watcher._watch(Path("/r/projects/-home-me-shop"), True, (0, 0, True)) is False
    assert logged == [("watch.lost", "/r")]


class Refusing:
    """An observer that has no watch left."""

    def schedule(self, *_, **__):
        raise OSError(28, "No space left on device")


class Watcher:
    """A watcher that notes which folders it is to watch."""

    def __init__(self, works=True):
        self.works, self.started, self.watched, self.doubted = works, 0, [], []

    @property
    def is_sound(self):
        return self.works and not self.doubted

    def doubt(self, folders):
        self.doubted += folders

    def trust(self):
        self.doubted.clear()

    def start(self):
        self.started += 1
        return self.works

    def renew(self, folders):
        self.watched.append([str(folder) for folder, _ in folders])
        return False


@pytest.mark.parametrize(
    ("watch", "works", "expected"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_what_exists_is_watched_where_the_machine_can(discovery, watch, works, expected):
    """Existing folders of all roots and the requests folder are watched, if configuration and system allow it."""
    watcher = discovery._watcher = Watcher(works)
    assert discovery.start(watch=watch) is expected
    assert watcher.started == watch
    sessions = ["/r/projects", "/r/inner/sessions", "/r/inner/archived_sessions"]
    assert watcher.watched[-1] == ["/r/sessions", *sessions, "/state/requests"]


def test_while_hints_are_reliable_cold_folders_are_seldom_read(discovery, disk, clock):
    """One of some sweeps is deep, and so are those after lost hints; without a watcher, all are."""
    discovery._watcher = Watcher()
    looks(discovery, clock, 2 * DEEP_EVERY + FULL_EVERY_WHEN_QUIET)
    assert [n for n, deep in enumerate(disk.deep) if deep] == [10, 20]
    discovery.hints.lost()
    discovery.hinted()
    looks(discovery, clock, ACTIVE_EVERY)
    assert disk.deep.pop()
    discovery._watcher.works = False
    looks(discovery, clock, 2 * FULL_EVERY_WHEN_QUIET)
    assert disk.deep[-2:] == [True, True]


def test_with_reliable_hints_active_folders_are_looked_at_less_often_once_nothing_changes(discovery, disk, clock):
    """The pause grows after a minute without a change, ends with the next one, and needs a watcher that works."""
    watcher = discovery._watcher = Watcher()

    def is_often():
        discovery.active(clock.go(RESTING_EVERY))
        return discovery.active(clock.go(ACTIVE_EVERY)) is not None

    clock.go(RESTS_AFTER - RESTING_EVERY - ACTIVE_EVERY)
    assert is_often()
    assert not is_often()
    watcher.works = False
    assert is_often()
    watcher.works = True
    assert not is_often()
    disk.changed = [source()]
    discovery.sweep()
    assert is_often()


def test_a_change_that_no_hint_named_ends_the_trust_in_hints(discovery, disk, clock):
    """It is one of a known file, found by a regular sweep when a hint would have come long before; until new settings."""
    watcher = discovery._watcher = Watcher()
    disk.changed = [source(written=clock.wall)]
    looks(discovery, clock, FULL_EVERY, step=FULL_EVERY)
    assert watcher.doubted == ["/r/projects/a"]
    looks(discovery, clock, 2 * FULL_EVERY)
    assert disk.deep[-2:] == [True, True]
    discovery.use([ROOT])
    looks(discovery, clock, FULL_EVERY)
    assert not disk.deep[-1]


def test_what_cannot_be_blamed_on_hints_is_not(discovery, disk, clock):
    """A change of just now, a session in a database, a new file, and what is found because hints were lost."""
    watcher = discovery._watcher = Watcher()
    disk.changed = [source(written=clock.wall + FULL_EVERY), source("/r/projects/a.db#s"), source()]
    disk.changed[1].row = disk.changed[1].row._replace(identity=Identity(SessionKey("opencode", "s"), "s"))
    disk.changed[2].row = disk.changed[2].row._replace(id=8)
    looks(discovery, clock, FULL_EVERY, step=FULL_EVERY)
    disk.changed = [source(written=clock.wall)]
    clock.go(ACTIVE_EVERY * 5)
    discovery.hints.lost()
    discovery.hinted()
    looks(discovery, clock, 1)
    assert watcher.doubted == []


def test_new_settings_change_the_roots(discovery):
    """With new settings, the new roots are watched at once."""
    watcher = discovery._watcher = Watcher()
    discovery.use([INNER])
    assert discovery.roots == [INNER]
    assert "/r/projects" not in watcher.watched[-1]


def test_folders_of_an_agent_that_was_switched_off_are_not_looked_at(discovery, disk, clock):
    """However active they were."""
    discovery._watcher = Watcher()
    disk.changed = [source()]
    discovery.sweep()
    discovery.use([INNER])
    discovery.active(clock.go(ACTIVE_EVERY))
    assert disk.folders == [[]]


def test_agents_that_nobody_uses_cost_next_to_nothing(disk, clock, there):
    """However many there are, one look asks for as many as with a few; what appears is found by one of the next looks."""
    absent = [replace(ROOT, path=Path(f"/absent/{n}")) for n in range(40)]
    there.roots = [ROOT]
    discovery = Discovery(disk, [*absent, ROOT], Path("/state/requests"), EventLog())
    watcher, there.asked = Watcher(), 0
    discovery._watcher = watcher
    discovery.renew()
    assert (there.asked, watcher.watched) == (9, [["/r/sessions", "/r/projects", "/state/requests"]])
    there.roots = [ROOT, absent[-1]]
    for _ in range(5):
        discovery.renew()
    assert "/absent/39/projects" in watcher.watched[-1]


@pytest.mark.parametrize("name", ["home.db", "work.db"])
def test_a_hint_for_one_of_two_databases_in_a_folder_finds_it(world, name):
    """Each is a root of its own in the same folder: a hint for one of them is not taken for the other."""
    folder = world.home / "data"
    world.config.write_text(f'[agents.opencode]\nroots = ["{folder}/home.db", "{folder}/work.db"]\n')
    run = InProcess(world)
    OpenCode(world, database=f"data/{name}").say(user("hello"))
    run._discovery.hints._gather({f"{folder}/{name}-wal"}, overflow=False)
    [source] = run._discovery.hinted()[0]
    assert source.path.startswith(f"{folder}/{name}#")
    run.stop()


def test_what_an_agent_says_beside_its_sessions_is_heard_once(discovery):
    """A file directly in its folder; a session is none."""
    for path in ("/r/sessions/28.json", "/r/projects/x/s.jsonl", "/r/sessions/deep/28.json"):
        discovery.hints._gather({path}, overflow=False)
        discovery.hinted()
        assert discovery.heard() == ({"claude"} if path == "/r/sessions/28.json" else set())
    assert discovery.heard() == set()


def test_what_agents_say_of_their_sessions_is_found_without_hints(tmp_path, disk, clock):
    """They can get lost, or the watcher is off: the files in which they say it are compared in each look."""
    reports = tmp_path / "sessions"
    reports.mkdir()
    discovery = Discovery(disk, [Root(AGENTS["claude"], tmp_path), INNER], Path("/state/requests"), EventLog())

    def heard():
        discovery.active(clock.go(ACTIVE_EVERY))
        return discovery.heard()

    assert (heard(), heard()) == ({"claude"}, set()), "what is there at the start is new"
    (reports / "28.json").write_text("{}")
    assert (heard(), heard()) == ({"claude"}, set())
    (reports / "28.json").unlink()
    assert heard() == {"claude"}
