"""Needles in six scripts: a search of all sessions finds exactly those in which somebody said it."""

import random
from collections.abc import Iterator

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import FoundSession, find_sessions
from katod.discover.roots import find_roots
from katod.model import SessionKey
from katod.search.query import Query
from katod.search.run import Search
from tests.examples import mostly
from tests.support.records import MAKERS, says, user
from tests.support.world import World

# Letters of which each case can be had from the other, so that Python's own folding says what is the same.
SCRIPTS = {
    "latin": "abcdefghij klmnoprstuvz éüñçøå",
    "cyrillic": "абвгдежзик лмнопрстуфх ёїґ",
    "greek": "αβγδεζηθικ λμνξοπρτυφ άέώ",
    "japanese": "のにはをたがでと カタナ日本語検索 々ー。",
    "hebrew and arabic": "אבגדהוז שלום مرحبا سلام",
    "hindi": "कखगघचछज टठडढ नमस्ते",
}
NEEDLES = 50  # of each script
MESSAGES = 5  # of each side, in each session


@pytest.fixture
def texts(world: World) -> dict[SessionKey, list[str]]:
    """Return what is said in each session, of one session of each agent."""
    chance, said = random.Random("needles"), dict[SessionKey, list[str]]()
    for number, maker in enumerate(MAKERS, 1):
        made = maker(world, f"{number:08x}{maker.SESSION[8:]}")
        lines = [_text(chance, letters) for letters in SCRIPTS.values() for _ in range(MESSAGES * 2)]
        made.say(*(user(text) if at % 2 else says(text) for at, text in enumerate(lines)))
        [key] = {place.key for place in _places()} - said.keys()
        said[key] = lines
    return said


def _text(chance: random.Random, letters: str) -> str:
    """Return a few words, with a beginning that no format takes for anything but words."""
    return "So " + "".join(chance.choice(letters) for _ in range(60)).strip() + " it is"


def _needles(chance: random.Random, said: list[str]) -> Iterator[str]:
    """Yield parts of what was said, most in another case, and some that nobody said."""
    while True:
        text = chance.choice(said)
        begin = chance.randrange(3, 50)
        needle = text[begin : begin + chance.randrange(2, 12)].strip()
        needle = chance.choice([str, str.upper, str.lower, str.swapcase])(needle)
        if len(needle) > (5 if needle.isascii() else 1):  # shorter ones are also in what the agents write of themselves
            yield needle[::-1] if chance.random() < 0.2 else needle


def _places() -> list[FoundSession]:
    return list(find_sessions(find_roots(Settings(), AGENTS), {}).values())


@pytest.mark.parametrize("script", mostly(["japanese"], SCRIPTS))
def test_exactly_the_sessions_are_found_in_which_it_was_said(texts, script):
    """In every agent's files, whatever the case and however the agent escapes what it writes."""
    places, chance = _places(), random.Random(script)
    spoken = [text for said in texts.values() for text in said if set(text[3:-6]) <= set(SCRIPTS[script])]
    needles = _needles(chance, spoken)
    for needle in (next(needles) for _ in range(NEEDLES)):
        found = {match.place.key for match in Search(Query([needle])).run(places)}
        folded = needle.casefold()
        expected = {key for key, said in texts.items() if any(folded in text.casefold() for text in said)}
        assert found == expected, needle
