"""What a run has to do."""

import pytest

from katod.archive.excluded import Exclusion
from katod.archive.machine import Machine
from katod.archive.manifest import Entry
from katod.archive.update import Result
from katod.cli.context import Context
from katod.config import load
from katod.record.policy import Policy
from katod.tables.address import Partition
from katod.tables.dataset import opened_set
from katod.tables.plan import planned
from katod.tables.schema import EVENTS, TABLES, USAGE
from katod.write.whole import FileStamp
from tests.support.records import Claude
from tests.support.records.base import user

MONTH = Partition("claude", "2026-02")
STAMP = FileStamp(1, 2)


class Files:
    """A place whose files have the stamps that a test gives them."""

    def __init__(self, stamps):
        self.stamps = stamps

    def stamp(self, name):
        return self.stamps.get(name.split("/")[0])


@pytest.fixture
def plan(world):
    """Return a function that plans; what is planned is noted as done unless that is not wanted."""

    def run(place=None, *, note=True):
        policy, result = Policy.of(load(world.config), ()), Result()
        with opened_set(world.state, "/place", Machine("local", "a" * 32)) as data:
            exclusion = Exclusion(data.folder.manifest, policy)
            plan = planned(data, place, Context(None).found().values(), policy.options("jsonl"), exclusion, result)
            for task in plan.tasks if note else ():
                data.note(Entry(task.slot, task.made, task.sources, str(MONTH), said="1:", cwd="/home/me/app"))
            for table in TABLES if plan.tasks and note else ():
                data.end(MONTH, table, STAMP)
        return plan, dict(result.counts)

    return run


def test_only_what_changed_is_read(world, plan):
    """Parents before their sub-agents, the sessions of a time together."""
    parent = world.session(2).say(user("words"))
    Claude(world, parent.session, subagent="a1").say(user("task"))
    world.session(1).say(user("words"))
    first, counts = plan()
    keys = [str(task.found.key) for task in first.tasks]
    assert keys.index(f"claude:{parent.session}/a1") == keys.index(f"claude:{parent.session}") + 1
    assert (len(keys), counts) == (3, {})
    again, counts = plan()
    assert again.is_empty
    assert counts == {"unchanged": 3}
    parent.say(user("more"))
    grown, counts = plan()
    assert [task.found.key.id for task in grown.tasks] == [parent.session]
    assert counts == {"unchanged": 2}


def test_a_file_that_is_not_as_it_was_left_has_its_month_read(world, plan):
    """That of the usage is written without reading a session; a bucket is not asked."""
    world.session(1).say(user("words"))
    plan()
    stamps = {table.name: STAMP for table in TABLES}
    assert plan(Files(stamps))[0].is_empty
    changed, _ = plan(Files(stamps | {EVENTS.name: FileStamp(1, 3)}), note=False)
    assert (changed.stale, len(changed.tasks)) == ({MONTH}, 1)
    gone, _ = plan(Files(stamps | {USAGE.name: None}), note=False)
    assert (gone.needs_usage, gone.tasks, gone.stale) == (True, [], set())
    assert plan(None)[0].is_empty


def test_the_rows_of_excluded_projects_go_also_if_their_sessions_are_gone(world, plan):
    """Each is counted once, if it is there."""
    one, other = (world.session(number).say(user("words")) for number in (1, 2))
    plan()
    other.path.unlink()
    world.configure(exclude=["/home/me/app"])
    found, counts = plan(note=False)
    assert {entry.slot[0].id for entry in found.without} == {one.session, other.session}
    assert (found.tasks, counts) == ([], {"excluded": 1})
