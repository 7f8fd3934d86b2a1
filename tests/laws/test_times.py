"""A time that no calendar or database has costs nothing, whether a file has it or a record."""

import ast
import os
import re
from unittest import mock

import pytest

from tests.modules import modules
from tests.support.inprocess import InProcess
from tests.support.records import says, user

NS = 10**9
# Before 1970, the last second that 64 bits of nanoseconds have and the one after it, and the last that ext4 has.
CHANGED = (-1, -(10**9), 2**63 // NS, 2**63 // NS + 1, 15_032_385_535)
SAID = ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59")
COMMANDS = (
    ["sessions", "--all"], ["sessions", "--all", "--json"], ["status"], ["status", "--json"], ["doctor"],
    ["search", "--all", "nice"], ["search", "--all", "nice", "--json"], ["usage"], ["usage", "--by", "month", "--json"],
    ["verify"], ["show", "latest"], ["export", "--all", "-o", "COPIES"], ["export", "--all", "-o", "COPIES"],
    ["forget", "--yes", "ODD"],
)  # fmt: skip


def assert_all_goes_on(world, odd):
    """Record another session beside an odd one, and run what looks at both."""
    usual = world.session(2)
    usual.say(user("::start usual.md\nhello"), says("nice"))
    world.once()
    assert "nice" in (world.home / "katod/app/usual.md").read_text()
    found = world.cli("sessions", "--all", "--json")
    assert odd.session in found
    for command in COMMANDS:
        meant = {"COPIES": str(world.home / "copies"), "ODD": odd.session}
        run = world.katod(*[meant.get(part, part) for part in command], check=False)
        assert run.returncode == 0 or command == ["doctor"], (command, run.stderr.decode())
        assert b"Traceback" not in run.stderr, command
        assert b"internal error" not in run.stderr + run.stdout, (command, run.stdout)
    world.once()
    assert "unreadable" not in world.cli("status")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", CHANGED)
def test_a_file_may_have_changed_at_any_time(world, seconds):
    """Some file systems have times that no database holds; a broken copy may give a file one of them."""
    world.configure()
    odd = world.session(1)
    odd.say(user("quagga"), says("nice"))
    os.utime(odd.path, ns=(seconds * NS, seconds * NS))
    assert_all_goes_on(world, odd)


@pytest.mark.slow
@pytest.mark.parametrize("time", SAID)
def test_anything_may_have_been_said_at_any_time(world, time):
    """A program that knows no time may write the first one that there is."""
    world.configure()
    odd = world.session(1)
    odd.say(user("quagga"), says("nice"))
    odd.path.write_text(re.sub(r'"timestamp":\s*"[^"]*"', f'"timestamp":"{time}"', odd.path.read_text()))
    assert_all_goes_on(world, odd)


@pytest.mark.form
def test_times_of_files_are_asked_for_in_one_way():
    """`model.changed_ns` bounds them; comparing two of one file needs no bounds."""
    found = {
        module.name
        for module in modules().values()
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr == "st_mtime_ns"
    }
    assert found == {"katod.model", "katod.discover.catalog"}


def test_a_file_from_after_the_last_time_ends_no_daemon(world):
    """It is followed like any other one."""
    world.configure()
    odd = world.session(1)
    with mock.patch.dict(os.environ, world.variables):
        katod = InProcess(world)
        katod.turn()
        odd.say(user("::start odd.md\nhello"), says("nice"))
        os.utime(odd.path, ns=(2**63 + 1, 2**63 + 1))
        katod.turn()
        katod.stop()
    assert "nice" in (world.home / "katod/app/odd.md").read_text()
