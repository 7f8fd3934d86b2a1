"""The index of searches: it leaves out only what has not all words, and what has changed is read again."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import find_roots
from katod.search.query import Query
from katod.search.run import Search
from katod.serve.index.sessions import IndexScope, SessionIndex
from katod.serve.page import trigrams as index
from katod.serve.page.trigrams import TrigramIndex
from tests.examples import examples
from tests.support.records import says, user
from tests.support.world import World

WORDS = (
    ["apple"],
    ["APPLE", "pear"],
    ["app"],
    ["pp"],
    ["a"],
    ["none of it"],
    ["Straße"],
    ["STRASSE"],
    ["日本語"],
    ['"quo'],
    ["x" * 90],
)


def places():
    index = SessionIndex(IndexScope(Path(), tuple(find_roots(Settings(), AGENTS)), everything=True), redact=True)
    return list(index.all().values())


def found(words, sessions):
    return [(match.place.key, match.total, match.hits) for match in Search(Query(words)).run(sessions)]


@pytest.fixture
def known():
    """An index."""
    return TrigramIndex()


def take(known, sessions):
    list(known.take(sessions))


@pytest.fixture
def said(world):
    """Three sessions, with words that span what the index takes at once."""
    world.session(1).say(user("An Apple a day"), says("and a pear, in the Straße 日本語"))
    world.session(2).say(user("x" * 90), says('"quoted" none'), user("y" * 70 + "apple"))
    world.session(3).say(user("of it"), says("nothing\x00 else"))
    return world


@pytest.mark.parametrize("piece", [index._PIECE, 7])
def test_the_same_is_found_with_the_index(said, known, monkeypatch, piece):
    """For any words, in any case, wherever they are split, a search finds the same in what the index leaves."""
    monkeypatch.setattr(index, "_PIECE", piece)
    monkeypatch.setattr(index, "_STEP", piece)
    take(known, places())
    for words in WORDS:
        assert found(words, known.narrowed(Query(words).groups, places())) == found(words, places()), words
    assert known.narrowed([("nothing like this",)], places()) == []


def test_no_other_session_is_left_than_those_that_have_the_words(said, known):
    """The pieces of one are not taken for those of the one before or after it."""
    take(known, places())
    for number, words in enumerate((("straße", "pear"), ("quoted",), ("nothing",)), 1):
        [place] = known.narrowed([(word,) for word in words], places())
        assert place.key.id.startswith(f"{number:08x}")


def test_what_has_changed_is_read(said, known):
    """A session that went on is not left out, until it is indexed again."""
    maker = said.session(4).say(user("of it"))
    take(known, places())
    maker.say(says("a banana"))
    [place] = known.narrowed([("banana",)], places())
    assert place.key.id.startswith("00000004")
    assert len(known.narrowed([("nothing like this",)], places())) == 1
    take(known, places())
    assert known.narrowed([("nothing like this",)], places()) == []
    assert len(known.narrowed([("banana",)], places())) == 1


def test_the_index_is_bounded(said, monkeypatch):
    """What is too much is not indexed, and read whenever somebody searches."""
    monkeypatch.setattr(index, "_MOST", 0)
    known = TrigramIndex()
    take(known, places())
    assert len(known.narrowed([("nothing like this",)], places())) == 3


def room(known):
    """Return how much room there is beside the sessions that are in an index."""
    return index._MOST - sum(session.size for session in known._sessions.values())


@examples(10, 100)
@given(st.lists(st.tuples(st.sampled_from(["say", "take", "begin", "keep", "break"]), st.integers(1, 3)), max_size=25))
def test_room_is_given_back(steps):
    """There is what the sessions in the index leave, whatever they were before, and however an attempt to read one ended.

    So an index that has run for long takes what a new one takes.
    """
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        world = World(Path(folder) / "home", patch)
        makers = {number: world.session(number).say(user("An apple a day")) for number in (1, 2, 3)}
        known, moved = TrigramIndex(), world.home / "moved"
        for step, number in steps:
            maker = makers[number]
            entry = next(place for place in places() if place.key.id == maker.session)
            if step == "say":
                maker.say(says(f"more {known._left}"))
            elif step == "take":
                take(known, [entry])
            elif step == "begin":
                next(known.take([entry]), None)
            elif step == "keep":
                known.keep({entry.key})
            elif step == "break":
                maker.path.rename(moved)
                take(known, [entry])
                moved.rename(maker.path)
            assert known._left == room(known)
        known.keep(set())
        assert known._left == index._MOST


@pytest.mark.parametrize(("most", "left"), [(3000, 0), (100, 1)])
@pytest.mark.whole
def test_an_index_of_sessions_that_change_stays_open_for_others(world, monkeypatch, most, left):
    """However often they do: only what they are now takes room, also where there is no more."""
    monkeypatch.setattr(index, "_MOST", most)
    known = TrigramIndex()
    letters = "abcdefghijklmnopqrstuvwxyz"
    maker = world.session(1).say(user("".join(a + b for a in letters for b in letters)))
    for number in range(20):
        maker.say(says(f"once more {number}"))
        take(known, places())
        assert known.narrowed([("nothing like this",)], places()) == []
    world.session(2).say(user("another one"))
    take(known, places())
    assert len(known.narrowed([("nothing like this",)], places())) == left


def test_what_is_served_no_longer_is_forgotten(said, known):
    """Nothing of a session that is gone stays in memory, from the next search on."""
    take(known, places())
    kept, *gone = places()
    known.keep({kept.key})
    assert known._left == room(known)
    assert list(known._sessions) == [kept.key]
    assert [place.key for place in known.narrowed([("nothing like this",)], places())] == [one.key for one in gone]
