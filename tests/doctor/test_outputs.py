"""The output directory: writable, private, the right one, and not synchronised."""

import errno
import grp
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from katod.doctor import outputs
from katod.doctor.outputs import examine, lost_markers, seen_by_others, synced_by, write_markers
from katod.errors import OutputError, advice_on
from katod.model import Options, Range
from katod.store.rows import OutputRow
from tests.looping import each
from tests.support.parts import memory_ledger

MARKER = f".katod-{'0123456789abcdef'}"


def ledger_with(*rows):
    """Return a ledger with outputs: root, name, marker, and whether each is being recorded."""
    ledger = memory_ledger()
    for root, name, marker, is_open in rows:
        ranges = (Range("a", end="" if is_open else "b"),)
        row = OutputRow(0, 1, root, root / name, "markdown", 1, Options(), {}, made=True, marker=marker, ranges=ranges)
        ledger.save_output(ledger.add_output(row))
    return ledger


@pytest.fixture
def reachable(monkeypatch):
    """Let every folder above those of the test be open to others, and no group be private."""
    monkeypatch.setattr(outputs, "_is_private", lambda _: False)
    mode = outputs._mode
    monkeypatch.setattr(outputs, "_mode", lambda path: 0o755 if "home" not in path.parts[:-1] else mode(path))


def test_a_directory_that_does_not_exist_yet_is_fine(home):
    """Katod creates it, if it can."""
    finding = home.examined(examine)["output.writable"]
    assert (finding.level, finding.text) == ("ok", f"{home.out} is created when the first recording starts")


def test_a_directory_of_an_agent_or_of_the_state_is_a_problem(home):
    """Every command is refused there."""
    assert "output.allowed" not in home.examined(examine)
    for place in (home.home / ".claude" / "katod", home.state / "out"):
        home.configure(directory=place)
        finding = home.examined(examine)["output.allowed"]
        assert finding.text.startswith(f"nothing is written to {place}: the path is in an agent's directory")
        assert (finding.level, finding.advice) == ("problem", "set `output.directory` to another place")


def test_a_directory_that_cannot_be_created_is_a_problem(home, monkeypatch):
    """The folder that is not writable is named."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    finding = home.examined(examine)["output.writable"]
    assert (finding.level, finding.text) == ("problem", f"{home.out} cannot be created: {home.home} is not writable")


def test_a_file_in_its_place_is_a_problem(home):
    """Nothing could be written below it."""
    home.out.write_text("")
    assert home.examined(examine)["output.writable"].text == f"{home.out} is not a directory"


def test_a_directory_that_is_not_writable_is_a_problem(home, monkeypatch):
    """For lack of permission, or because of its file system; what to do is what `katod status` says of a recording."""
    home.out.mkdir()
    assert home.examined(examine)["output.writable"].level == "ok"
    with monkeypatch.context() as now:
        now.setattr(os, "access", lambda *_: False)
        found = home.examined(examine)["output.writable"]
        assert "not writable by you" in found.text
        assert found.advice == f"{advice_on(errno.EACCES)}: ls -ld {home.out}"
    system = os.statvfs(home.out)
    values = {name: getattr(system, name) for name in dir(system) if name.startswith("f_")}
    cases = (
        ({"f_flag": os.ST_RDONLY}, "read-only", errno.EROFS),
        ({"f_bavail": 1}, "of free space", errno.ENOSPC),
    )
    for changed, said, number in cases:
        monkeypatch.setattr(os, "statvfs", lambda _, changed=changed: SimpleNamespace(**(values | changed)))
        found = home.examined(examine)["output.writable"]
        assert said in found.text
        assert found.advice.startswith(f"{advice_on(number)}: recordings wait ")


def test_a_directory_that_others_can_list_is_a_warning(home, reachable):
    """The transcripts in it are private: only their names are seen."""
    home.out.mkdir(mode=0o700)
    assert home.examined(examine)["output.private"].level == "ok"
    home.out.chmod(0o755)
    finding = home.examined(examine)["output.private"]
    assert (finding.level, finding.advice) == ("warning", f"chmod go= {home.out}")
    assert finding.text == f"other users can see the names of the transcripts in {home.out} (mode 755)"


def test_transcripts_that_others_can_read_are_counted(home, reachable):
    """An editor may have saved them with other modes."""
    home.out.mkdir()
    home.out.chmod(0o755)
    for name, mode in (("a.md", 0o644), ("b.md", 0o600), ("c.md", 0o640)):
        (home.out / name).touch()
        (home.out / name).chmod(mode)
    finding = home.examined(examine, ledger_with(*((home.out, f"{name}.md", "", True) for name in "abc")))[
        "output.private"
    ]
    assert (finding.level, finding.data["files"], finding.advice) == ("warning", 2, f"chmod -R go= {home.out}")


def test_what_is_in_a_closed_folder_is_private(tmp_path, monkeypatch):
    """Whatever its own mode is: nobody gets there; the group needs a way through, too."""
    monkeypatch.setattr(outputs, "_is_private", lambda _: False)
    closed = tmp_path / "closed"
    (closed / "open").mkdir(parents=True)
    (closed / "open").chmod(0o777)
    closed.chmod(0o700)
    assert seen_by_others(closed / "open") == 0


def test_a_group_of_one_is_no_other(tmp_path, monkeypatch):
    """Many systems give each user a group of their own."""
    status = os.stat(tmp_path)
    name = grp.getgrgid(status.st_gid).gr_name
    monkeypatch.setattr(outputs.pwd, "getpwuid", lambda _: SimpleNamespace(pw_name=name))
    for members, private in (([], True), ([name], True), (["another"], False)):
        monkeypatch.setattr(outputs.grp, "getgrgid", lambda _, m=members: SimpleNamespace(gr_name=name, gr_mem=m))
        assert outputs._is_private(status) is private
    monkeypatch.setattr(outputs.pwd, "getpwuid", lambda _: SimpleNamespace(pw_name="somebody"))
    assert not outputs._is_private(status)


# -- the marker -----------------------------------------------------------------------------------


def test_a_marker_that_is_there_is_fine(home):
    """It is the directory that katod created."""
    home.out.mkdir()
    (home.out / MARKER).touch()
    assert home.examined(examine, ledger_with((home.out, "a.md", MARKER, True)))["output.marker"].level == "ok"


@pytest.mark.parametrize("there", [True, False])
def test_a_marker_that_is_missing_is_a_problem(home, there):
    """Recordings wait; the advice names the disk and the option, whether or not the directory is there."""
    if there:
        home.out.mkdir()
    found = home.examined(examine, ledger_with((home.out, "a.md", MARKER, False)))
    assert found["output.marker"].level == "problem"
    assert "mount its disk" in found["output.marker"].advice
    assert found["output.marker"].advice.endswith("`katod doctor --write-marker`")
    assert ("output.writable" in found) is there


def test_other_directories_count_while_they_are_used(home, tmp_path):
    """A recording that ended elsewhere needs no marker; one that is running there does."""
    old, used = tmp_path / "old", tmp_path / "used"
    home.out.mkdir()
    ledger = ledger_with((old, "a.md", MARKER, False), (used, "b.md", MARKER, True), (home.out, "c.md", "", True))
    assert lost_markers(home.case(ledger=ledger)) == [(used, MARKER)]


def test_lost_markers_are_written_on_request(home):
    """All of them, where the directory exists; nothing else is changed."""
    ledger = ledger_with((home.out, "a.md", MARKER, True))
    with pytest.raises(OutputError):
        write_markers(home.case(ledger=ledger))
    home.out.mkdir()
    assert write_markers(home.case(ledger=ledger)) == [home.out / MARKER]
    assert os.listdir(home.out) == [MARKER]
    assert write_markers(home.case(ledger=ledger)) == []


# -- synchronised ---------------------------------------------------------------------------------


@each(
    ("folder", "inside", "service"),
    [
        ("Dropbox", "", "Dropbox"),
        ("Dropbox (Personal)", "", "Dropbox"),
        ("box", ".dropbox.cache", "Dropbox"),
        ("OneDrive", "", "OneDrive"),
        ("OneDrive - Example", "", "OneDrive"),
        ("Library/Mobile Documents", "", "iCloud"),
        ("Library/CloudStorage/GoogleDrive-me@example.org", "", "GoogleDrive"),
        ("Sync", ".stfolder", "Syncthing"),
        ("cloud", "._sync_0123456789ab.db", "Nextcloud"),
        ("cloud", ".nextcloudsync.log", "Nextcloud"),
        ("Nextcloud", "", "Nextcloud"),
        (".dropbox", "", ""),
        ("notes", ".dropbox", ""),
        ("notes", "OneDrive", ""),
        ("dropboxes", "", ""),
    ],
)
def test_a_synchronised_directory_is_recognised(tmp_path, folder, inside, service):
    """By what its program leaves in it or above it, or by its name; also through a link."""
    top = tmp_path / str(abs(hash((folder, inside)))) / folder
    (top / "katod").mkdir(parents=True)
    if inside:
        (top / inside).touch()
    assert synced_by(top / "katod") == service
    link = top.parent / "link"
    link.symlink_to(top / "katod")
    assert synced_by(link) == service
    assert synced_by(top / "katod" / "later") == service


def test_a_synchronised_directory_is_a_warning(home):
    """The advice says what that means."""
    home.out = home.home / "Dropbox" / "katod"
    home.configure(directory=home.out)
    finding = home.examined(examine)["output.synced"]
    assert (finding.level, finding.data["service"]) == ("warning", "Dropbox")
    assert "leave this machine" in finding.advice


def test_a_folder_that_cannot_be_listed_is_not_looked_into(monkeypatch):
    """Its name may say enough."""

    def closed(_):
        raise PermissionError

    monkeypatch.setattr(os, "listdir", closed)
    assert synced_by(Path("/x/Dropbox/katod")) == "Dropbox"
