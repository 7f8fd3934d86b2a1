"""What the ledger remembers, and that asking it changes nothing."""

import inspect
import sqlite3
from pathlib import Path

import pytest

from katod.discover.catalog import Source
from katod.errors import LedgerError
from katod.log import EventLog
from katod.model import Cursor, Identity, Options, Range, SessionKey, Stat
from katod.store.ledger import Ledger, id_hash
from katod.store.rows import OutputRow, RefusalRow, RootRow, SeenRow, SourceRow
from tests.looping import each
from tests.support.parts import memory_ledger

KEY, OTHER = SessionKey("claude", "s"), SessionKey("claude", "s", "agent")


@pytest.fixture
def ledger() -> Ledger:
    return memory_ledger()


def source(path: str = "/s.jsonl", session: int = 1) -> SourceRow:
    return SourceRow(0, session, path, Identity(KEY), Stat(1, 2, 3, 4))


def output(name: str = "n.md", session: int = 1, *ranges: Range) -> OutputRow:
    row = OutputRow(0, session, Path("/out"), Path("/out", name), "markdown", 1, Options(), {})
    row.ranges = list(ranges)
    return row


def stored(ledger: Ledger, *ranges: Range) -> OutputRow:
    row = ledger.add_output(output("n.md", 1, *ranges))
    ledger.save_output(row)
    return row


# -- look-ups ----------------------------------------------------------------------------------------

LOOK_UPS = {
    "roots": (), "session": (1,), "sessions": (), "find_session": (SessionKey("codex", "unknown"),),
    "sources": (SourceRow,), "sources_of": (1,), "outputs": (), "output_at": (Path("/out/unknown"),),
    "busy_sessions": (), "place": (1, 7), "places": (1,), "is_applied": ("unknown",), "refusals": (),
    "project_folder": ("app", "/home/other/app"), "read_all": (),
}  # fmt: skip
WRITERS = {
    "save_root", "add_session", "save_session", "add_near_misses", "add_source", "save_source", "add_output",
    "save_output", "add_seen", "add_applied", "add_refusal", "add_project",
}  # fmt: skip


def test_a_look_up_never_writes(ledger):
    """Whatever is asked, known or not, no row changes."""
    ledger.add_session(KEY)
    ledger.add_source(source())
    stored(ledger, Range("a"))
    ledger.add_project("app", "/home/me/app")
    before = ledger.db.total_changes
    for name, arguments in LOOK_UPS.items():
        found = getattr(ledger, name)(*arguments)
        if inspect.isgenerator(found):
            list(found)
    assert ledger.db.total_changes == before


def test_every_method_is_known_to_write_or_not():
    """A new method of the ledger belongs into one of the two lists above."""
    methods = {name for name, _ in inspect.getmembers(Ledger, inspect.isfunction) if name[0] != "_"}
    assert methods - {"close", "transaction"} == LOOK_UPS.keys() | WRITERS


# -- roots and sessions ------------------------------------------------------------------------------


def test_a_root_has_the_time_of_its_last_sweep(ledger):
    """Stored again, it is not stored twice."""
    ledger.save_root(RootRow("/r", "claude", 5))
    ledger.save_root(RootRow("/r", "claude", 7))
    ledger.save_root(RootRow("/r/a/", "claude", 6))
    assert ledger.roots() == {"/r": 7, "/r/a/": 6}


def test_a_session_is_found_by_its_whole_key(ledger):
    """A sub-agent is a session of its own."""
    added = ledger.add_session(KEY)
    assert ledger.find_session(KEY) == added == ledger.session(added.id)
    assert ledger.find_session(OTHER) is None
    ledger.add_session(OTHER)
    assert [row.key for row in ledger.sessions()] == [KEY, OTHER]


def test_a_session_is_stored_without_its_near_misses(ledger):
    """They are only ever added to: a row that was loaded before does not take any back."""
    row = ledger.add_session(KEY)
    ledger.add_near_misses({row.id: 2})
    row.cwd, row.auto, row.metadata, row.near_misses = "/app", "off", {"title": "t"}, 0
    ledger.save_session(row)
    ledger.add_near_misses({row.id: 1})
    found = ledger.session(row.id)
    assert (found.cwd, found.auto, found.metadata, found.near_misses) == ("/app", "off", {"title": "t"}, 3)


# -- sources -----------------------------------------------------------------------------------------


def test_all_sources_come_without_their_states(ledger):
    """States are large, and loaded only for a session that is translated."""
    for path in ("/a", "/b"):
        row = source(path)
        row.state = {"calls": {}}
        ledger.add_source(row)
        assert row.id
    assert [(row.path, row.state) for row in ledger.sources(SourceRow)] == [("/a", None), ("/b", None)]
    assert [row.state for row in ledger.sources_of(1)] == [{"calls": {}}] * 2


def test_sources_come_as_the_class_that_is_asked_for(ledger):
    """The catalog keeps more of a source than its row."""
    ledger.add_source(source())
    [found] = ledger.sources(Source)
    assert (type(found), found.due) == (Source, None)


def test_a_source_is_stored_with_its_cursor(ledger):
    """The next start reads on from there."""
    row = source()
    ledger.add_source(row)
    row.cursor, row.path, row.gone = Cursor(7), "/moved", True
    ledger.save_source(row)
    [found] = ledger.sources_of(1)
    assert (found.cursor, found.path, found.gone) == (Cursor(7), "/moved", True)
    assert ledger.sources_of(2) == []


# -- outputs -----------------------------------------------------------------------------------------


def test_only_the_last_range_changes_and_none_is_stored_twice(ledger):
    """A range that is ended, and one that follows it, are stored in their order."""
    row = stored(ledger, Range("a"))
    row.ranges[0].end = "b"
    row.ranges.append(Range("c", switches=(("tools", True),)))
    ledger.save_output(row)
    ledger.save_output(row)
    [found] = ledger.outputs()
    assert found.ranges == row.ranges
    assert [(item.start, item.end, item.id, item.output) for item in found.ranges] == [
        ("a", "b", 1, 1),
        ("c", "", 2, 1),
    ]


def test_outputs_are_found_by_session_and_by_path(ledger):
    """By path without their ranges: whoever looks for a free name needs none."""
    stored(ledger, Range("a"))
    ledger.add_output(output("other.md", 2))
    assert [row.path.name for row in ledger.outputs()] == ["n.md", "other.md"]
    assert [row.path.name for row in ledger.outputs(2)] == ["other.md"]
    assert ledger.output_at(Path("/out/n.md")).session == 1
    assert ledger.output_at(Path("/out/unknown.md")) is None


def test_a_path_belongs_to_one_output(ledger):
    """Two sessions never write to one file, whatever the controller thinks."""
    ledger.add_output(output("n.md", 1))
    with pytest.raises(sqlite3.IntegrityError):
        ledger.add_output(output("n.md", 2))


@each(
    ("ranges", "fields", "busy"),
    [
        ([], {}, False),
        ([Range("a", end="b")], {}, False),
        ([Range("a", end="b"), Range("c")], {}, True),
        ([Range("a", end="b")], {"intent": b"x"}, True),
        ([Range("a", end="b")], {"intent": b""}, True),
        ([Range("a", end="b")], {"behind": {}}, True),
    ],
)
def test_a_session_is_busy_while_anything_is_to_be_written(ranges, fields, busy):
    """An open range, an open intent, or an output with its own stream."""
    ledger = memory_ledger()
    ledger.add_session(KEY)
    row = ledger.add_output(output("n.md", 1, *ranges))
    for name, value in fields.items():
        setattr(row, name, value)
    ledger.save_output(row)
    assert ledger.busy_sessions() == [1] * busy


@pytest.mark.parametrize(
    ("auto", "busy"), [("", False), ("wanted", True), ("yes", False), ("no", False), ("off", False)]
)
def test_a_session_that_may_be_auto_recorded_is_busy(ledger, auto, busy):
    """It is translated until its project is known."""
    row = ledger.add_session(KEY)
    row.auto = auto
    ledger.save_session(row)
    assert ledger.busy_sessions() == [row.id] * busy


# -- events, commands, refusals, projects ------------------------------------------------------------


def test_an_event_has_the_place_where_it_was_first_seen(ledger):
    """One that is noted twice keeps the first place; each session has its own."""
    ledger.add_seen([SeenRow(1, 70, 5, 3), SeenRow(1, 70, 2, 4), SeenRow(1, 80, 3, 3), SeenRow(2, 70, 0, 9)])
    ledger.add_seen([SeenRow(1, 80, 3, 99)])
    assert ledger.place(1, 70) == (2, 4)
    assert ledger.place(1, 80) == (3, 3)
    assert ledger.place(3, 70) is None
    assert ledger.places(1) == {70: [2, 5], 80: [3]}


def test_a_command_is_applied_in_all_sessions_for_ever(ledger):
    """Applying it again changes nothing."""
    ledger.add_applied(["one", "two"])
    ledger.add_applied(["two"])
    assert [ledger.is_applied(key) for key in ("one", "two", "three")] == [True, True, False]


def test_an_id_is_kept_as_eight_bytes():
    """The same ones in every process and version: the ledger would know nothing again otherwise."""
    assert id_hash("claude:s:1") == 4752963542131453608
    assert -(2**63) <= id_hash("é") < 2**63  # SQLite has no larger integers


def test_refusals_are_kept_newest_first_and_not_for_ever(ledger):
    """Two hundred are kept; ten are shown."""
    for number in range(205):
        ledger.add_refusal(RefusalRow(0, KEY, str(number), "start", "why"))
    assert [row.time for row in ledger.refusals()] == [str(204 - n) for n in range(10)]
    assert len(ledger.refusals(999)) == 200


def test_a_second_project_of_a_name_gets_a_hash(ledger):
    """The first one keeps its name, and each folder stays as it is once it is given."""
    ledger.add_project(ledger.project_folder("app", "/a/app"), "/a/app")
    second = ledger.project_folder("app", "/b/app")
    assert second.startswith("app-")
    assert second == ledger.project_folder("app", "/b/app") != ledger.project_folder("app", "/c/app")
    ledger.add_project(second, "/b/app")
    ledger.add_project("renamed", "/a/app")
    assert (ledger.project_folder("app", "/a/app"), ledger.project_folder("app", "/b/app")) == ("app", second)


def test_a_project_that_was_only_looked_up_has_no_folder_yet(ledger):
    """Its name is free for the first one that makes an output."""
    assert [ledger.project_folder("app", f"/{n}/app") for n in range(2)] == ["app", "app"]


# -- transactions ------------------------------------------------------------------------------------


class Failed(Exception):
    pass


def test_a_transaction_that_fails_leaves_nothing(ledger):
    """All of it is rolled back, and the error goes on."""

    def keys():
        ledger.add_session(KEY)
        yield "one"
        raise Failed

    with pytest.raises(Failed), ledger.transaction():
        ledger.add_applied(keys())
    assert ledger.sessions() == []
    assert not ledger.is_applied("one")
    with ledger.transaction():
        ledger.add_session(KEY)
    assert len(ledger.sessions()) == 1


def test_a_full_disk_is_an_error_of_the_ledger(ledger):
    """It is said so, and what was stored before is still there."""
    ledger.add_session(KEY)
    ledger.db.execute(f"PRAGMA max_page_count = {ledger.db.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(LedgerError, match="cannot be written") as raised, ledger.transaction():
        ledger.add_applied(map(str, range(5000)))
    assert raised.value.hint == "is the disk full?"
    assert not ledger.is_applied("0")
    assert len(ledger.sessions()) == 1


def test_damage_during_a_transaction_is_not_called_a_full_disk(ledger):
    """A table that is missing has nothing to do with the disk."""
    ledger.db.execute("DROP TABLE applied")
    with pytest.raises(LedgerError) as raised, ledger.transaction():
        ledger.add_applied(["one"])
    assert raised.value.hint == ""


def test_a_mistake_of_katod_is_not_called_an_error_of_the_disk(ledger):
    """A row that may not be there twice is raised as what it is."""
    ledger.add_session(KEY)
    with pytest.raises(sqlite3.IntegrityError), ledger.transaction():
        ledger.add_session(KEY)


def test_what_is_committed_is_there_when_it_is_opened_again(tmp_path):
    """One writes; others read meanwhile, and find nothing where there is no ledger."""
    assert Ledger.read(tmp_path) is None
    ledger = Ledger.open(tmp_path, EventLog())
    reader = Ledger.read(tmp_path)
    with ledger.transaction():
        ledger.add_session(KEY)
    assert [row.key for row in reader.sessions()] == [KEY]
    with pytest.raises(LedgerError), reader.transaction():
        reader.add_session(OTHER)
    reader.close()
    ledger.close()
    again = Ledger.open(tmp_path, EventLog())
    assert [row.key for row in again.sessions()] == [KEY]
    again.close()
