"""What can be seen of the restrictions of a process."""

import pytest

from katod.service import sandbox as module
from katod.service.sandbox import Sandbox, sandbox


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Return the folder of process 7, which sees the same mounts as this one."""
    monkeypatch.setattr(module, "_PROC", tmp_path)
    for name in ("self", "7"):
        (tmp_path / name / "ns").mkdir(parents=True)
        (tmp_path / name / "ns" / "mnt").symlink_to("mnt:[1]")
    (tmp_path / "7" / "status").write_text("Name:\tkatod\nNoNewPrivs:\t1\nSeccomp:\t2\n")
    (tmp_path / "7" / "mountinfo").write_text("1 0 0:1 / / ro,relatime - ext4 /dev/a rw\n")
    return tmp_path / "7"


def apart(process):
    """Give the process mounts of its own."""
    (process / "ns" / "mnt").unlink()
    (process / "ns" / "mnt").symlink_to("mnt:[2]")


def test_restrictions_take_effect(process):
    """No new privileges, filtered calls, and a read-only root in mounts of its own."""
    apart(process)
    assert sandbox(7) == Sandbox(hardened=True, confined=True)


@pytest.mark.parametrize("line", ["NoNewPrivs:\t0\nSeccomp:\t2\n", "NoNewPrivs:\t1\nSeccomp:\t0\n"])
def test_hardening_needs_both(process, line):
    """Without one of them, the unit's restrictions were ignored."""
    (process / "status").write_text(line)
    assert sandbox(7).hardened is False


def test_the_same_mounts_are_no_confinement(process):
    """Even if the root is read-only for everybody."""
    assert sandbox(7).confined is False


def test_a_writable_root_is_no_confinement(process):
    """The last mount of the root counts."""
    apart(process)
    with (process / "mountinfo").open("a") as file:
        file.write("2 0 0:1 / / rw,relatime - ext4 /dev/a rw\nbroken\n")
    assert sandbox(7).confined is False


def test_what_cannot_be_seen_is_not_said(process):
    """The process ended, or its kernel does not say."""
    assert sandbox(8) == Sandbox()
    (process / "status").write_text("Name:\tkatod\n")
    assert sandbox(7).hardened is None
