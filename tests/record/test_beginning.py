"""What a session is about, from its first events."""

import os

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.record.beginning import read_beginning
from tests.support.records import says, user


def found(world):
    """Return the only session of a world."""
    [session] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    return session


def test_a_session_is_about_what_was_said_first(world):
    """Its title is made of the first words, its project is where it began, and something was said."""
    maker = world.claude()
    maker.say(user("a login page"), says("with pleasure"), user("now something else"))
    metadata, spoken = read_beginning(found(world))
    assert (metadata.title, metadata.cwd, spoken) == ("a login page", maker.cwd, True)


def test_a_session_in_which_nothing_was_said_is_told_from_others(world):
    """A file without messages, as a client leaves that was only opened, has nothing to be about."""
    world.claude().write({"type": "summary", "summary": "Nothing", "leafUuid": "x"})
    metadata, spoken = read_beginning(found(world))
    assert (metadata.title, spoken) == ("", False)


def test_a_session_of_which_a_file_is_gone_is_about_what_is_left(world):
    """A file that was deleted since the session was found is skipped, as the list of sessions must not fail for it."""
    first, second = world.claude(), world.claude(folder="-home-me-app-2")
    first.say(user("in the first file"))
    second.say(user("in the second file"))
    os.utime(first.path, (1, 1))
    session = found(world)
    assert len(session.files) == 2
    first.path.unlink()
    metadata, spoken = read_beginning(session)
    assert (metadata.title, spoken) == ("in the second file", True)
    second.path.unlink()
    metadata, spoken = read_beginning(session)
    assert (metadata.title, spoken) == ("", False)
