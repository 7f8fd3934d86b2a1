"""What was said in a session, as hashes: their order, their bound, and what is kept; and the set of its ids."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.record import hashes
from katod.record.hashes import NOWHERE, IdSet, TextHashes
from tests.examples import examples

FIRST, ALL = 256, 1024  # places that stay, at the beginning and in total
# Few buckets, so that most numbers meet others in theirs; both ends of the range are among them.
NUMBERS = st.one_of(
    st.integers(0, 3), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-50, 50).map(lambda number: number * 1024)
)


def hashed(number: int) -> bytes:
    """Return a hash that stands for a number."""
    return number.to_bytes(8, "big")  # as many as are in the ledgers of earlier versions


def known(*numbers: int) -> TextHashes:
    """Return what is known once these were said."""
    these = TextHashes()
    for number in numbers:
        these.add([hashed(number)], is_prompt=number % 2 == 0)
    return these


@given(st.lists(st.integers(0, 9), max_size=20), st.lists(st.integers(0, 9), max_size=4), st.integers(-1, 20))
def test_a_place_is_the_next_one_in_order(said: list[int], wanted: list[int], at: int) -> None:
    """`after` finds each in turn at the next place after the last one, or nothing."""
    expected = at
    for number in wanted:
        expected = next((place for place in range(expected + 1, len(said)) if said[place] == number), NOWHERE)
        if expected == NOWHERE:
            break
    assert known(*said).after(at, map(hashed, wanted), len(said)) == expected


def test_what_was_said_at_the_end_or_later_does_not_count() -> None:
    """Only places before `end` count."""
    assert known(1, 2, 3).after(NOWHERE, [hashed(3)], 2) == NOWHERE
    assert known(1, 1).is_unique([hashed(1)], 1)
    assert not known(1, 1).is_unique([hashed(1)], 2)


def test_the_beginning_and_the_latest_places_of_a_long_session_stay() -> None:
    """What lies between them is forgotten."""
    long = known(*range(6000))
    found = [number for number in range(6000) if long.after(NOWHERE, [hashed(number)], 6000) == number]
    assert found == [*range(FIRST), *range(6000 - (ALL - FIRST), 6000)]


def test_what_is_kept_gives_the_same_places() -> None:
    """What is restored goes on as if there had been no restart."""
    long = known(*range(5000))
    again = TextHashes(json.loads(json.dumps(long.kept())))
    for these in (long, again):
        these.add([hashed(7777)], is_prompt=False)
    assert again.kept() == long.kept()
    assert again.after(NOWHERE, [hashed(3), hashed(4999), hashed(7777)], 6000) == 5000


def test_the_first_exchange_ends_at_the_second_prompt() -> None:
    """The first prompt and what follows it, up to the next one, are the first exchange."""
    these = known(1, 2, 3, 5, 4, 7)
    assert these.is_first_prompt((hashed(2),), 6)
    assert not these.is_first_prompt((hashed(4),), 6)
    assert [these.is_in_first_exchange(place) for place in range(6)] == [True] * 4 + [False] * 2


def test_a_place_before_the_latest_ones_has_a_gap_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """If what was said between the first and the latest is not remembered."""
    monkeypatch.setattr(hashes, "_FIRST", 1)
    monkeypatch.setattr(hashes, "_LATEST", 2)
    assert [known(1, 2, 3).has_gap_after(place) for place in range(3)] == [False, False, False]
    assert [known(1, 2, 3, 4, 5).has_gap_after(place) for place in range(5)] == [True, True, True, False, False]


def test_what_is_forgotten_is_forgotten_where_it_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words later on are still known; nothing is kept of those that are not."""
    monkeypatch.setattr(hashes, "_FIRST", 0)
    monkeypatch.setattr(hashes, "_LATEST", 2)
    these = known(1, 2, 1, 3)
    assert [these.after(NOWHERE, [hashed(number)], 9) for number in (1, 2, 3)] == [2, NOWHERE, 3]
    assert set(these._places) == {hashed(1), hashed(3)}


@examples(100, 5000)
@given(st.lists(NUMBERS), st.lists(NUMBERS))
def test_a_set_of_ids_has_what_was_added(added: list[int], asked: list[int]) -> None:
    """Like a `set`, in any order, and until it is cleared."""
    ids, expected = IdSet(), set[int]()
    for number in added:
        assert (number in ids) == (number in expected)
        ids.add(number)
        expected.add(number)
    assert [number in ids for number in (*added, *asked)] == [number in expected for number in (*added, *asked)]
    ids.clear()
    assert not any(number in ids for number in added)
