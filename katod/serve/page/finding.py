"""A search for people: in what was said, with the sessions that it was said in. For the searching thread."""

import shlex
from collections.abc import Iterable
from typing import Final

from katod.discover.found import Found
from katod.formats.ownlines import SIGN
from katod.search.query import Query
from katod.search.run import Match, Search, ShownHit, Terms

LONGEST: Final = 500  # characters of a query
_MOST: Final = 40  # sessions
_EACH: Final = 3  # hits of each kind in a session
_WIDTH: Final = 240


def words_of(query: str) -> list[str]:
    """Return the words of a query; those in quotes stand together."""
    try:
        words = shlex.split(query[:LONGEST])
    except ValueError:  # a quote is open
        words = query[:LONGEST].split()
    return [word for word in words if word.strip()]


def find(words: list[str], places: Iterable[Found]) -> list[Match]:
    """Return the sessions that have all words, those with the newest hits first."""
    return Search(Query(words), Terms(most=_MOST, each=_EACH, width=_WIDTH)).run(places)


def telling(match: Match) -> list[ShownHit]:
    """Return the hits that are shown, newest first: what tools were given and returned only if little was said."""
    said = [hit for hit in match.hits if SIGN not in hit.speaker]
    others = [hit for hit in match.hits if SIGN in hit.speaker][: max(0, _EACH - len(said))]
    return [hit for hit in match.hits if hit in said or hit in others]
