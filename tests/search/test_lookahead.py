"""Which places certainly have no hit, found by other processes ahead of the search."""

import os

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.search import lookahead
from katod.search.lookahead import sifted
from katod.search.query import Query
from katod.search.run import Search, Terms
from katod.search.transcriptfiles import existing
from tests.support.records import MAKERS, says, user

NEEDLE = "needle"


@pytest.fixture(autouse=True)
def _several(monkeypatch):
    """Use processes for any amount of work, and more than one piece."""
    monkeypatch.setattr(lookahead, "_LEAST", 0)
    monkeypatch.setattr("katod.processes._PIECE", 300)
    monkeypatch.setattr("katod.processes.cores", lambda: 2)


def _found():
    return list(find_sessions(find_roots(Settings(), AGENTS), {}).values())


def _sessions(world, count=12):
    """Write sessions, of which every third one has the needle."""
    for number in range(1, count + 1):
        session = world.session(number)
        session.say(user(NEEDLE if number % 3 == 0 else "hay"), says(f"answer {number}"))
        os.utime(session.path, (1_767_225_600 + number,) * 2)


@pytest.mark.parametrize("terms", [Terms(), Terms(most=2), Terms(order="best"), Terms(most=1, by_session=True)])
def test_a_search_finds_the_same_with_and_without_it(world, terms):
    """The same matches in the same order, and as much is known of them."""
    _sessions(world)
    query, places = Query([NEEDLE]), _found()
    plain, job = Search(query, terms), Search(query, terms)
    possible = job.possible(places)
    with sifted(possible, query) as may_match:
        matches = job.search(possible, may_match)
    assert matches == plain.run(places)
    assert (job.is_complete, job.problems) == (plain.is_complete, plain.problems)
    assert matches


def test_what_certainly_has_no_hit_is_not_searched(world):
    """Only the places that have the word are opened by the search itself."""
    _sessions(world)
    query = Query([NEEDLE])
    possible = Search(query).possible(_found())
    with sifted(possible, query) as may_match:
        found = [place.key.id for number, place in enumerate(possible) if may_match(number)]
    assert [name[:8] for name in found] == ["0000000c", "00000009", "00000006", "00000003"]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_in_every_agent_a_session_with_the_word_may_have_hits(world, make):
    """In a file, a document or a database; one that lacks it has none."""
    make(world).say(user("hello"), says(NEEDLE))
    own = {place.key for place in _found()}
    _sessions(world)  # one place is not looked at elsewhere
    for word in (NEEDLE, "absent-word"):
        query = Query([word])
        possible = Search(query).possible(_found())
        with sifted(possible, query) as may_match:
            found = [may_match(number) for number, place in enumerate(possible) if place.key in own]
        assert found == [word == NEEDLE] * len(found)


def test_what_cannot_be_read_is_left_to_the_search(world):
    """It says what is wrong."""
    _sessions(world)
    possible = Search(Query([NEEDLE])).possible(_found())
    for place in possible:
        os.unlink(place.files[0][0])
    with sifted(possible, Query([NEEDLE])) as may_match:
        assert all(may_match(number) for number, _ in enumerate(possible))


def test_transcripts_are_left_to_the_search(world):
    """They say of themselves what their session is."""
    world.claude().say(user("::start a.md"), says(NEEDLE))
    world.process()
    places = list(existing(world.outputs()))
    with sifted(places, Query(["absent-word"])) as may_match:
        assert [may_match(number) for number, _ in enumerate(places)] == [True]
