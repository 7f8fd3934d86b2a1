"""The sweep: every file that may be a session, and what cannot be read."""

import os
import sys
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import find_roots, stat_source, strange_files, sweep
from tests.support.parts import Parts
from tests.support.records import MAKERS, OTHER, SESSION, Claude, OpenCode, user


def found(agent):
    """Return the paths that the sweep finds for an agent, with their stats, and the problems."""
    problems = {}
    roots = [root for root in find_roots(Settings(), AGENTS) if root.agent == agent]
    return dict(item for root in roots for item in sweep(root, problems)), problems


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_the_session_of_every_agent_is_found(world, make):
    """The session is found in the agent's folder, and `stat_source` returns the same stat for its path alone."""
    maker = make(world).say(user("hello"))
    files, problems = found(maker.agent)
    assert problems == {}
    [(path, stat)] = files.items()
    assert path.startswith(str(maker.path))
    identity, same = stat_source(AGENTS[maker.agent], path)
    assert identity.key.agent == maker.agent
    assert same == stat


def test_a_stat_tells_size_time_and_inode(world):
    """The stat has the size, modification time, device and inode of the file."""
    session = world.claude().append("hello\n")
    os.utime(session.path, ns=(1_000, 2_000))
    [stat] = found("claude")[0].values()
    status = session.path.stat()
    assert stat == (6, 2_000, status.st_dev, status.st_ino)


def test_other_files_and_hidden_folders_are_passed_over(world):
    """Other files, hidden folders, pipes and links are ignored: links may point anywhere."""
    session = world.claude().append("{}\n")
    folder = session.path.parent
    (folder / "notes.md").write_text("x")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / session.path.name).write_text("{}\n")
    (folder / f"{OTHER}.jsonl").symlink_to(session.path)
    folder.with_name("link").symlink_to(folder)
    os.mkfifo(folder / "fifo.jsonl")
    assert list(found("claude")[0]) == [str(session.path)]
    assert stat_source(AGENTS["claude"], str(folder / f"{OTHER}.jsonl")) is None
    assert stat_source(AGENTS["claude"], str(folder / "fifo.jsonl")) is None


def test_a_missing_folder_is_no_problem(world):
    """A missing folder is not a problem: the agent is not installed."""
    assert found("claude") == ({}, {})
    assert stat_source(AGENTS["claude"], str(world.home / ".claude/projects/-a" / f"{SESSION}.jsonl")) is None


def test_a_folder_that_cannot_be_read_is_named_and_hides_no_other(world, monkeypatch):
    """The sweep reports the unreadable folder and continues with the folders next to it."""
    closed = Claude(world, OTHER, folder="-closed").append("{}\n").path.parent
    session = world.claude().append("{}\n")
    scan = os.scandir

    def scandir(path):
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    files, problems = found("claude")
    assert list(files) == [str(session.path)]
    assert problems == {str(closed): "Permission denied"}


def test_a_name_that_is_no_text_is_passed_over(world):
    """A file name that is not valid UTF-8 is ignored, as the ledger stores text only."""
    session = world.claude().append("{}\n")
    with open(os.fsencode(session.path.parent) + b"/\xff.jsonl", "wb"):
        pass
    assert list(found("claude")[0]) == [str(session.path)]


def test_a_damaged_database_is_named_and_hides_no_other(world):
    """Each database below the root is read separately, so a damaged one does not affect the others."""
    store = OpenCode(world).say(user("hello"))
    damaged = store.path.with_name("opencode-dev.db")
    damaged.write_bytes(b"no database" * 100)
    files, problems = found("opencode")
    assert list(files) == [f"{store.path}#{store.id}"]
    assert list(problems) == [str(damaged)]
    assert stat_source(AGENTS["opencode"], f"{damaged}#ses_1") is None


def test_a_name_that_is_not_text_is_passed_over(world):
    """A link or a folder whose name is not valid text is no problem to be stored: the ledger stores only text."""
    folder = os.fsencode(OpenCode(world).path.parent)
    os.symlink(b"elsewhere.db", folder + b"/bad\xff.db")
    os.makedirs(os.fsencode(world.home / ".claude/projects") + b"/caf\xe9/inside")
    world.once()
    assert world.status()["problems"] == []


def test_a_database_that_is_not_the_named_one_is_passed_over(world, monkeypatch):
    """With `OPENCODE_DB`, no other database in its folder is read, in a sweep of the folder or for a hint either."""
    folder = world.home / "data"
    folder.mkdir()
    monkeypatch.setenv("OPENCODE_DB", str(folder / "work.db"))
    parts = Parts(world)
    [root] = [root for root in parts.roots if root.database]
    for name in ("work.db", "private.db"):
        OpenCode(world, database=f"data/{name}").say(user("hello"))
    found = [*parts.catalog.sweep_folders([(root, str(folder))]), *parts.catalog.hint(root, str(folder / "private.db"))]
    assert {source.path.partition("#")[0] for source in found} == {str(folder / "work.db")}


def test_files_like_sessions_are_counted_up_to_a_limit(world):
    """Whatever their names; other files are normal in an agent's folders."""
    [root] = [root for root in find_roots(Settings(), AGENTS) if root.agent == "codex"]
    folder = world.home / ".codex" / "sessions" / "v2" / "2026"
    assert strange_files(root) == 0
    folder.mkdir(parents=True)
    (folder / "config.toml").touch()
    assert strange_files(root) == 0
    for number in range(120):
        (folder / f"thread-{number}.jsonl").touch()
    assert strange_files(root) == 100


def test_a_sweep_in_which_nothing_changed_costs_by_files_not_by_agents(world):
    """A file that is known is looked at once, however many agents katod knows, and nothing is made of it."""
    parts = Parts(world)
    for number in range(200):
        parts.world.session(number).append("{}\n")
    roots = find_roots(Settings(), AGENTS)
    parts.catalog.sweep(roots)
    own = [root for root in roots if root.agent == "claude"]
    few, many = (calls_of(lambda these=these: parts.catalog.sweep(these)) for these in (own, roots))
    assert few < 21 * 200
    assert many - few < 200 * (len(roots) - len(own))


def calls_of(act):
    """Return how many functions in Python were called, generators for each value."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count
