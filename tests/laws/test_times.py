"""Whatever time a file or a record has, no command fails, the session is kept, and so are all others."""

import ast
import json
import os
import re
from unittest import mock

import pytest

from tests.modules import modules
from tests.support.inprocess import InProcess
from tests.support.records import Claude, Codex, Gemini, says, user

AGENTS = {maker.agent: maker for maker in (Claude, Codex, Gemini)}
# As `touch -d` and a broken copy leave them: the last but one is what ext4 has of any later one, the last one what is
# there in memory.
CHANGED = [-(2**40), -(2**31), -1, 0, 2**33, 15_032_385_535, 10**12]
WRITTEN = [
    "0001-01-01T00:00:00Z", "0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z", "2026-11-29T23:59:60Z", "+12026-01-01T00:00:00Z", "x", "",
]  # fmt: skip
ZONES = ["UTC", "Asia/Tokyo", "America/Los_Angeles"]


def commands(world, session):
    """Return every command that shows times, or makes something of a session."""
    return [
        ("sessions", "--all", "--json"), ("sessions", "--all"), ("sessions", "--since", "7d"), ("status",),
        ("status", "--json"), ("search", "--all", "wombat"), ("search", "--all", "--since", "2000-01-01", "quagga"),
        ("usage",), ("usage", "--json"), ("rescue",), ("rescue", "--json"), ("show", session), ("handoff", session),
        ("export", "--all", "-o", str(world.home / "c")), ("export", "--all", "-f", "html", "-o", str(world.home / "h")),
        ("keep", session), ("capture", session), ("forget", session, "--yes"),
    ]  # fmt: skip


def all_is_kept(world, maker):
    """Run katod, and everything that people run; check that another session is recorded all the same."""
    other = Claude(world, "00000002-8a53-4c3e-9b5e-0a1d5f8f2c11").say(user("::start\nquagga"), says("yes"))
    world.once()
    [recorded] = world.files()
    assert "quagga" in recorded.read_text()
    for command in commands(world, f"{maker.agent}:{maker.session}"):
        world.cli(*command)
    assert len(list((world.home / "c").rglob("*.md"))) == 2
    maker.say(user("::start later\nand more"), says("yes"))
    other.say(user("that is all"))
    world.once()
    assert "later.md" in {path.name for path in world.files()}
    assert "that is all" in recorded.read_text()


@pytest.mark.parametrize("changed", CHANGED)
def test_a_file_may_have_changed_in_any_year(world, changed):
    """Nothing of that is lost, and a session goes on as any other."""
    world.configure(rescue=True)
    maker = Claude(world).say(user("wombat"), says("yes"))
    os.utime(maker.path, (changed, changed))
    all_is_kept(world, maker)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_record_may_have_been_written_in_any_year(world, monkeypatch, agent, written, zone):
    """Also if the calendar ends with it, in one zone or another."""
    monkeypatch.setenv("TZ", zone)
    world.configure(rescue=True, time_zone=zone)
    maker = AGENTS[agent](world).say(user("wombat"), says("yes"))
    rewrite(maker, written)
    all_is_kept(world, maker)


def rewrite(maker, written):
    """Give all records of a session a time."""
    pattern = r'("(?:timestamp|lastUpdated|startTime)":\s*)"[^"]*"'
    maker.path.write_text(re.sub(pattern, lambda found: found[1] + json.dumps(written), maker.path.read_text()))


@pytest.mark.whole
@pytest.mark.parametrize("written", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"])
def test_a_session_of_any_year_is_saved_from_deletion(world, written):
    """An agent that goes by what is written may delete it at its next start."""
    world.configure(rescue=True)
    maker = Gemini(world).say(user("wombat"), says("yes"))
    rewrite(maker, written)
    os.utime(maker.path, (1_700_000_000, 1_700_000_000))
    world.once()
    [row] = json.loads(world.cli("rescue", "--json"))
    assert row["session"] in maker.session


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
