"""The catalog of known sources: where the history of each ends, and how each changes."""

import os
import time
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.discover import folders
from katod.discover.catalog import Catalog
from katod.discover.roots import Root
from katod.model import START, Cursor, NearMiss
from tests.support.parts import Parts, next_tick, put
from tests.support.records import OTHER, SESSION, Antigravity, Claude, Codex, OpenCode, Pi, says, user
from tests.support.world import World


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Return the parts of katod with a home that was swept while it was empty."""
    return Parts(World(tmp_path / "home", monkeypatch, seen_empty=False))


@pytest.fixture
def unseen(tmp_path, monkeypatch):
    """Return the parts of katod with a home that was never swept."""
    return Parts(World(tmp_path / "home", monkeypatch, seen_empty=False), swept=False)


def paths(sources):
    return [source.path for source in sources]


def swept(parts):
    """Return when the root of Claude Code was last swept."""
    return parts.ledger.roots()[str(parts.world.home / ".claude")]


# -- where history ends ------------------------------------------------------------------------------


def test_at_the_first_sight_of_a_root_all_is_history(unseen):
    """A file found by the first sweep of a root is history up to its size; the baseline is set when it is opened."""
    unseen.world.claude().append("{}\n{}")
    source = unseen.source()
    assert (source.history, source.baseline, source.row.since_ns) == (5, None, 0)


def test_a_file_that_comes_later_is_new_from_its_beginning(parts):
    """A file that appears after the first sweep has no history: commands in it are obeyed."""
    before = swept(parts)
    parts.world.claude().append("{}\n")
    source = parts.source()
    assert (source.history, source.baseline, source.row.since_ns) == (0, 0, before)


def test_a_file_that_is_older_than_the_last_sweep_is_history(parts):
    """A new file older than the last sweep was restored, synced or unarchived, and is history."""
    parts.world.claude().append("{}\n").age()
    source = parts.source()
    assert (source.history, source.baseline, source.row.since_ns) == (3, None, 0)


def test_a_file_of_the_moment_of_the_sweep_is_new(parts):
    """A file as old as the sweep is new: the sweep time allows for the coarser clock of file times."""
    moment = time.time_ns()
    parts.sweep()
    assert moment - 10**9 < swept(parts) < moment
    file = parts.world.claude().append("{}\n")
    os.utime(file.path, ns=(moment, moment))
    assert parts.source().history == 0


@pytest.mark.parametrize(("by_hand", "history"), [(False, 0), (True, 3)])
def test_with_a_clock_that_was_set_back_new_files_are_new(parts, monkeypatch, by_hand, history):
    """New files look older than the last sweep; only one whose time was set explicitly, as by a copy, is history."""
    parts.world.claude().append("{}\n")
    if by_hand:
        parts.world.claude().age()
    hour = 3600 * 10**9
    for place, at in parts.catalog._coverage._times.items():
        parts.catalog._coverage._times[place] = at + hour
    assert parts.source().history == history


def test_with_a_clock_that_is_right_an_older_file_is_history(parts):
    """A file older than the last sweep is history, however it got there: that sweep would have found it."""
    file = parts.world.claude().append("{}\n")
    parts.catalog._coverage._times[str(parts.world.home / ".claude")] = file.path.stat().st_mtime_ns + 1
    assert parts.source().history == 3


def test_a_sub_agent_and_its_parent_are_two_sessions(parts):
    """Two files of one session belong to the same session; a sub-agent is a session of its own."""
    parts.world.claude().append("{}\n")
    parts.world.claude(folder="-home-me-other").append("{}\n")
    Claude(parts.world, subagent="abc").append("{}\n")
    sources = parts.sweep()
    first, second = [source for source in sources if not source.identity.key.subagent]
    [child] = [source for source in sources if source.identity.key.subagent]
    assert parts.catalog.of_session(first.session) == sorted([first, second], key=lambda source: source.id)
    assert parts.catalog.of_session(child.session) == [child]


def test_what_is_found_is_logged_without_its_content(parts):
    """The log has the session of a new source and the size of its history, but not its path."""
    file = parts.world.claude().append("{}\n").age()
    parts.sweep()
    assert parts.said("source.found") == [{"session": f"claude:{file.session}", "baseline": 3}]


# -- what changed ------------------------------------------------------------------------------------


def test_a_sweep_returns_what_is_new_or_changed_once(parts):
    """A sweep returns each new or changed source once, oldest change first."""
    first, second = parts.world.claude().append("{}\n"), parts.world.claude(OTHER).append("{}\n")
    soon = time.time_ns() + 10**9
    os.utime(first.path, ns=(soon, soon))
    assert paths(parts.sweep()) == [str(second.path), str(first.path)]
    assert parts.sweep() == []
    second.append("{}\n")
    assert paths(parts.sweep()) == [str(second.path)]
    os.utime(first.path, ns=(soon, soon + 1))
    os.utime(second.path, ns=(soon, soon + 2))
    assert paths(parts.sweep()) == [str(first.path), str(second.path)]


def test_a_file_of_the_same_size_and_time_under_another_inode_changed(parts):
    """A file with a new inode was replaced, and counts as changed."""
    file = parts.world.claude().append("{}\n")
    [source] = parts.sweep()
    new = file.path.with_name("new.tmp")
    new.write_bytes(b"{}\n")
    os.utime(new, ns=(source.seen.mtime_ns, source.seen.mtime_ns))
    new.replace(file.path)
    assert parts.sweep() == [source]


def test_a_catalog_knows_again_what_the_ledger_holds(parts):
    """After a restart no source is new, and none has changed."""
    parts.world.claude().append("{}\n")
    source = parts.source()
    again = Catalog(parts.ledger, parts.log)
    assert again.sweep(parts.roots) == []
    assert paths(again.sources.values()) == [source.path]
    assert again.of_session(source.session)[0].id == source.id


def test_a_file_that_is_gone_is_kept_and_comes_back(parts):
    """A vanished file stays in the catalog; when it is back, it is returned by the sweep with its old state."""
    file = parts.world.claude().append("{}\n")
    source = parts.source()
    aside = file.path.rename(parts.world.home / "aside")
    assert parts.sweep() == []
    assert source.gone
    parts.sweep()
    assert parts.said("source.vanished") == [{"session": str(source.identity.key)}]
    aside.rename(file.path)
    assert parts.sweep() == [source]
    assert (source.gone, source.history) == (False, 0)


def test_a_sweep_that_passes_over_cold_folders_loses_no_source(parts, monkeypatch):
    """What is in a folder that is not read has not vanished; what is deleted there has, and what is new is found."""
    monkeypatch.setattr(folders, "_SETTLED_NS", 0)
    files = [parts.world.claude(name, folder="-home-me-old").append("{}\n") for name in (SESSION, OTHER)]
    for file in files:
        file.age()
    next_tick(parts.world.home)
    first, second = sorted(parts.sweep(), key=lambda source: source.path != str(files[0].path))
    assert parts.catalog.sweep(parts.roots, deep=False) == []
    files[0].append("{}\n")
    assert parts.catalog.sweep(parts.roots, deep=False) == [], "only the watcher reports that"
    files[1].path.unlink()
    assert parts.catalog.sweep(parts.roots, deep=False) == [first]
    assert (first.gone, second.gone) == (False, True)


def test_a_known_file_that_changes_is_looked_at_by_the_next_sweeps(parts, monkeypatch):
    """Its folder is not passed over any more, whoever noticed the change."""
    monkeypatch.setattr(folders, "_SETTLED_NS", 0)
    file = parts.world.claude().append("{}\n").age()
    next_tick(parts.world.home)
    parts.sweep()
    assert parts.catalog.sweep(parts.roots, deep=False) == []
    file.append("{}\n")
    [root] = [root for root in parts.roots if root.agent == "claude" and str(file.path).startswith(root.prefix)]
    [source] = parts.catalog.hint(root, str(file.path))
    file.append("{}\n")
    assert parts.catalog.sweep(parts.roots, deep=False) == [source]


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_root_in_a_root_each_knows_its_own_folders(parts, monkeypatch, order):
    """Of an agent that has no files there, a sweep says nothing of the other's."""
    monkeypatch.setattr(folders, "_SETTLED_NS", 0)
    Pi(parts.world).say(user("hi"))
    roots = [Root(AGENTS["cline"], parts.world.home), *(root for root in parts.roots if root.agent == "pi")][::order]
    next_tick(parts.world.home)
    parts.catalog.sweep(roots)
    next_tick(parts.world.home)
    other = Pi(parts.world, OTHER).say(user("hi"))
    assert paths(parts.catalog.sweep(roots, deep=False)) == [str(other.path)]


def test_a_sweep_that_fails_is_made_again(parts, monkeypatch):
    """What it found is not stored, so that its folders have to be read again."""
    monkeypatch.setattr(folders, "_SETTLED_NS", 0)
    file = parts.world.claude().append("{}\n").age()
    next_tick(parts.world.home)
    with monkeypatch.context() as patch:
        patch.setattr(parts.catalog, "_add", _fail)
        with pytest.raises(ZeroDivisionError):
            parts.sweep()
    assert paths(parts.catalog.sweep(parts.roots, deep=False)) == [str(file.path)]


def _fail(*_):
    raise ZeroDivisionError


def test_a_session_in_a_tree_of_files_is_looked_at_by_every_sweep(parts, monkeypatch):
    """Its messages are in other folders, of which no watcher tells."""
    monkeypatch.setattr(folders, "_SETTLED_NS", 0)
    assert AGENTS["opencode"].changes_elsewhere
    storage = parts.world.home / ".local/share/opencode/storage"
    (storage / "session" / "p").mkdir(parents=True)
    (storage / "message" / "ses_1").mkdir(parents=True)
    session = storage / "session" / "p" / "ses_1.json"
    session.write_text('{"id":"ses_1","time":{"created":1}}')
    os.utime(session, (1, 1))
    next_tick(parts.world.home)
    [source] = parts.sweep()
    parts.catalog.sweep(parts.roots, deep=False)
    (storage / "message" / "ses_1" / "msg_2.json").write_text('{"id":"msg_2"}')
    assert parts.catalog.sweep(parts.roots, deep=False) == [source]


def test_sessions_of_a_root_that_is_gone_have_vanished(parts):
    """Also by a sweep that passes over folders."""
    file = parts.world.claude().append("{}\n")
    source = parts.source()
    (parts.world.home / ".claude").rename(parts.world.home / "aside")
    assert parts.catalog.sweep(parts.roots, deep=False) == []
    assert source.gone
    (parts.world.home / "aside").rename(parts.world.home / ".claude")
    assert parts.catalog.sweep(parts.roots, deep=False) == [source]
    assert str(file.path) == source.path


def test_a_moved_file_is_the_same_source(parts):
    """A file that is archived or restored keeps its cursor, and the ledger gets its new path."""
    file = parts.world.codex().append("{}\n")
    source = parts.source()
    put(source, cursor=Cursor(3))
    archive = parts.world.home / ".codex/archived_sessions" / file.path.name
    archive.parent.mkdir()
    file.path.rename(archive)
    assert parts.sweep() == []
    assert (source.path, source.cursor, source.gone) == (str(archive), Cursor(3), False)
    [stored] = parts.ledger.sources_of(source.session)
    assert (stored.path, stored.cursor) == (str(archive), Cursor(3))
    assert list(parts.catalog.sources.values()) == [source]


def test_a_copy_is_a_source_of_its_own(parts):
    """A second file of a session is not a move while the first one exists."""
    file = parts.world.claude().append("{}\n")
    source = parts.source()
    parts.world.claude(folder="-home-me-other").append(file.path.read_bytes())
    [other] = parts.sweep()
    assert (other.id != source.id, other.session == source.session, source.path) == (True, True, str(file.path))


def test_a_file_that_is_no_session_is_passed_over(parts):
    """A file with a known suffix that is not a session is ignored."""
    file = Codex(parts.world).append("{}\n")
    file.path.rename(file.path.with_name("history.jsonl"))
    assert parts.sweep() == []
    assert parts.ledger.sessions() == []


# -- databases ---------------------------------------------------------------------------------------


class Another(OpenCode):
    """A session of OpenCode in another database in the same folder."""

    def place(self):
        return str(Path(super().place()).with_name("other.db"))


def test_a_session_in_a_database_that_is_history_is_known_without_being_opened(unseen):
    """Its cursor is at the end, so it need not be read; its records have times, so later ones are not history."""
    OpenCode(unseen.world).say(user("one"), says("two"))
    assert unseen.sweep() == []
    [source] = unseen.catalog.sources.values()
    assert (source.baseline, source.after_ns, source.cursor) == (0, source.seen.mtime_ns, Cursor(source.seen.size))


def test_a_single_database_claims_only_its_own_sessions(parts):
    """Two databases in one folder are two roots: a sweep of one does not mark the other's sessions as gone."""
    first, second = OpenCode(parts.world).say(user("one")), Another(parts.world, OTHER).say(user("two"))
    roots = [Root(AGENTS["opencode"], maker.path.parent, maker.path.name) for maker in (first, second)]
    parts.catalog.sweep(roots[:1])
    assert paths(parts.catalog.sources.values()) == [f"{first.path}#{first.id}"]
    parts.catalog.sweep(roots[1:])
    assert sorted(paths(parts.catalog.sources.values())) == sorted(
        [f"{first.path}#{first.id}", f"{second.path}#{second.id}"]
    )
    assert not any(source.gone for source in parts.catalog.sources.values())


# -- what cannot be read -----------------------------------------------------------------------------


@pytest.fixture
def closed(monkeypatch):
    """Return a set of folders that cannot be listed; tests add to it."""
    found, scan = set(), os.scandir

    def scandir(path):
        if str(path) in found:
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    return found


def test_what_is_in_a_folder_that_cannot_be_read_is_not_gone(parts, closed):
    """Its sources are not gone, and the problem is logged once until it changes."""
    file = parts.world.claude().append("{}\n")
    source = parts.source()
    closed.add(str(file.path.parent))
    for _ in range(2):
        assert parts.sweep() == []
    assert not source.gone
    root = str(parts.world.home / ".claude")
    assert parts.said("root.unreadable") == [{"path": root, "problem": "Permission denied"}]
    closed.clear()
    parts.sweep()
    closed.add(str(file.path.parent))
    parts.sweep()
    assert len(parts.said("root.unreadable")) == 2


@pytest.mark.parametrize(("when", "history"), [("meanwhile", 0), ("before", 3)])
def test_what_was_written_while_a_folder_was_closed_is_new(parts, closed, when, history):
    """Files are compared with the last sweep that could list their folder, not with the last sweep of the root."""
    folder = parts.world.claude().append("{}\n").path.parent
    parts.sweep()
    seen = swept(parts)
    closed.add(str(folder))
    new = parts.world.claude(OTHER).append("{}\n")
    at = seen + 10**6 if when == "meanwhile" else seen - 10**9
    os.utime(new.path, ns=(at, at))
    time_of_root = time.time_ns() + 10**9
    parts.catalog._coverage._times[str(parts.world.home / ".claude")] = seen
    parts.sweep()
    parts.catalog._coverage._times[str(parts.world.home / ".claude")] = time_of_root
    closed.clear()
    assert parts.source().history == history


def test_a_folder_that_was_never_readable_holds_history(unseen, closed):
    """A folder that could not be read so far holds history: katod does not know what predates it."""
    file = unseen.world.claude().append("{}\n")
    closed.add(str(file.path.parent))
    unseen.sweep()
    closed.clear()
    assert unseen.source().history == 3


def test_a_closed_folder_is_remembered_after_a_restart(unseen, closed):
    """The unreadable folder is stored in the ledger, as it may become readable while katod is down."""
    file = unseen.world.claude().append("{}\n")
    closed.add(str(file.path.parent))
    unseen.sweep()
    closed.clear()
    unseen.catalog = Catalog(unseen.ledger, unseen.log)
    assert unseen.source().history == 3


def test_a_damaged_database_is_a_closed_place(parts):
    """The sessions of a damaged database are not gone, and what is written to it in the meantime is new."""
    maker = OpenCode(parts.world).say(user("one"))
    parts.sweep()
    [source] = parts.catalog.sources.values()
    maker.database.close()
    maker.path.write_bytes(b"garbage" * 1000)
    parts.sweep()
    assert not source.gone
    assert f"{maker.path}#" in parts.ledger.roots()


# -- hints and single folders ------------------------------------------------------------------------


def root_of(parts, agent):
    return next(root for root in parts.roots if root.agent == agent)


def test_a_hint_is_one_look(parts):
    """A hint checks only the file it names, and returns it if it is new or changed."""
    file, other = parts.world.claude().append("{}\n"), parts.world.claude(OTHER).append("{}\n")
    root = root_of(parts, "claude")
    assert paths(parts.catalog.hint(root, str(file.path))) == [str(file.path)]
    assert parts.catalog.hint(root, str(file.path)) == []
    assert parts.catalog.hint(root, str(file.path.with_name("gone.jsonl"))) == []
    assert paths(parts.sweep()) == [str(other.path)]


def test_a_hint_for_a_source_with_a_problem_is_another_try(parts):
    """A hint for a source with a problem retries it: its permissions may have changed, but not its size or time."""
    file = parts.world.claude().append("{}\n")
    source = parts.source()
    put(source, problem="cannot be opened")
    assert parts.catalog.hint(root_of(parts, "claude"), str(file.path)) == [source]


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_hint_for_a_database_looks_at_its_sessions(parts, suffix):
    """A hint for a database, or for its WAL, returns the session that changed."""
    maker = OpenCode(parts.world).say(user("one"))
    parts.sweep()
    maker.say(says("two"))
    [found] = parts.catalog.hint(root_of(parts, "opencode"), f"{maker.path}{suffix}")
    assert found.path == f"{maker.path}#{maker.id}"


def test_a_single_folder_is_looked_at_without_those_below(parts):
    """Subfolders are not included, and no source is marked as gone: that needs a full sweep."""
    file = parts.world.claude().append("{}\n")
    parts.sweep()
    Claude(parts.world, SESSION, subagent="abc").append("{}\n")
    folder = (root_of(parts, "claude"), str(file.path.parent))
    assert parts.catalog.sweep_folders([folder]) == []
    file.append("{}\n")
    assert paths(parts.catalog.sweep_folders([folder])) == [str(file.path)]
    file.path.unlink()
    assert parts.catalog.sweep_folders([folder]) == []
    assert not any(source.gone for source in parts.catalog.sources.values())


# -- what is newer in memory -------------------------------------------------------------------------


def test_what_changed_is_stored_at_the_next_flush(parts):
    """A changed source is stored by the next flush, and its near misses are counted once."""
    parts.world.claude().append("{}\n")
    source = parts.source()
    put(source, cursor=Cursor(3))
    source.add_near_misses([NearMiss("pasted", "stop")])
    assert not parts.catalog.unsaved
    parts.catalog.changed(source)
    for _ in range(2):
        parts.catalog.flush()
        parts.catalog.changed(source)
    assert parts.ledger.sources_of(source.session)[0].cursor == Cursor(3)
    [stored] = parts.ledger.near_misses()
    assert (stored.session, stored.kind, stored.word) == (source.identity.key, "pasted", "stop")
    assert source.near_misses == ()
    parts.catalog.flush()
    assert not parts.catalog.unsaved


def test_what_a_step_stored_need_not_be_flushed(parts):
    """A step has stored the source and its near misses, so there is nothing left to flush."""
    parts.world.claude().append("{}\n")
    source = parts.source()
    source.add_near_misses([NearMiss("misspelt", "start")])
    parts.catalog.changed(source)
    parts.catalog.saved([source])
    assert not parts.catalog.unsaved
    assert [row.word for row in parts.ledger.near_misses()] == ["start"]


def test_a_problem_is_logged_once_and_stored(parts):
    """A problem is logged only when it changes, and is stored by the next flush."""
    parts.world.claude().append("{}\n")
    source = parts.source()
    for problem in ("broken", "broken", "", "", "broken"):
        parts.catalog.note_problem(source, problem)
    assert [fields["problem"] for fields in parts.said("source.unreadable")] == ["broken"] * 2
    parts.catalog.flush()
    assert parts.ledger.sources_of(source.session)[0].problem == "broken"
    parts.catalog.note_problem(source, "broken")
    assert not parts.catalog.unsaved


@pytest.mark.parametrize(
    ("fields", "unread"),
    [
        ({"baseline": None, "cursor": Cursor(3)}, True),
        ({"cursor": Cursor(2)}, True),
        ({"cursor": Cursor(3), "problem": "broken"}, True),
        ({"cursor": Cursor(3)}, False),
        ({"cursor": Cursor(2), "gone": True}, False),
    ],
)
def test_a_start_takes_up_what_was_not_read_to_its_end(parts, fields, unread):
    """A source is unread if it was never opened, not read to its end, or not readable; one that is gone is not."""
    parts.world.claude().append("{}\n")
    source = parts.source()
    put(source, **fields)
    assert parts.catalog.unread() == [source] * unread


@pytest.mark.parametrize(("state", "stored"), [(None, 1), ({"kept": True}, 3)])
def test_a_source_that_holds_text_back_is_stored_where_it_has_to_be_read_again(parts, state, stored):
    """The stored cursor is where the held-back text begins, unless the state is kept; the one in memory stays."""
    parts.world.claude().append("{}\n")
    source = parts.source()
    put(source, cursor=Cursor(3), state=state)
    source.hold(Cursor(1), pending=True)
    parts.ledger.save_source(source.stored)
    assert parts.ledger.sources_of(source.session)[0].cursor == Cursor(stored)
    assert source.cursor == Cursor(3)


def test_nothing_of_what_was_read_is_kept_of_a_source_that_was_rewritten(parts):
    """Neither where text was held back, nor what was read ahead: a restart would take the file for rewritten once more.

    Then what was typed since would count as history.
    """
    parts.world.claude().path.write_bytes(b'{"a line": "without an end')
    source = parts.source()
    source.hold(Cursor(1), pending=True)
    with source.spec.open(source.path) as file:
        source.next_batch(file, 1 << 20)
    source.stepped((1, 1))
    assert kept_of(source) == {"row", "_resume_at", "_partial", "_read"}
    source.was_rewritten()
    source.read_again()
    assert source.stored.cursor == START
    assert kept_of(source) == {"row"}


def kept_of(source):
    """Return what a source knows."""
    return {name for name in source.__slots__ if getattr(source, name)}


def test_a_moved_source_keeps_the_place_to_resume_from(parts):
    """While text is held back, the ledger has the cursor before it; that the file is moved does not change this."""
    file = parts.world.claude().append(Claude().user("one"))
    source = parts.source()
    put(source, cursor=Cursor(100))
    source.hold(Cursor(40), pending=True)
    moved = file.path.parent.parent / "-home-me-moved" / file.path.name
    moved.parent.mkdir()
    file.path.rename(moved)
    parts.sweep()
    [stored] = parts.ledger.sources_of(source.session)
    assert (stored.path, stored.cursor.offset) == (str(moved), 40)


def test_a_root_within_another_agents_root_is_its_own(parts):
    """A sweep of the outer one does not miss what only the inner one can find."""
    outer = Root(AGENTS["gemini"], parts.world.home / ".gemini")
    inner = Root(AGENTS["antigravity"], parts.world.home / ".gemini/antigravity-cli")
    Antigravity(parts.world).say(user("hello"))
    assert len(parts.catalog.sweep([outer, inner])) == 1
    for roots in ([outer, inner], [inner, outer]):
        assert parts.catalog.sweep(roots) == []
        assert not any(source.gone for source in parts.catalog.sources.values())
