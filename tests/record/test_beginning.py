"""What a session is about, from its first events."""

import os

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.record import beginning
from katod.record.beginning import name_at_end, name_beside, name_within, read_beginning
from tests.support.records import GeminiDocument, says, user


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


def names(session):
    """Return the names at the end of the only file of a session, and in its beginning."""
    path, identity, _ = session.files[-1]
    with AGENTS[identity.key.agent].open(path) as file:
        return name_at_end(session, file), name_within(session, file)


def test_the_name_of_a_session_is_looked_for_near_both_ends(world, monkeypatch):
    """The last one counts; what is far from both is not looked for."""
    monkeypatch.setattr(beginning, "_FAR", 3000)
    monkeypatch.setattr(beginning, "_NEAR", 1000)
    maker = world.claude()

    def named(name):
        maker.write({"type": "custom-title", "customTitle": name, "sessionId": maker.session})
        return names(found(world))

    maker.say(user("a login page"))
    assert names(found(world)) == ("", "")
    assert named("first") == ("first", "first")
    assert named("second") == ("second", "second")
    maker.say(*(says("x" * 500) for _ in range(10)))
    assert names(found(world)) == ("", "second")
    assert named("third") == ("third", "second")


def test_the_end_of_a_document_says_nothing(world):
    """It is no record."""
    GeminiDocument(world).say(user("a login page"))
    assert names(found(world)) == ("", "")


def test_a_session_is_about_its_beginning_alone(world, monkeypatch):
    """It is read until title and project are known, and not for ever."""
    monkeypatch.setattr(beginning, "_LOOK_AHEAD", 3)
    seen = []
    replay = beginning.replay

    def counted(*arguments, **named):
        for number, found_there in enumerate(replay(*arguments, **named)):
            seen.append(number)
            yield found_there

    monkeypatch.setattr(beginning, "replay", counted)
    maker = world.claude()
    maker.say(*(says(f"number {number}") for number in range(20)))
    read_beginning(found(world))
    assert seen == [0, 1, 2, 3]
    del seen[:]
    maker.path.unlink()
    world.claude().say(user("a login page"), *(says(f"number {number}") for number in range(20)))
    read_beginning(found(world))
    assert len(seen) < 4


def test_a_name_may_be_followed_by_a_long_answer(world):
    """Newer clients repeat it from time to time: it is found in the last 16 KB."""
    maker = world.claude()
    maker.say(user("a login page"))
    maker.write({"type": "custom-title", "customTitle": "named", "sessionId": maker.session})
    maker.say(says("x" * 14_000))
    assert names(found(world)) == ("named", "named")


def test_a_sub_agent_has_not_the_name_that_is_beside_its_session(world):
    """The name is that of the whole session."""
    world.claude().say(user("hello"))
    session = found(world)
    session.key = session.key._replace(subagent="a1")
    assert name_beside(session) == ""
