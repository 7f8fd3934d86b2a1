"""Names and folders that lead elsewhere: katod writes only inside its allowed roots and to its own files."""

import ctypes
import os
import signal
from contextlib import contextmanager

import pytest

from tests.support.inprocess import InProcess
from tests.support.reading import lines
from tests.support.records import Claude
from tests.support.world import World

PRECIOUS = "precious\n"
MANY = 10  # minimum number of system calls in a step
AT_FDCWD, RENAME_EXCHANGE = -100, 2


@pytest.fixture
def world(quick, monkeypatch):
    """A home with a project, and a folder with files that katod must not touch."""
    return build(quick, monkeypatch)


def build(folder, monkeypatch):
    """Create such a world in a folder."""
    made = World(folder / "home", monkeypatch)
    outside = folder / "outside"
    (outside / "docs").mkdir(parents=True)
    for name in ("talk.md", "docs/talk.md"):
        (outside / name).write_text(PRECIOUS)
    return made


def tree(*folders):
    """Return the mode, inode, link count and content of everything below some folders."""
    found = {}
    for folder in folders:
        for path in [folder, *sorted(folder.rglob("*"))]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = status.st_mode, status.st_ino, status.st_nlink, content
    return found


def files(world):
    """Return all files except those of the ledger, which come and go, and the marker of the output directory."""
    found = (path for path in world.home.parent.rglob("*") if path.is_file())
    return {path for path in found if not path.name.startswith(("ledger.db", ".katod-"))}


def record(world, name):
    """Type `::start` with a name, followed by a message."""
    make = Claude(cwd=str(world.project))
    world.claude().append(make.user(f"::start {name}\none"), make.says("two"))
    world.once()


# -- names ---------------------------------------------------------------------------------------------


def a_linked_folder(world):
    """A folder of the project is a symbolic link."""
    (world.project / "docs").symlink_to(world.home.parent / "outside" / "docs")
    return "docs/talk.md"


def a_linked_folder_further_up(world):
    """A folder further up in the path is a symbolic link."""
    (world.project / "deep").symlink_to(world.home.parent / "outside")
    return "deep/docs/talk.md"


def a_linked_folder_for_a_new_file(world):
    """The link's target does not contain a file with this name."""
    (world.project / "docs").symlink_to(world.home.parent / "outside" / "docs")
    return "docs/new.md"


def a_linked_file(world):
    """The file itself is a symbolic link."""
    (world.project / "talk.md").symlink_to(world.home.parent / "outside" / "talk.md")
    return "./talk.md"


def a_dangling_link(world):
    """The file is a dangling link; opening it for writing would create its target."""
    (world.project / "talk.md").symlink_to(world.home.parent / "outside" / "made.md")
    return "./talk.md"


def a_hard_link(world):
    """The file is a hard link to another, empty file."""
    empty = world.home.parent / "outside" / "empty.md"
    empty.touch()
    (world.project / "talk.md").hardlink_to(empty)
    return "./talk.md"


def a_fifo(world):
    """The file is a FIFO; opening it must not block."""
    os.mkfifo(world.project / "talk.md")
    return "./talk.md"


def a_device(world):
    """The file is a device."""
    try:
        os.mknod(world.project / "talk.md", 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    return "./talk.md"


def a_folder(world):
    """The file is a directory."""
    (world.project / "talk.md").mkdir()
    return "./talk.md"


def a_foreign_file(world):
    """The file was written by somebody else."""
    (world.project / "notes.md").write_text(PRECIOUS)
    return "./notes.md"


def a_file_for_a_folder(world):
    """A part of the path is a file."""
    (world.project / "docs").write_text(PRECIOUS)
    return "docs/talk.md"


def a_linked_session_folder(world):
    """A folder of the project links to an agent's session folder."""
    (world.project / "docs").symlink_to(world.home / ".claude" / "projects")
    return "docs/talk.md"


SITUATIONS = (
    a_linked_folder, a_linked_folder_further_up, a_linked_folder_for_a_new_file, a_linked_file, a_dangling_link,
    a_hard_link, a_fifo, a_device, a_folder, a_foreign_file, a_file_for_a_folder, a_linked_session_folder,
)  # fmt: skip
NAMES = (
    "../outside/new.md", "docs/../../new.md", "./../new.md", "{outside}/new.md", "{outside}/talk.md", "~/new.md",
    "~root/new.md", "{home}/.bashrc.md", ".hidden.md", ".git/hooks/x.md", "docs/.git/x.md", "-rf.md", "a//b.md", "$HOME/x.md",
    "a\\b.md", "C:/x.md", "con.md", "new.sh", "Makefile.py", "{home}/.claude/projects/new.md", "{home}/state/new.md",
    "{home}/state/ledger.db", "x\u202efdp.md",
)  # fmt: skip


def assert_recorded_elsewhere(world):
    """Check that the conversation is in a file whose name katod chose, and says why; return its path."""
    [path] = world.out.rglob("*.md")
    assert "katod chose this file: the name " in path.read_text()
    return path


@pytest.mark.fault("unsafe path")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
def test_what_stands_at_the_path_already_is_left_alone(world, situation):
    """A path is refused and shown unless it has only real folders and ends in a new or empty file."""
    name = situation(world)
    before = tree(world.project, world.home.parent / "outside")
    record(world, name)
    assert tree(world.project, world.home.parent / "outside") == before
    assert len(world.status()["refused"]) == 1
    assert_recorded_elsewhere(world)


@pytest.mark.fault("unsafe path")
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_steps_out_is_refused(world, name):
    """Names that leave the allowed roots, name hidden files, or mean something else to a shell are refused."""
    world.config.write_text(f'[output]\nallowed_roots = ["{world.home}/state"]\n')
    outside = world.home.parent / "outside"
    before, known = tree(world.project, outside), files(world)
    record(world, f'"{name.format(outside=outside, home=world.home)}"')
    assert tree(world.project, outside) == before
    assert len(world.status()["refused"]) == 1
    assert files(world) == known | {world.claude().path, assert_recorded_elsewhere(world)}


@pytest.mark.fault("unsafe path")
def test_the_output_of_another_session_is_refused(world):
    """An output of one session is refused to another one."""
    record(world, "shared.md")
    other = world.claude("7a8b9c0d-1111-4222-8333-444455556666")
    make = Claude(session=other.path.stem, cwd=str(world.project))
    before = world.written()["shared.md"]
    other.append(make.user("::start shared.md\nthree"))
    world.once()
    assert world.written()["shared.md"] == before
    assert len(world.written()) == 2
    assert "another session" in world.cli("status")


# -- swapped during a write ----------------------------------------------------------------------------


class Stage:
    """A recording two folders deep, and a swap of one part of its path for a link that leads outside."""

    def __init__(self, world, part):
        self.world = world
        self.make, self.source = Claude(cwd=str(world.project)), world.claude()
        self.source.append(self.make.user("::start deep/docs/talk.md\none"))
        self.path = {"file": "deep/docs/talk.md", "folder": "deep/docs", "folder above": "deep"}[part]
        self.place = world.project / self.path
        self.aside = self.place.with_name(f"{self.place.name}.aside")
        outside = world.home.parent / "outside"
        self.bait = {"file": outside / "talk.md", "folder": outside / "docs", "folder above": outside}[part]
        self.swaps = 0

    def swap(self):
        """Swap the part of the path for the link, or the link for the part."""
        if self.place.is_symlink():
            self.place.unlink()
            if self.aside.exists():
                self.aside.rename(self.place)
        else:
            if self.place.exists():
                self.place.rename(self.aside)
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self.place.symlink_to(self.bait)
        self.swaps += 1

    def mend(self):
        """Restore the path."""
        if self.place.is_symlink():
            self.swap()

    @property
    def said(self):
        """The messages in the output, or None if there is no output."""
        output = self.world.project / "deep/docs/talk.md"
        if not output.exists():
            return None
        return [line for line in lines(output.read_text()) if line in ("one", "two", "three")]


@contextmanager
def before_call(number, act):
    """Call `act` right before system call `number` that takes a path or writes; yields the number of calls."""
    calls, depth = [0], [0]
    real = {
        name: getattr(os, name) for name in ("open", "mkdir", "stat", "fstat", "pread", "write", "fsync", "fdatasync")
    }

    def wrap(name):
        def call(*arguments, **named):
            calls[0] += not depth[0]
            if calls[0] == number and not depth[0]:
                depth[0] = 1
                act()
                depth[0] = 0
            return real[name](*arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in real:
            patch.setattr(os, name, wrap(name))
        yield calls


@pytest.mark.fault("path swapped during a write")
@pytest.mark.parametrize("part", ["file", "folder", "folder above"])
@pytest.mark.parametrize("first", [True, False], ids=["new file", "append"])
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 23], ids=["any call", "some calls"])
def test_a_part_of_the_path_that_is_swapped_before_any_call_leads_nowhere(quick, monkeypatch, part, first, step):
    """Nothing is written outside; a new recording may be refused, a running one is complete in the end."""
    number = calls = 0
    while number <= calls:
        number += step
        world = build(quick / str(number), monkeypatch)
        outside = world.home.parent / "outside"
        before = tree(outside)
        katod, stage = InProcess(world), Stage(world, part)
        if not first:
            katod.turn()
        stage.source.append(stage.make.says("two"))
        with before_call(number, stage.swap) as counted:
            katod.turn()
        calls = counted[0]
        katod.stop()
        assert tree(outside) == before
        stage.mend()
        stage.source.append(stage.make.says("three"))
        world.once()
        assert tree(outside) == before
        refused = first and world.status()["refused"]
        assert stage.said == (None if refused else ["one", "two", "three"])
    assert number > MANY


@contextmanager
def exchanging(one, other):
    """Exchange two names in another process, as fast as possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        pytest.skip("two names cannot be exchanged here")
    arguments = AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE
    if libc.renameat2(*arguments):
        pytest.skip(f"two names cannot be exchanged here: {os.strerror(ctypes.get_errno())}")
    child = os.fork()
    if child == 0:
        while True:
            libc.renameat2(*arguments)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if one.is_symlink():
        libc.renameat2(*arguments)


@pytest.mark.slow
@pytest.mark.fault("path swapped during a write")
def test_a_path_that_is_swapped_all_the_time_leads_nowhere(world):
    """While another process keeps exchanging folder and link, nothing is written outside and every message once."""
    record(world, "deep/docs/talk.md")
    make, source = Claude(cwd=str(world.project), start=9), world.claude()
    folder, outside = world.project / "deep/docs", world.home.parent / "outside"
    link = folder.with_name("link")
    link.symlink_to(outside / "docs")
    before, names = tree(outside), [f"name-{number}" for number in range(100)]
    with exchanging(folder, link):
        for name in names:
            source.append(make.says(name))
            world.process()
            assert tree(outside) == before
    world.once()
    assert [name for name in lines((folder / "talk.md").read_text()) if name.startswith("name-")] == names
