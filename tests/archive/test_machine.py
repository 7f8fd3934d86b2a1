"""Whose folder it is: a name that a person gives, and an id that tells two machines of one name apart."""

import pytest

from katod.archive.folder import opened
from katod.archive.machine import NAME, Machine, known_id, this_machine
from katod.archive.manifest import MANIFEST, Manifest
from katod.errors import KatodError, OutputError
from tests.archive.test_folder import publish

LAPTOP = Machine("laptop", "a" * 32)


def test_a_machine_keeps_its_id_whatever_it_is_called(tmp_path):
    """Made once, in a private file; without a name, there is no need of one."""
    assert this_machine("", tmp_path) == Machine()
    assert known_id(tmp_path) == ""
    first = this_machine("laptop", tmp_path)
    assert this_machine("old-laptop", tmp_path) == Machine("old-laptop", first.id)
    assert known_id(tmp_path) == first.id != this_machine("laptop", tmp_path / "other").id
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_a_damaged_id_is_replaced_and_a_link_is_refused(tmp_path):
    """What is behind a link is not katod's."""
    (tmp_path / NAME).write_text("not an id\n")
    assert len(this_machine("laptop", tmp_path).id) == 32
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).symlink_to("/etc/hostname")
    with pytest.raises(KatodError, match="symbolic link"):
        this_machine("laptop", tmp_path)
    assert known_id(tmp_path) == ""


def test_the_list_says_whose_folder_it_is(tmp_path):
    """From the first export on, and after the list was rewritten; a folder of nobody's has no name in it."""
    with opened(tmp_path / "laptop", LAPTOP) as folder:
        publish(folder, "a.md", b"one")
        folder.compact()
    assert Manifest.read((tmp_path / "laptop" / MANIFEST).read_bytes()).machine == LAPTOP
    with opened(tmp_path / "all", Machine()) as folder:
        publish(folder, "a.md", b"one")
    assert b"machine" not in (tmp_path / "all" / MANIFEST).read_bytes()


def test_a_machine_never_writes_to_the_part_of_another(tmp_path):
    """It is told, and nothing is changed; a machine that was renamed may go on."""
    with opened(tmp_path, LAPTOP) as folder:
        publish(folder, "a.md", b"one")
    before = (tmp_path / MANIFEST).read_bytes()
    for other in (Machine("laptop", "b" * 32), Machine()):
        with pytest.raises(OutputError, match="is the part of the machine laptop") as caught, opened(tmp_path, other):
            pass
        assert "archive.folders" in caught.value.hint
    assert (tmp_path / MANIFEST).read_bytes() == before
    with opened(tmp_path, LAPTOP._replace(name="desktop")) as folder:
        folder.compact()
    assert Manifest.read((tmp_path / MANIFEST).read_bytes()).machine.name == "desktop"


def test_no_two_machines_have_a_folder_of_one_name(tmp_path):
    """Whether they have met or not."""
    one, two = (this_machine("laptop", tmp_path / name) for name in "ab")
    assert one.folder != two.folder
    assert one.folder == f"laptop-{one.id[:6]}"
    assert Machine().folder == ""


def test_a_folder_of_exports_from_before_becomes_that_of_its_machine(tmp_path):
    """Its list does not say whose it is."""
    with opened(tmp_path) as folder:
        publish(folder, "a.md", b"one")
    with opened(tmp_path, LAPTOP) as folder:
        assert folder.manifest.entries
        folder.compact()
    assert Manifest.read((tmp_path / MANIFEST).read_bytes()).machine == LAPTOP
