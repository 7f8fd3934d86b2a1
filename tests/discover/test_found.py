"""The sessions that commands list."""

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots


def test_sessions_are_found_with_their_files(world):
    """Each session once, with all of its files; nothing is wrong."""
    for folder in ("-a", "-b"):
        world.claude(folder=folder).append("{}\n")
    problems = {}
    [found] = find_sessions(find_roots(Settings(), AGENTS), problems).values()
    assert (len(found.files), found.size, problems) == (2, 6, {})


def test_a_store_of_another_form_is_a_problem(world):
    """Its root is named, unless a part of it cannot be read anyway."""
    folder = world.home / ".codex" / "sessions"
    folder.mkdir(parents=True)
    (folder / "thread-1.jsonl").touch()
    problems = {}
    assert find_sessions(find_roots(Settings(), AGENTS), problems) == {}
    assert list(problems) == [str(world.home / ".codex")]
