"""What the ledger stores, and that lookups change nothing."""

import inspect
import sqlite3
from pathlib import Path

import pytest

from katod.errors import LedgerDamaged, LedgerError
from katod.log import EventLog
from katod.model import Cursor, Identity, Options, Range, SessionKey, Stat
from katod.store.ledger import Ledger, id_hash
from katod.store.rows import NearMissRow, OutputRow, RefusalRow, RootRow, SeenRow, SourceRow
from tests.looping import each
from tests.support.parts import memory_ledger

KEY, OTHER = SessionKey("claude", "s"), SessionKey("claude", "s", "agent")


@pytest.fixture
def ledger() -> Ledger:
    return memory_ledger()


def source(path: str = "/s.jsonl", session: int = 1) -> SourceRow:
    return SourceRow(0, session, path, Identity(KEY), Stat(1, 2, 3, 4))


def output(name: str = "n.md", session: int = 1, *ranges: Range) -> OutputRow:
    return OutputRow(0, session, Path("/out"), Path("/out", name), "markdown", 1, Options(), {}, ranges=ranges)


def stored(ledger: Ledger, *ranges: Range) -> OutputRow:
    return ledger.save_output(ledger.add_output(output("n.md", 1, *ranges)))


# -- lookups -----------------------------------------------------------------------------------------

LOOK_UPS = {
    "near_misses": (), "has_near_miss": (SessionKey("codex", "unknown"),),
    "refusal": (SessionKey("claude", "s"), "start", ""),
    "roots": (), "session": (1,), "sessions": (), "find_session": (SessionKey("codex", "unknown"),),
    "sources": (), "sources_of": (1,), "count_sources": (), "source_problems": (), "outputs": (), "output_at": (Path("/out/unknown"),),
    "busy_sessions": (), "place": (1, 7), "places": (1,), "is_applied": ("unknown",), "refusals": (),
    "read_all": (), "check": (),
    "contained": ("/", ".db"), "recorded_sessions": (), "has_tombstones": (),
    "recorded_metadata": (7, 9), "recorded_files": (1, 9),
}  # fmt: skip
WRITERS = {
    "save_root", "add_session", "save_session", "add_near_misses", "add_source", "save_source", "add_output",
    "save_output", "rename_output", "add_seen", "add_applied", "add_refusal", "forget", "forget_words", "erase",
}  # fmt: skip


def test_a_look_up_never_writes(ledger):
    """No lookup changes a row, whether or not it finds something."""
    ledger.add_session(KEY)
    ledger.add_source(source())
    stored(ledger, Range("a"))
    ledger.projects.add("app", "/home/me/app")
    before = ledger.db.total_changes
    for name, arguments in LOOK_UPS.items():
        found = getattr(ledger, name)(*arguments)
        if inspect.isgenerator(found):
            list(found)
    assert ledger.db.total_changes == before


def test_every_method_is_known_to_write_or_not():
    """Every method of the ledger is in one of the two lists above."""
    methods = {name for name, _ in inspect.getmembers(Ledger, inspect.isfunction) if name[0] != "_"}
    assert methods - {"close", "transaction"} == LOOK_UPS.keys() | WRITERS


# -- roots and sessions ------------------------------------------------------------------------------


def test_a_root_has_the_time_of_its_last_sweep(ledger):
    """Storing a root again updates its time."""
    ledger.save_root(RootRow("/r", "claude", 5))
    ledger.save_root(RootRow("/r", "claude", 7))
    ledger.save_root(RootRow("/r/a/", "claude", 6))
    assert ledger.roots() == {"/r": 7, "/r/a/": 6}


def test_a_session_is_found_by_its_whole_key(ledger):
    """A session is found by its full key: a sub-agent is a session of its own."""
    added = ledger.add_session(KEY)
    assert ledger.find_session(KEY) == added == ledger.session(added.id)
    assert ledger.find_session(OTHER) is None
    ledger.add_session(OTHER)
    assert [row.key for row in ledger.sessions()] == [KEY, OTHER]


def test_near_misses_are_remembered_newest_first(ledger):
    """The latest are returned, and those of long ago are forgotten."""
    ledger.add_near_misses(NearMissRow(0, KEY, f"t{n}", "misspelt", "start") for n in range(300))
    assert [row.time for row in ledger.near_misses(2)] == ["t299", "t298"]
    assert len(ledger.near_misses(1_000)) == 200
    assert (ledger.has_near_miss(KEY), ledger.has_near_miss(OTHER)) == (True, False)


def test_sessions_are_recorded_if_they_have_an_output(ledger):
    """Each once, and whether one of its outputs is being written, and one has its name."""
    for key in (KEY, OTHER):
        ledger.add_session(key)
    ledger.add_output(output("held.md", 2)._replace(held={"text": "", "time": ""}))
    assert ledger.recorded_sessions() == [(2, OTHER, False, False)]
    ledger.save_output(row := ledger.add_output(output("a.md", 1, Range("a", end="b"))))
    assert ledger.recorded_sessions() == [(1, KEY, False, True), (2, OTHER, False, False)]
    ledger.save_output(ledger.add_output(output("b.md", 1, Range("c"))))
    assert ledger.recorded_sessions() == [(1, KEY, True, True), (2, OTHER, False, False)]
    assert row.id


def test_what_recorded_sessions_are_about_is_read_at_once(ledger):
    """As they are now, or, of those that are no longer recorded, as they were; and where their files are."""
    for key in (KEY, OTHER, SessionKey("claude", "3")):
        ledger.add_session(key)
    ledger.save_session(ledger.session(1)._replace(metadata={"title": "now"}, seq=7))
    for session in (1, 2):
        ledger.add_output(output(f"{session}.md", session)._replace(head={"metadata": {"title": "then"}}))
    ledger.add_source(source())
    ledger.add_source(source("/gone.jsonl")._replace(gone=True))
    assert list(ledger.recorded_metadata(1, 9)) == [(1, {"title": "now"}, 7), (2, {"title": "then"}, 0)]
    assert list(ledger.recorded_metadata(2, 2)) == [(2, {"title": "then"}, 0)]
    assert list(ledger.recorded_files(1, 9)) == [(1, source().path, source().identity, source().seen)]
    ledger.db.execute("UPDATE sources SET seen = '[1'")
    ledger.db.execute("UPDATE sessions SET metadata = '['")
    for read in (ledger.recorded_metadata, ledger.recorded_files):
        with pytest.raises(LedgerDamaged):
            list(read(1, 9))


# -- sources -----------------------------------------------------------------------------------------


def test_all_sources_come_without_their_states(ledger):
    """States are large, so they are loaded only for a session that is translated."""
    for path in ("/a", "/b"):
        assert ledger.add_source(source(path)._replace(state={"calls": {}})).id
    assert [(row.path, row.state) for row in ledger.sources()] == [("/a", None), ("/b", None)]
    assert [row.state for row in ledger.sources_of(1)] == [{"calls": {}}] * 2


def test_sources_are_counted_and_their_problems_listed(ledger):
    """Without reading the rows of all others."""
    assert (ledger.count_sources(), ledger.source_problems()) == (0, [])
    for path, problem in (("/a", ""), ("/b", "Permission denied")):
        ledger.add_source(source(path)._replace(problem=problem))
    assert (ledger.count_sources(), ledger.source_problems()) == (2, [("/b", "Permission denied")])


def test_a_source_is_stored_with_its_cursor(ledger):
    """The stored cursor is where the next start resumes."""
    row = ledger.add_source(source())
    ledger.save_source(row._replace(cursor=Cursor(7), path="/moved", gone=True))
    [found] = ledger.sources_of(1)
    assert (found.cursor, found.path, found.gone) == (Cursor(7), "/moved", True)
    assert ledger.sources_of(2) == []


# -- outputs -----------------------------------------------------------------------------------------


def test_only_the_last_range_changes_and_none_is_stored_twice(ledger):
    """A range that ended and the one after it are stored once, in order."""
    row = stored(ledger, Range("a"))
    row = row._replace(ranges=(row.ranges[0]._replace(end="b"), Range("c", switches=(("tools", True),))))
    row = ledger.save_output(ledger.save_output(row))
    [found] = ledger.outputs()
    assert found.ranges == row.ranges
    assert [(item.start, item.end, item.id, item.output) for item in found.ranges] == [
        ("a", "b", 1, 1),
        ("c", "", 2, 1),
    ]


def test_outputs_are_found_by_session_and_by_path(ledger):
    """An output is found by its session or its path; by path it is loaded without its ranges."""
    stored(ledger, Range("a"))
    ledger.add_output(output("other.md", 2))
    assert [row.path.name for row in ledger.outputs()] == ["n.md", "other.md"]
    assert [row.path.name for row in ledger.outputs(2)] == ["other.md"]
    assert ledger.output_at(Path("/out/n.md")).session == 1
    assert ledger.output_at(Path("/out/unknown.md")) is None


def test_a_path_belongs_to_one_output(ledger):
    """The ledger refuses a second output with the same path."""
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
    """A session is busy while it has an open range, an open intent, or an output with its own stream."""
    ledger = memory_ledger()
    ledger.add_session(KEY)
    ledger.save_output(ledger.add_output(output("n.md", 1, *ranges))._replace(**fields))
    assert ledger.busy_sessions() == [1] * busy


@pytest.mark.parametrize(
    ("auto", "busy"), [("", False), ("wanted", True), ("yes", False), ("no", False), ("off", False)]
)
def test_a_session_that_may_be_auto_recorded_is_busy(ledger, auto, busy):
    """A session that may be auto-recorded is busy until its project is known."""
    row = ledger.add_session(KEY)
    ledger.save_session(row._replace(auto=auto))
    assert ledger.busy_sessions() == [row.id] * busy


# -- events, commands, refusals, projects ------------------------------------------------------------


def test_an_event_has_the_place_where_it_was_first_seen(ledger):
    """An event seen twice keeps its first place, and each session has places of its own."""
    ledger.add_seen([SeenRow(1, 70, 5, 3), SeenRow(1, 70, 2, 4), SeenRow(1, 80, 3, 3), SeenRow(2, 70, 0, 9)])
    ledger.add_seen([SeenRow(1, 80, 3, 99)])
    assert ledger.place(1, 70) == (2, 4)
    assert ledger.place(1, 80) == (3, 3)
    assert ledger.place(3, 70) is None
    assert ledger.places(1) == {70: [2, 5], 80: [3]}


def test_a_command_is_applied_in_all_sessions_for_ever(ledger):
    """A command is applied for all sessions, and applying it again changes nothing."""
    ledger.add_applied(["one", "two"])
    ledger.add_applied(["two"])
    assert [ledger.is_applied(key) for key in ("one", "two", "three")] == [True, True, False]


def test_an_id_is_kept_as_eight_bytes():
    """The hash of an id is the same in every process and version, as the ledger depends on it."""
    assert id_hash("claude:s:1") == 4752963542131453608
    assert -(2**63) <= id_hash("é") < 2**63  # the range of SQLite's integers


def test_refusals_are_kept_newest_first_and_not_for_ever(ledger):
    """The last two hundred refusals are stored, and ten are returned by default."""
    for number in range(205):
        ledger.add_refusal(RefusalRow(0, KEY, str(number), "start", "why"))
    assert [row.time for row in ledger.refusals()] == [str(204 - n) for n in range(10)]
    assert len(ledger.refusals(999)) == 200


def test_a_second_project_of_a_name_gets_a_hash(ledger):
    """The first project keeps the plain name, and a folder does not change once it is stored."""
    ledger.projects.add(ledger.projects.folder("app", "/a/app"), "/a/app")
    second = ledger.projects.folder("app", "/b/app")
    assert second.startswith("app-")
    assert second == ledger.projects.folder("app", "/b/app") != ledger.projects.folder("app", "/c/app")
    ledger.projects.add(second, "/b/app")
    ledger.projects.add("renamed", "/a/app")
    assert (ledger.projects.folder("app", "/a/app"), ledger.projects.folder("app", "/b/app")) == ("app", second)


def test_a_project_that_was_only_looked_up_has_no_folder_yet(ledger):
    """A name is free until a project creates an output with it."""
    assert [ledger.projects.folder("app", f"/{n}/app") for n in range(2)] == ["app", "app"]


# -- transactions ------------------------------------------------------------------------------------


class Failed(Exception):
    pass


def test_a_transaction_that_fails_leaves_nothing(ledger):
    """All changes are rolled back, and the error is raised."""

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
    """A full disk is a `LedgerError` with a hint, and what was stored before is still there."""
    ledger.add_session(KEY)
    ledger.db.execute(f"PRAGMA max_page_count = {ledger.db.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(LedgerError, match="cannot be written") as raised, ledger.transaction():
        ledger.add_applied(map(str, range(5000)))
    assert raised.value.hint == "is the disk full?"
    assert not ledger.is_applied("0")
    assert len(ledger.sessions()) == 1


def test_damage_during_a_transaction_is_not_called_a_full_disk(ledger):
    """A missing table is an error without the hint about a full disk."""
    ledger.db.execute("DROP TABLE applied")
    with pytest.raises(LedgerError) as raised, ledger.transaction():
        ledger.add_applied(["one"])
    assert raised.value.hint == ""


def test_a_mistake_of_katod_is_not_called_an_error_of_the_disk(ledger):
    """A duplicate row is a bug in katod, and is raised unchanged."""
    ledger.add_session(KEY)
    with pytest.raises(sqlite3.IntegrityError), ledger.transaction():
        ledger.add_session(KEY)


def test_what_is_committed_is_there_when_it_is_opened_again(tmp_path):
    """Committed rows are visible to readers and after reopening; without a ledger there is no reader."""
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


def test_no_number_is_given_twice(ledger):
    """What was forgotten is not taken for what came after it: by what is being sent, in the log, or by a person."""
    session = ledger.add_session(KEY)
    first = ledger.add_output(output())
    with ledger.transaction():
        ledger.forget([session], [])
    again = ledger.add_session(KEY)
    assert again.id > session.id
    assert ledger.add_output(output("n.md", again.id)).id > first.id
