"""Watch limits, file systems, and the clock, on machines made of files."""

import os
import sys

import pytest

from katod.doctor import machine
from katod.doctor.machine import examine_clock, examine_watching
from katod.store.rows import RootRow
from tests.support.parts import memory_ledger

INOTIFY = "pos:\t0\nflags:\t02000000\ninotify wd:1 ino:1\ninotify wd:2 ino:2\n"


@pytest.fixture
def proc(home, monkeypatch, tmp_path):
    """Return a /proc with limits, and one process of this user that has two watches."""
    folder = tmp_path / "proc"
    monkeypatch.setattr(machine, "_PROC", folder)
    monkeypatch.setattr(sys, "platform", "linux")
    (folder / "sys/fs/inotify").mkdir(parents=True)
    limits(folder, watches=100, instances=10)
    (folder / "self").mkdir()
    process(folder, 7)
    return folder


def limits(proc, *, watches, instances):
    (proc / "sys/fs/inotify/max_user_watches").write_text(f"{watches}\n")
    (proc / "sys/fs/inotify/max_user_instances").write_text(f"{instances}\n")


def process(proc, number):
    """Add a process with an inotify instance."""
    for name in ("fd", "fdinfo"):
        (proc / str(number) / name).mkdir(parents=True)
    (proc / str(number) / "fd" / "3").symlink_to("anon_inode:inotify")
    (proc / str(number) / "fd" / "4").symlink_to("/dev/null")
    (proc / str(number) / "fdinfo" / "3").write_text(INOTIFY)


def test_there_are_enough_watches(home, proc):
    """Directories are counted, and what other programs use; those of katod itself are not counted twice."""
    home.claude().append("")
    found = home.examined(examine_watching)
    assert found["watching.watches"].data == {"needed": 3, "limit": 100, "used": 2}
    assert {finding.level for finding in found.values()} == {"ok"}


def test_its_own_watches_do_not_count(home, proc, monkeypatch):
    """The daemon that runs has them already."""
    monkeypatch.setattr(machine, "holder", lambda _: 7)
    assert home.examined(examine_watching)["watching.watches"].data["used"] == 0


def test_too_few_watches_are_a_problem(home, proc):
    """The advice has a number that is enough."""
    home.claude().append("")
    limits(proc, watches=4, instances=1)
    found = home.examined(examine_watching)
    assert found["watching.watches"].level == "problem"
    assert "3 directories to watch, only 2 of 4 inotify watches are free" in found["watching.watches"].text
    assert "fs.inotify.max_user_watches=128 " in found["watching.watches"].advice
    assert found["watching.instances"].data == {"limit": 1, "used": 1}


def test_a_machine_without_limits_is_not_asked(home, proc, monkeypatch):
    """As macOS, or a container that hides them."""
    limits(proc, watches="none", instances="none")
    assert home.examined(examine_watching) == {}
    monkeypatch.setattr(sys, "platform", "darwin")
    limits(proc, watches=1, instances=1)
    assert home.examined(examine_watching) == {}


def test_events_may_be_switched_off(home, proc):
    """Then limits do not matter."""
    home.configure(use_events=False)
    assert list(home.examined(examine_watching)) == ["watching.off"]


def test_a_network_file_system_is_named(home, proc):
    """It may not report what other machines change."""
    home.claude().append("")
    rows = ["1 0 0:1 / / rw - ext4 /dev/a rw", f"2 1 0:2 / {home.home} rw shared:1 - nfs4 server:/ rw", "broken", "-"]
    (proc / "self/mountinfo").write_text("\n".join(rows))
    assert home.examined(examine_watching)["watching.remote"].data["filesystem"] == "nfs4"


# -- the clock ------------------------------------------------------------------------------------


def test_a_clock_that_is_right_is_fine(home):
    """With sessions and sweeps in the past."""
    home.aged(1, 1)
    assert home.examined(examine_clock)["clock.right"].level == "ok"


def test_sessions_from_the_future_are_a_warning(home):
    """Counted, with how far they are ahead."""
    home.aged(1, -2.01)
    finding = home.examined(examine_clock)["clock.future"]
    assert (finding.level, finding.data) == ("warning", {"sessions": 1})
    assert finding.text == "1 session changed in the future, by up to 2 days"


def test_a_clock_behind_the_last_sweep_is_a_problem(home):
    """Commands may count as history until it is right again."""
    ledger = memory_ledger()
    case = home.case(ledger=ledger)
    ledger.save_root(RootRow("/x", "claude", case.now_ns + 90 * 60 * 10**9))
    [finding] = examine_clock(case)
    assert (finding.check, finding.level) == ("clock.behind", "problem")
    assert "90 minutes behind" in finding.text


def test_descriptors_that_vanish_are_not_counted(home, proc):
    """Processes end while they are looked at."""
    (proc / "7" / "fdinfo" / "3").unlink()
    (proc / "8").mkdir()
    assert machine._used(0) == (1, 0)
    assert os.getpid() > 0
