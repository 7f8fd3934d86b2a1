"""The index of searches: it leaves out only what has not all words, and what has changed is read again."""

from contextlib import closing
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import find_roots
from katod.search.query import Query
from katod.search.run import Search
from katod.serve.index.sessions import IndexScope, SessionIndex
from katod.serve.page import trigrams as index
from katod.serve.page.trigrams import TrigramIndex
from tests.support.records import says, user

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
    """An index, closed when the test is over."""
    with closing(TrigramIndex()) as one:
        yield one


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
    with closing(TrigramIndex()) as known:
        take(known, places())
        assert len(known.narrowed([("nothing like this",)], places())) == 3
