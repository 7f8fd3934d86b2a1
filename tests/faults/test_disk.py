"""Full and read-only disks, outputs that are no longer regular files: an output is parked, all others continue."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest

from katod.record import delivery
from tests.examples import mostly
from tests.support.live import Live, until
from tests.support.records import line

from .checks import marks_of

BIG = "all work and no play makes one a dull person\n" * 2000


class Pair:
    """Two recorded sessions, of which only the first one's output gets into trouble."""

    def __init__(self, world, start="::start"):
        self._world = world
        self.marks = 0
        self.sessions = [world.session(1), world.session(2)]
        world.configure(directory=world.home / "elsewhere")
        self.sessions[1].append(self.sessions[1].user("::start\ntwo"))
        world.process()
        world.configure()
        self.sessions[0].append(self.sessions[0].user(f"{start}\none"))

    def speak(self, text=""):
        """Append a message to both sessions."""
        self.marks += 1
        for number, session in enumerate(self.sessions, 1):
            session.append(session.says(f"{text}\nmark-{number:08d}-{self.marks:06d}."))

    @property
    def outputs(self):
        """The row of the output in trouble, then that of the other one."""
        rows = {row.session: row for row in self._world.outputs()}
        return sorted(rows.values(), key=lambda row: row.path.name[-4])

    def assert_one_waits(self, problem):
        """Assert that the first output is parked with this problem and the other is complete."""
        one, other = self.outputs
        parked = self._world.parked()
        assert list(parked) == [one.path.name]
        assert problem in parked[one.path.name]
        assert other.path.read_bytes() == self._world.export(other)

    def assert_whole(self):
        """Assert that nothing is parked and that both outputs contain every event once."""
        assert self._world.parked() == {}
        for number, row in enumerate(self.outputs, 1):
            assert row.path.read_bytes() == self._world.export(row)
            assert marks_of(row.path)[0] == [f"mark-{number:08d}-{n:06d}." for n in range(1, self.marks + 1)]


# -- obstacles, and how to remove them -------------------------------------------------------------------


def _aside(path):
    path.rename(path.with_name(f"{path.name}.aside"))


def _back(path):
    path.with_name(f"{path.name}.aside").rename(path)


def a_directory(path):
    """A directory takes its name."""
    _aside(path)
    path.mkdir()
    return lambda: (path.rmdir(), _back(path))


def a_fifo(path):
    """A FIFO takes its name; opening it must not block."""
    _aside(path)
    os.mkfifo(path)
    return lambda: (path.unlink(), _back(path))


def a_symlink(path):
    """A symbolic link takes its name."""
    _aside(path)
    path.symlink_to(path.with_name(f"{path.name}.aside"))
    return lambda: (path.unlink(), _back(path))


def a_hard_link(path):
    """The output has a second hard link."""
    second = path.with_name("second.md")
    second.hardlink_to(path)
    return second.unlink


def a_linked_folder(path):
    """Its folder is a symbolic link."""
    _aside(path.parent)
    path.parent.symlink_to(path.parent.with_name(f"{path.parent.name}.aside"))
    return lambda: (path.parent.unlink(), _back(path.parent))


def a_file_for_a_folder(path):
    """Its folder is a file."""
    _aside(path.parent)
    path.parent.touch()
    return lambda: (path.parent.unlink(), _back(path.parent))


HINDRANCES = {
    a_directory: "not a regular file",
    a_fifo: "not a regular file",
    a_symlink: "not a regular file",
    a_hard_link: "hard link",
    a_linked_folder: "symbolic link",
    a_file_for_a_folder: "not a directory",
}


@pytest.mark.slow
@pytest.mark.fault("output replaced by something else")
@pytest.mark.parametrize(
    "hindrance", mostly((a_directory, a_fifo), HINDRANCES), ids=lambda hindrance: hindrance.__name__
)
def test_an_output_that_is_something_else_waits(world, hindrance):
    """The output is parked and shown while the other continues; once restored, it contains everything once."""
    pair = Pair(world)
    pair.speak()
    world.process()
    mend = hindrance(pair.outputs[0].path)
    for _ in range(2):
        pair.speak()
        world.process()
        pair.assert_one_waits(HINDRANCES[hindrance])
    mend()
    pair.speak()
    world.process()
    pair.assert_whole()


@pytest.mark.fault("output deleted")
def test_an_output_whose_folder_is_removed_goes_on_in_a_new_file(world):
    """The new file says that it continues and contains later events once."""
    pair = Pair(world)
    pair.speak()
    world.process()
    path = pair.outputs[0].path
    shutil.rmtree(path.parent)
    pair.speak()
    pair.speak()
    world.process()
    assert marks_of(path)[0] == ["mark-00000001-000002.", "mark-00000001-000003."]
    assert "continues here" in path.read_text()
    assert world.parked() == {}


@pytest.mark.slow
@pytest.mark.fault("output deleted")
def test_an_output_that_goes_between_a_look_and_the_append_goes_on_in_a_new_file(world):
    """The daemon survives, and the pending append is written once, to the new file."""
    pair = Pair(world)
    pair.speak()
    world.process()
    path = pair.outputs[0].path
    append = delivery.append

    def late(place, data):
        place.path.unlink(missing_ok=True)
        return append(place, data)

    def cut():
        delivery.append = late

    pair.sessions[0].append(pair.sessions[0].says("mark-00000001-000002."))
    assert not world.once_until(cut)
    world.process()
    assert marks_of(path)[0] == ["mark-00000001-000002."]


@pytest.mark.slow
@pytest.mark.fault("output replaced by something else")
def test_the_daemon_takes_up_an_output_by_itself_when_it_can_be_written_again(world):
    """Pending events are written without a restart, and nothing stays parked."""
    pair = Pair(world)
    pair.speak()
    world.process()
    path = pair.outputs[0].path
    mend = a_fifo(path)
    with Live(world) as live:
        pair.speak()
        until(world.parked, "the output to be parked")
        pair.speak()
        mend()
        live.until_written("000003", path.name)
        until(lambda: not world.parked(), "nothing to be parked")
    pair.assert_whole()


# -- disks ---------------------------------------------------------------------------------------------


class Disk:
    """A small disk mounted at the output directory, in a mount namespace that ends with `run`."""

    def __init__(self, world, options):
        world.out.mkdir()
        self._world = world
        self._options = options
        self._lines = []

    def remount(self, options):
        self._lines.append(f"mount -o remount,{options} {shlex.quote(str(self._world.out))}")

    def append(self, session, *records):
        """Append records at this point of the script."""
        data = self._world.home / f"append-{len(self._lines)}"
        data.write_bytes(b"".join(map(line, records)))
        self._lines.append(f"cat {shlex.quote(str(data))} >> {shlex.quote(str(session.path))}")

    def katod(self, *arguments, to=os.devnull):
        self._lines.append(shlex.join([sys.executable, "-m", "katod", *arguments]) + f" > {shlex.quote(str(to))}")

    def run(self):
        """Run the script and copy the outputs to the folder `saved`. Skip if mounting is not permitted."""
        out = shlex.quote(str(self._world.out))
        mount = f"mount -t tmpfs -o {self._options} katod {out} || exit 77"
        copy = f"cp -r {out} {shlex.quote(str(self._world.home / 'saved'))}"
        script = "\n".join(["set -e", mount, *self._lines, copy])
        if not shutil.which("unshare"):
            pytest.skip("no unshare (util-linux) here")
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
        done = subprocess.run(command, env=self._world.environment, capture_output=True, timeout=60, check=False)
        said = done.stderr.decode()
        if done.returncode == 77 or said.startswith("unshare:"):
            pytest.skip(f"no disk can be mounted here: {said.strip()}")
        assert done.returncode == 0, said


TROUBLES = {
    "no space behind the first bytes": ("size=64k", "size=8m", "No space left"),
    "no space for a new file": ("size=64k,nr_inodes=2", "nr_inodes=100,size=8m", "No space left"),
    "read-only": ("size=8m,ro", "size=8m,rw", "Read-only"),
}


@pytest.mark.slow
@pytest.mark.fault("no space, read-only, quota")
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("command", ["start", "capture"])
def test_an_output_on_a_disk_that_takes_nothing_waits(world, trouble, command):
    """The output is parked and shown while the other continues; once the disk is writable, it has everything once."""
    options, mended, problem = TROUBLES[trouble]
    pair = Pair(world, f"::{command} one-00000001.md" if command == "capture" else "::start")
    pair.speak(BIG)
    disk = Disk(world, options)
    disk.katod("run", "--once")
    disk.katod("status", "--json", to=world.home / "parked.json")
    one, other = pair.sessions
    disk.append(one, one.says("mark-00000001-000002."))
    disk.append(other, other.says("mark-00000002-000002."))
    disk.katod("run", "--once")
    disk.katod("status", "--json", to=world.home / "still.json")
    disk.remount(mended)
    disk.katod("run", "--once")
    disk.run()
    shutil.rmtree(world.out)
    (world.home / "saved").rename(world.out)
    for name in ("parked.json", "still.json"):
        assert problem in (world.home / name).read_text()
    pair.marks = 2
    pair.assert_whole()


@pytest.mark.slow
@pytest.mark.fault("no space, read-only, quota")
def test_a_file_that_may_not_grow_any_more_waits(world):
    """After a short write and an error, the rest is appended once it fits, and nothing is written twice."""
    if not shutil.which("prlimit"):
        pytest.skip("no prlimit (util-linux) here")
    pair = Pair(world)
    limit = ("prlimit", "--fsize=600000:600000")
    for _ in range(9):
        pair.sessions[0].append(pair.sessions[0].says(BIG))
        world.katod("run", "--once", prefix=limit)
    one = pair.outputs[0]
    assert one.path.stat().st_size == 600_000
    assert world.export(one).startswith(one.path.read_bytes())
    pair.assert_one_waits("File too large")
    pair.speak()
    world.process()
    pair.assert_whole()


@pytest.mark.slow
@pytest.mark.fault("no space for the ledger")
def test_a_full_disk_of_the_ledger_ends_the_daemon_and_nothing_else(world):
    """The daemon exits with an error if the ledger cannot grow; a later run writes every event once."""
    if not shutil.which("prlimit"):
        pytest.skip("no prlimit (util-linux) here")
    pair = Pair(world)
    pair.speak(BIG)
    done = world.katod("run", "--once", check=False, prefix=("prlimit", "--fsize=60000:60000"))
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    world.process()
    pair.assert_whole()
