"""`katod forget --outputs` takes the rows of a session out of every data set that katod wrote."""

import shutil

import pytest

from katod.archive.machine import Machine
from katod.archive.manifest import MANIFEST
from katod.tables import update
from katod.tables.dataset import DataSet, opened_set
from tests.support.records import Claude, Codex
from tests.support.records.base import says, user
from tests.tables.dataset import Tables

pytestmark = pytest.mark.slow
WORD = "zanzibar"


@pytest.fixture
def planted(world, tables, two):
    """Return a session with a word and a sub-agent that are in two data sets, recorded so that it can be forgotten."""
    one = world.session(3)
    one.count = 1000
    one.say(user(f"::start\n{WORD}"), says(WORD))
    Claude(world, one.session, subagent="a1b2").say(user(WORD))
    world.once()
    other = Tables(world, "others")
    for data in (tables, other):
        data.export()
        assert data.has(WORD)
    return one, other


def _delete(one):
    """Delete a session as its agent does."""
    one.path.unlink()
    shutil.rmtree(one.path.with_suffix(""), ignore_errors=True)


def test_the_rows_go_from_every_data_set(world, tables, planted):
    """No file has a word of it then, of those in the state neither; other sessions stay as they were."""
    one, other = planted
    expected = {name: words for name, words in tables.words().items() if name != one.session[:8]}
    shown = world.cli("forget", one.session, "--outputs", "--yes")
    for data in (tables, other):
        assert f"its rows in {data.root} are deleted" in shown
        assert data.has(WORD) == []
        assert data.words() == expected
        assert one.session not in {row["session"][7:] for row in data.rows("usage")}
    for path in (world.state / "tables").rglob(MANIFEST):
        assert one.session.encode() not in path.read_bytes()
    one.path.unlink()
    shutil.rmtree(one.path.with_suffix(""))
    assert tables.export() == "unchanged 2"
    assert tables.has(WORD) == []


def test_rows_of_sub_agents_with_ids_of_their_own_go_too(world, tables, two):
    """Also of one that its agent has deleted: the list knows who started it."""
    maker = Codex(world).say(user("one"), says("two"))
    children = [maker.child(), Codex(world, "01a1f8a0-eea5-7302-86e3-aaaaaaaaaaaa")]
    for child in children:
        child.parent = maker.session
        child.say(user(WORD), says("looked"))
    world.once()
    tables.export()
    children[0].path.unlink()
    world.once()
    assert tables.has(WORD)
    world.cli("forget", f"codex:{maker.session}", "--outputs", "--yes")
    assert tables.has(WORD) == []


def test_they_stay_without_the_option(world, tables, planted):
    """As copies do, and as is said."""
    one, _ = planted
    assert f"its rows in {tables.root} stay" in world.cli("forget", one.session, "--yes")
    assert tables.has(WORD)


def test_a_session_that_its_agent_still_has_is_written_again(world, tables, planted):
    """As by every other export."""
    one, _ = planted
    world.cli("forget", one.session, "--outputs", "--yes")
    assert tables.export() == "wrote 2, unchanged 2"
    assert tables.has(WORD)


def test_the_only_session_of_a_month_takes_its_files_along(world, tables):
    """No empty file stays."""
    Claude(world).say(user(f"::start\n{WORD}"), says(WORD))
    world.once()
    tables.export()
    world.cli("forget", "latest", "--outputs", "--yes")
    assert tables.parts() == {}


def test_what_could_not_be_done_is_said_and_done_by_the_next_run(world, tables, planted):
    """Here, as the directory is not there for now: its disk may not be mounted."""
    one, other = planted
    disk = world.home / "disk"
    disk.mkdir()
    tables.root = tables.root.rename(disk / "tables")
    tables.export()
    away = disk.rename(world.home / "away")
    world.cli("forget", one.session, "--outputs", "--yes", code=1)
    assert f"its rows stay for now in {tables.root}" in world.said
    assert "is no longer there" in world.said
    assert other.has(WORD) == []
    away.rename(disk)
    one.path.unlink()
    shutil.rmtree(one.path.with_suffix(""))
    assert tables.export() == "unchanged 2"
    assert tables.has(WORD) == []


def test_rows_that_another_run_is_writing_go_with_the_next_one(world, tables, planted):
    """It was asked for, and whoever has the lock next knows that."""
    one, _ = planted
    with opened_set(world.state, str(tables.root), Machine("local", "a" * 32)):
        world.cli("forget", one.session, "--outputs", "--yes", code=1)
        assert "another katod is writing this data set" in world.said
    _delete(one)
    tables.export()
    assert tables.has(WORD) == []
    assert not list((world.state / "tables").rglob("to-forget*"))


def _at(moment, monkeypatch, act):
    """Do something once, at a moment of the next export."""
    from katod.tables.writer import PartitionWriter, TablesWriter  # noqa: PLC0415 - need an extra

    owner, name, is_before = {
        "found": (update, "planned", True),
        "read": (TablesWriter, "_keep", False),
        "waits": (TablesWriter, "_flush", True),
        "being written": (PartitionWriter, "rewrite", True),
        "written": (PartitionWriter, "rewrite", False),
        "with its usage": (TablesWriter, "write_usage", False),
        "at the end": (DataSet, "save", True),
    }[moment]
    real = getattr(owner, name)

    def patched(*arguments, **options):
        monkeypatch.setattr(owner, name, real)
        if is_before:
            act()
        done = real(*arguments, **options)
        if not is_before:
            act()
        return done

    monkeypatch.setattr(owner, name, patched)


MOMENTS = ("found", "read", "waits", "being written", "written", "with its usage", "at the end")


@pytest.mark.parametrize("moment", MOMENTS)
def test_rows_that_a_running_export_is_about_to_write_go_too(world, tables, two, moment, monkeypatch):
    """No list names them when the session is forgotten. That run takes them out when it ends, or else the next one."""
    one, shown = Claude(world, "77777777-2222-4333-8444-555555555555").say(user(WORD), says(WORD)), []
    Claude(world, one.session, subagent="a1b2").say(user(WORD))

    def forgotten():
        shown.append(world.katod("forget", f"claude:{one.session}", "--outputs", "--yes", check=False))
        _delete(one)

    _at(moment, monkeypatch, forgotten)
    tables.export()
    assert shown[0].returncode == 1
    said = shown[0].stderr.decode()
    assert f"in {tables.root}" in said
    assert f"its rows stay for now in {tables.root}" in said or "it removes them when it ends" in said
    if moment != "at the end":
        assert tables.has(WORD) == []
        assert one.session not in str(tables.content())
    assert tables.export() == "unchanged 2"
    assert tables.has(WORD) == []
    assert one.session not in str(tables.content())
    assert not list((world.state / "tables").rglob("to-forget*"))
    assert sorted(tables.words()) == sorted(maker.session[:8] for maker in two)


@pytest.mark.parametrize("moment", ["read", "waits", "being written", "written", "with its usage"])
def test_sub_agents_that_a_running_export_reads_go_too(world, tables, moment, monkeypatch):
    """Those with ids of their own: their records say whose they are, and no list has said so yet."""
    maker = Codex(world).say(user("one"), says("two"))
    child = Codex(world, "01a1f8a0-eea5-7302-86e3-aaaaaaaaaaaa")
    child.parent = maker.session
    child.say(user(WORD), says("looked"))
    grandchild = Codex(world, "01a1f8a0-eea5-7302-86e3-bbbbbbbbbbbb")
    grandchild.parent = child.session
    grandchild.say(user(WORD), says("looked"))

    def forgotten():
        world.katod("forget", f"codex:{maker.session}", "--outputs", "--yes", check=False)
        for one in (maker, child, grandchild):
            one.path.unlink()

    _at(moment, monkeypatch, forgotten)
    tables.export()
    tables.export()
    assert tables.parts() == {}


def test_a_data_set_without_the_session_is_left_as_it_is(world, tables, two):
    """It is asked, too; nothing is written there, nothing said of it, and the request does not stay."""
    tables.export()
    before = tables.stamps()
    Claude(world, "77777777-2222-4333-8444-555555555555").say(user(WORD))
    assert str(tables.root) not in world.cli("forget", "claude:77777777", "--outputs", "--yes") + world.said
    assert tables.stamps() == before
    assert not list((world.state / "tables").rglob("to-forget*"))


@pytest.mark.parametrize("how", ["forget", "exclude"])
def test_rows_that_could_not_go_are_remembered_to_go(world, tables, planted, how):
    """Also if a damaged file keeps their month from being written, and the agent has deleted the session since."""
    one, other = planted
    shutil.rmtree(other.root)
    if how == "exclude":
        one.rewrite(lambda *_: True)
    [part] = (path for name, path in tables.parts().items() if name.startswith("sessions"))
    part.write_bytes(b"damaged")
    if how == "forget":
        world.cli("forget", one.session, "--outputs", "--yes", code=1)
    else:
        world.configure(exclude=["/home/me/app"])
    one.path.unlink()
    shutil.rmtree(one.path.with_suffix(""))
    tables.export(code=1)
    assert one.session[:8] in tables.words()
    part.unlink()
    tables.export()
    assert tables.has(WORD) == []
    assert len(tables.words()) == (2 if how == "forget" else 0)


@pytest.mark.parametrize("how", ["all", "list", "damaged", "a line"])
def test_rows_do_not_come_back_if_the_list_is_lost(world, tables, planted, how):
    """A session that was forgotten and is gone is not taken over from the files, in none of the tables."""
    one, other = planted
    for path in (world.state / "tables").rglob(MANIFEST):
        if how == "list":
            path.unlink()
        elif how == "damaged":
            path.write_bytes(b"damaged\n" * 3)
        else:
            lines = path.read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(b"damaged\n" if one.session.encode() in line else line for line in lines))
    if how == "all":
        shutil.rmtree(world.state / "tables")
    shown = world.cli("forget", one.session, "--outputs", "--yes")
    warns = f"rows may be left in {other.root}, {tables.root}" in shown or f"{tables.root}, {other.root}" in shown
    assert warns is (how != "all")
    _delete(one)
    for data in (tables, other):
        data.export()
        assert data.has(WORD) == []
        assert len(data.words()) == 2
        assert one.session not in {row["session"][7:] for row in data.rows("usage")}
        assert data.export() == "unchanged 2"


def test_rows_do_not_come_back_in_a_data_set_that_was_moved(world, tables, planted):
    """Its list is that of another place."""
    one, _ = planted
    moved = Tables(world, "moved")
    tables.root.rename(moved.root)
    world.cli("forget", one.session, "--outputs", "--yes")
    _delete(one)
    moved.export()
    assert moved.has(WORD) == []


def test_rows_of_a_session_that_is_gone_without_being_forgotten_are_taken_over(world, tables, planted):
    """Nothing is lost if the list is."""
    one, _ = planted
    _delete(one)
    shutil.rmtree(world.state / "tables")
    tables.export()
    assert tables.has(WORD)


def test_a_session_that_only_a_data_set_has_is_forgotten(world, tables, two):
    """Its agent deleted it, and katod never recorded it."""
    one = world.session(3)
    one.count = 1000
    one.say(user(WORD), says(WORD))
    tables.export()
    _delete(one)
    world.cli("forget", one.session[:8], "--outputs", "--yes")
    assert tables.has(WORD) == []
    assert len(tables.words()) == len(two)
    world.cli("forget", one.session[:8], "--outputs", "--yes", code=1)
    assert "no session matches" in world.said


def test_all_data_sets_are_asked_before_the_session_is_forgotten(world, tables, planted, monkeypatch):
    """Whatever ends katod after that, the next exports do the rest."""
    one, other = planted
    monkeypatch.setattr("katod.cli.forget.drop_rows", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    world.cli("forget", one.session, "--outputs", "--yes", code=1)
    monkeypatch.undo()
    _delete(one)
    for data in (tables, other):
        data.export()
        assert data.has(WORD) == []


@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_data_set_that_was_deleted_is_no_obstacle(world, tables, planted, how):
    """Its list goes, and that is said once."""
    one, other = planted
    shutil.rmtree(tables.root)
    if how == "empty":
        tables.root.mkdir()
    world.cli("forget", one.session, "--outputs", "--yes")
    assert f"{tables.root}: the tables there were deleted" in world.said
    assert other.has(WORD) == []
    assert "tables there" not in world.cli("forget", "latest", "--outputs", "--yes") + world.said


def test_a_damaged_request_is_said(world, tables, two):
    """Until it is deleted."""
    tables.export()
    [root] = (world.state / "tables").iterdir()
    (root / "to-forget-0.json").write_bytes(b"{")
    tables.export()
    assert f"{root / 'to-forget-0.json'}: this request to forget a session is damaged" in world.said


def test_tables_that_are_not_there_are_not_said_to_be_changed(world, tables, planted):
    """They may have been moved, with all rows."""
    one, _ = planted
    tables.root.rename(world.home / "elsewhere")
    shown = world.cli("forget", f"claude:{one.session}", "--outputs", "--yes")
    assert f"its rows in {tables.root} are no longer there: if you moved the tables, delete them yourself" in shown
