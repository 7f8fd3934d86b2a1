"""Whole searches: order, limits, and what is found twice."""

import os

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.search.outputs import existing, transcripts_below
from katod.search.query import Query
from katod.search.run import Search
from tests.support.records import OpenCode, OpenCode2, says, user


def _found():
    return list(find_sessions(find_roots(Settings(), AGENTS), {}).values())


def _session(world, number, text, at):
    """Write a session whose file changed so many seconds after 2026."""
    session = world.session(number)
    session.append({**session.user(text), "timestamp": f"2026-01-01T00:{at:02}:00.000Z"})
    os.utime(session.path, (1_767_225_600 + 60 * at,) * 2)
    return session


def test_the_newest_hits_come_first(world):
    """Sessions are ordered by their newest hit, whatever was said in them afterwards."""
    for number, at in ((1, 10), (2, 30), (3, 20)):
        _session(world, number, "a needle", at)
    matches = Search(Query(["needle"])).run(_found())
    assert [match.session[:8] for match in matches] == ["00000002", "00000003", "00000001"]


def test_files_older_than_what_is_shown_are_not_opened(world):
    """A hit is not newer than its file: once enough was found, the rest is left alone, and that is said."""
    for number, at in ((1, 10), (2, 30), (3, 20)):
        _session(world, number, "a needle", at)
    oldest = world.home / ".claude/projects/-home-me-app"
    next(path for path in oldest.iterdir() if path.name.startswith("00000001")).chmod(0)
    search = Search(Query(["needle"]))
    assert [match.session[:8] for match in search.run(_found(), 2)] == ["00000002", "00000003"]
    assert not search.is_complete
    assert search.problems == {}
    assert Search(Query(["needle"])).run(_found(), 5)[2:] == [] or os.geteuid() == 0


def test_what_was_said_before_a_time_is_left_out(world):
    """The hits count, not only the files."""
    session = _session(world, 1, "an old needle", 10)
    session.append({**session.user("something new"), "timestamp": "2026-01-01T00:40:00.000Z"})
    assert Search(Query(["needle"]), oldest=1_767_225_600 + 60 * 20).run(_found()) == []
    assert len(Search(Query(["new"]), oldest=1_767_225_600 + 60 * 20).run(_found())) == 1


def test_a_session_and_its_transcript_show_a_hit_once(world):
    """What is in both is shown once; what a person wrote into the transcript, and what is only in the session, too."""
    session = world.claude()
    session.append(session.user("a needle before"), session.user("::start notes\na needle recorded"))
    session.append(session.says("Yes."))
    world.once()
    [path] = world.files()
    path.write_text(path.read_text() + "\nMy needle.\n")
    places = [*existing([path]), *_found()]
    matches = Search(Query(["needle"])).run(places)
    assert sum(len(match.hits) for match in matches) == 3
    assert {hit.snippet for match in matches for hit in match.hits} == {
        "a needle before",
        "a needle recorded",
        "Yes. My needle.",
    }


def test_a_fork_shows_a_copied_message_once(world):
    """A fork has the records of its parent, with their ids."""
    session = world.session(1)
    record = session.user("a needle")
    session.append(record)
    fork = world.session(2)
    fork.append(record | {"sessionId": fork.session})
    assert len(Search(Query(["needle"])).run(_found())) == 1


def test_sessions_in_databases_are_asked_for_in_sql(world, monkeypatch):
    """Only sessions with a row for each word are read; a database that cannot be read is a problem, and no more."""
    for name, maker in (("0001aaaa", OpenCode), ("0002aaaa", OpenCode)):
        maker(world, name).say(user(f"a needle 100%_ {name}"), says("In the haystack."))
    opened = []
    monkeypatch.setattr(Search, "_hits", lambda self, place, own=Search._hits: opened.append(place) or own(self, place))
    matches = Search(Query(["0002AAAA", "100%_"])).run(_found())
    assert [match.session for match in matches] == ["ses_0002aaaa"]
    assert len(opened) == 1


def test_the_second_generation_of_a_database_is_searched(world):
    """Its messages are rows of another table."""
    OpenCode2(world, "0001aaaa").say(user("a needle"), says("Here."))
    assert len(Search(Query(["needle"])).run(_found())) == 1


def test_a_database_that_is_damaged_does_not_end_a_search(world):
    """It is named, and the rest is searched."""
    OpenCode(world, "0001aaaa").say(user("a needle"), says("Here."))
    _session(world, 1, "a needle", 10)
    found = _found()
    database = world.home / ".local/share/opencode/opencode.db"
    database.write_bytes(b"no database")
    search = Search(Query(["needle"]))
    assert len(search.run(found)) == 1
    assert list(search.problems) == [str(database)]


def test_only_wanted_matches_count(world):
    """The limit is one of matches that are wanted."""
    for number, at in ((1, 10), (2, 30)):
        _session(world, number, "a needle", at)
    wants = lambda match: match.session.startswith("00000001")  # noqa: E731
    assert len(Search(Query(["needle"]), wants).run(_found(), 1)) == 1


def test_nothing_is_searched_in_an_empty_folder(tmp_path):
    """There is nothing to find, and nothing to complain about."""
    search = Search(Query(["needle"]))
    assert search.run(transcripts_below(tmp_path)) == []
    assert search.is_complete
