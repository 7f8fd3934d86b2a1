"""Directories that are not there: an unmounted disk, an empty mount point, two katods with one output directory."""

import shutil
import subprocess
import sys
from shlex import join, quote

import pytest

from katod.errors import OutputError
from katod.record import delivery
from katod.write.output import FileFingerprint, OutputPath, append, detect_change, make, owner_number
from tests.examples import mostly
from tests.support.inprocess import InProcess
from tests.support.live import Live, until
from tests.support.records import line

from .checks import marks_of

_KATOD = (sys.executable, "-m", "katod")


class Two:
    """A recorded session, and one that is recorded while the directory is missing."""

    def __init__(self, world, start="::start"):
        self.world, self.spoken = world, 0
        self.one, self.other = world.session(1), world.session(2)
        self.one.cwd = str(world.project)
        self.one.append(self.one.user(f"{start}\none"))
        self.speak()
        world.process()

    def speak(self):
        """Append a message to the first session."""
        self.spoken += 1
        self.one.append(self.one.says(f"mark-00000001-{self.spoken:06d}."))

    def assert_whole(self):
        """Assert that nothing is parked, and that the outputs have every event once and in order."""
        assert self.world.parked() == {}
        self.world.assert_live_is_batch()
        found = [f"mark-00000001-{number:06d}." for number in range(1, self.spoken + 1)]
        assert marks_of(self.world.outputs()[0].path)[0] == found


# How the output directory disappears; what is at its path then, and what `status` says about it.
def missing(root):
    """The directory was on a disk that is not mounted, or was renamed."""
    root.rename(root.with_name("away"))
    return "does not exist (is the disk mounted?"


def empty(root):
    """Where the disk should be mounted is an empty directory."""
    missing(root)
    root.mkdir()
    return "is not the directory that katod wrote to (is the disk mounted?"


def another(root):
    """Another disk is mounted there, with the directories of an older backup."""
    missing(root)
    shutil.copytree(root.with_name("away") / "app", root / "app")
    return "is not the directory that katod wrote to"


def back(root):
    """Mount the disk again."""
    if root.exists():
        shutil.rmtree(root)
    root.with_name("away").rename(root)


@pytest.mark.fault("output directory missing")
@pytest.mark.parametrize("goes", [missing, empty, another], ids=lambda goes: goes.__name__)
def test_the_marker_counts_although_all_that_was_recorded_there_is_forgotten(world, goes):
    """Nothing is written where the disk should be; what is recorded meanwhile is there once it is mounted."""
    two = Two(world)
    world.cli("forget", two.one.session, "--yes")
    goes(world.out)
    before = contents(world.out)
    two.other.append(two.other.user("::start\ntwo"), two.other.says("ok"))
    world.process()
    assert contents(world.out) == before
    back(world.out)
    world.process()
    assert world.parked() == {}
    assert len(list(world.out.rglob("*.md"))) == 2


def contents(root):
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} if root.exists() else None


@pytest.mark.slow
@pytest.mark.fault("output directory missing")
@pytest.mark.parametrize("unmount", [missing, empty, another], ids=lambda unmount: unmount.__name__)
def test_nothing_is_written_where_the_output_directory_was(world, unmount):
    """Running and new recordings are parked with what to do; when the directory is back, all is written once."""
    two = Two(world)
    problem = unmount(world.out)
    before = contents(world.out)
    two.other.append(two.other.user("::start\ntwo"), two.other.says("ok"))
    for _ in range(2):
        two.speak()
        world.process()
        assert len(world.parked()) == 2
        assert all(problem in shown for shown in world.parked().values())
        assert "mkdir -p" in world.cli("status")
        assert contents(world.out) == before
    back(world.out)
    two.speak()
    world.process()
    two.assert_whole()
    assert len(world.outputs()) == 2


@pytest.mark.slow
@pytest.mark.fault("output directory missing")
def test_a_recording_waits_for_a_directory_that_the_settings_no_longer_name(world):
    """A running recording keeps its directory: it is parked while that is missing, and is not begun again elsewhere."""
    two = Two(world)
    missing(world.out)
    world.configure(directory=world.home / "notes")
    two.speak()
    two.other.append(two.other.user("::start\ntwo"), two.other.says("ok"))
    world.process()
    [problem] = world.parked().values()
    assert "does not exist" in problem
    assert len(list((world.home / "notes").rglob("*.md"))) == 1
    back(world.out)
    two.speak()
    world.process()
    two.assert_whole()


@pytest.mark.fault("output directory missing")
def test_a_directory_is_started_over_as_status_says(world, monkeypatch):
    """The command that `status` shows makes katod accept an empty directory; the recording says that it continues."""
    monkeypatch.setattr(delivery, "_FIRST_RETRY", 0.01)
    two = Two(world)
    missing(world.out)
    two.speak()
    world.process()
    [problem] = world.parked().values()
    subprocess.run(problem.partition("directory: ")[2].rstrip(")"), shell=True, check=True)
    world.process()
    assert world.parked() == {}
    [path] = world.files()
    assert marks_of(path)[0] == ["mark-00000001-000002."]
    assert "continues here" in path.read_text()


@pytest.mark.fault("output directory missing")
def test_a_project_directory_is_never_created(world):
    """An output in a project whose directory is gone is parked; nothing is created in its place."""
    two = Two(world, "::start ./talk.md")
    missing(world.project)
    for _ in range(2):
        two.speak()
        world.process()
        assert "does not exist" in world.parked()["talk.md"]
        assert not world.project.exists()
    back(world.project)
    world.process()
    two.assert_whole()


@pytest.mark.fault("output directory missing")
def test_an_empty_directory_on_another_device_is_not_taken_for_a_project(tmp_path):
    """Without a marker, an empty root with another device number is a mount point; a deleted file is gone."""
    place = OutputPath(tmp_path / "project", ("talk.md",))
    place.root.mkdir()
    make(place, owner_number("ledger.db"))
    known = append(place, b"one\n")
    place.path.unlink()
    assert detect_change(place, known, lambda _: False) == ("gone", FileFingerprint())
    with pytest.raises(OutputError, match="on another disk than before"):
        detect_change(place, known._replace(dev=known.dev + 1), lambda _: False)
    (place.root / "README.md").touch()
    assert detect_change(place, known._replace(dev=known.dev + 1), lambda _: False) == ("gone", FileFingerprint())


@pytest.mark.fault("output directory missing")
def test_the_pauses_grow_and_the_daemon_takes_up_the_output_by_itself(world):
    """Without a restart, what waits is written when the directory is back."""
    two = Two(world)
    run = InProcess(world)
    empty(world.out)
    two.speak()
    run.turn()
    run.turn(later=1000)
    assert world.status()["parked"][0]["attempts"] == 2
    back(world.out)
    run.turn(later=2000)
    two.speak()
    run.turn()
    run.stop()
    two.assert_whole()


@pytest.mark.slow
@pytest.mark.fault("output directory missing")
@pytest.mark.parametrize("what", ["output", "project"])
def test_a_disk_that_is_unmounted_and_mounted_again(world, what):
    """A real disk: nothing is written into the mount point, and afterwards everything is on the disk, once."""
    root, disk = (world.out if what == "output" else world.project), world.home / "disk"
    root.mkdir(exist_ok=True)
    disk.mkdir()
    session = world.session()
    session.cwd = str(world.project)
    name = "" if what == "output" else " ./talk.md"
    session.append(session.user(f"::start{name}\none"), session.says("mark-00000001-000001."))
    later = world.home / "later"
    later.write_bytes(line(session.says("mark-00000001-000002.")))
    katod = f"{join([*_KATOD, 'run', '--once'])}"
    mount = f"mount --bind {quote(str(disk))}/data {quote(str(root))}"
    script = f"""set -e
        mount -t tmpfs katod {quote(str(disk))} || exit 77
        mkdir {quote(str(disk))}/data
        {mount}
        {katod}
        umount {quote(str(root))}
        cat {quote(str(later))} >> {quote(str(session.path))}
        {katod}
        {join([*_KATOD, "status", "--json"])} > {quote(str(world.home))}/parked.json
        ls -A {quote(str(root))} > {quote(str(world.home))}/left
        {mount}
        {katod}
        cp -r {quote(str(disk))}/data {quote(str(world.home))}/saved"""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    if not shutil.which("unshare"):
        pytest.skip("no unshare (util-linux) here")
    done = subprocess.run(command, env=world.environment, capture_output=True, timeout=60, check=False)
    if done.returncode == 77 or done.stderr.startswith(b"unshare:"):
        pytest.skip(f"no disk can be mounted here: {done.stderr.decode().strip()}")
    assert done.returncode == 0, done.stderr.decode()
    assert "is the disk mounted?" in (world.home / "parked.json").read_text()
    assert (world.home / "left").read_text() == ""
    [path] = (world.home / "saved").rglob("*.md")
    assert marks_of(path)[0] == ["mark-00000001-000001.", "mark-00000001-000002."]


@pytest.mark.slow
@pytest.mark.fault("output directory missing")
def test_a_daemon_waits_for_the_disk(world):
    """A running daemon parks the recording, and continues within its retry when the directory is back."""
    two = Two(world)
    with Live(world) as live:
        empty(world.out)
        two.speak()
        until(world.parked, "the output to be parked")
        assert contents(world.out) == {}
        back(world.out)
        live.until_written("000002.")
        until(lambda: not world.parked(), "nothing to be parked")
    two.assert_whole()


# -- two katods -----------------------------------------------------------------------------------------


class Second:
    """A second katod with a state directory of its own, which follows the same sessions to the same outputs."""

    def __init__(self, world):
        self._world, self._state = world, world.home / "state-2"

    def __enter__(self):
        self._kept = self._world.state, dict(self._world.variables)
        self._world.state = self._state
        self._world.variables["KATOD_STATE_DIR"] = str(self._state)
        return self._world

    def __exit__(self, *_):
        self._world.state, self._world.variables = self._kept


NAMES = pytest.mark.parametrize("name", mostly(("",), ("", " talk.md")), ids=["generated", "named"])


@pytest.mark.fault("two daemons, one output")
@NAMES
def test_an_output_that_another_katod_created_is_not_taken(world, monkeypatch, name):
    """A katod whose first append failed keeps its empty file: a second one, asked for the same output, parks."""
    second = Second(world)
    with second:
        world.process()
    session = world.session()
    session.append(session.user(f"::start{name}\none"), session.says("mark-00000001-000001."))
    with monkeypatch.context() as full:
        full.setattr(delivery, "append", _no_space)
        world.process()
        [path] = world.files()
        assert path.read_bytes() == b""
    with second:
        world.process()
        assert "different file" in str(world.parked())
        assert path.read_bytes() == b""
    world.process()
    assert world.parked() == {}
    world.assert_live_is_batch()
    assert marks_of(path)[0] == ["mark-00000001-000001."]


def _no_space(place, _):
    raise OutputError("cannot be written: No space left on device", path=place.path)


@pytest.mark.slow
@pytest.mark.fault("two daemons, one output")
@NAMES
def test_two_katods_that_create_an_output_at_once(world, monkeypatch, name):
    """Whichever comes between the other's creation and first append, each output is written by one katod alone."""
    second = Second(world)
    with second:
        world.process()
    session = world.session()
    session.append(session.user(f"::start{name}\none"), session.says("mark-00000001-000001."))
    make_output, left = delivery.make, [second]

    def made(place, owner):
        known = make_output(place, owner)
        if left:
            with left.pop():
                assert world.katod("run", "--once").returncode == 0
        return known

    monkeypatch.setattr(delivery, "make", made)
    world.process()
    session.append(session.says("mark-00000001-000002."))
    world.process()
    with second:
        world.process()
    for path in world.files():
        assert marks_of(path)[0] == ["mark-00000001-000001.", "mark-00000001-000002."]
    world.assert_live_is_batch()
