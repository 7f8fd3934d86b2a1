"""The sessions that a person chooses from."""

import pytest

from katod.cli.choices import Choices
from katod.discover.found import FoundSession
from katod.model import SessionKey

TITLES = ["Login page", "Basket", None, "login test", "Ünïcode"]


@pytest.fixture
def opened():
    """Return the list of the sessions that were opened."""
    return []


@pytest.fixture
def sessions():
    """Return five sessions; nothing was said in the third."""
    return [FoundSession(SessionKey("claude" if n % 2 else "codex", f"id-{n}")) for n in range(5)]


def choices(sessions, opened=None, marked=None):
    def describe(found):
        number = int(found.key.id[3:])
        if opened is not None:
            opened.append(number)
        title = TITLES[number % 5]
        return title and {"agent": found.key.agent, "session": found.key.id, "title": title, "project": f"/p/{number}"}

    return Choices(sessions, describe, marked)


def titles(shown):
    return [row["title"] for row in shown.rows]


def test_the_newest_come_first_and_one_is_marked(sessions):
    """The first one, or the one that is given; one in which nothing was said is left out."""
    shown = choices(sessions).shown(10)
    assert (titles(shown), shown.at, shown.matching) == ([title for title in TITLES if title], 0, 4)
    marked = choices(sessions, marked=sessions[3])
    assert marked.shown(10).at == 2
    assert marked.marked is sessions[3]


def test_moving_stops_at_both_ends(sessions):
    """The marked one is always among those that are shown."""
    made = choices(sessions)
    made.shown(10)
    for by, expected in ((1, 1), (5, 4), (-1, 3), (-9, 0)):
        made.move(by)
        assert made.marked is sessions[expected]
        assert made.shown(2).rows[made.shown(2).at]["session"] == f"id-{expected}"


def test_all_words_must_be_found(sessions):
    """In the title, the project, the agent or the id, in any case; then the first that matches is marked."""
    made = choices(sessions, marked=sessions[4])
    while made.open_next():
        pass
    for words, expected in (
        ("LOGIN", [0, 3]),
        ("login test", [3]),
        ("id-1", [1]),
        ("codex", [0, 4]),
        ("ünï", [4]),
        ("zz", []),
    ):
        made.filter_by(words)
        assert [row["session"] for row in made.shown(10).rows] == [f"id-{n}" for n in expected]
        assert made.marked is (sessions[expected[0]] if expected else None)
    made.move(1)
    made.filter_by("")
    assert made.marked is sessions[4]


def test_only_what_is_shown_is_opened(sessions, opened):
    """And, when there is time, all others, each once."""
    many = [FoundSession(SessionKey("claude", f"id-{n}")) for n in range(1_000)]
    made = choices(many, opened)
    made.shown(4)
    assert opened == [0, 1, 2, 3, 4]  # one of them was empty
    assert made.unopened == 1_000
    while made.open_next():
        pass
    assert made.unopened == 0
    assert len(opened) == len(set(opened)) == 1_000
    made.filter_by("id-999")
    assert titles(made.shown(4)) == ["Ünïcode"]
