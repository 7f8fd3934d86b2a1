"""Trials of small changes: which are drawn, what is run, and ten of them each day."""

import os
import time
from datetime import UTC, datetime

import pytest

from tests.modules import ROOT
from tests.mutants.equivalent import REASONS, reason
from tests.mutants.trial import PARTS, draw, mutants, stages, try_all

DRAWN = 10
MOST = 3  # of ten may live; on a busy machine, few are tried to their end, and none may be
SECONDS = 200


def test_a_seed_draws_the_same_mutants_again():
    """Another seed draws others; no line is drawn twice."""
    once, again, other = (draw(seed, 20, ("write/recover.py", "write/safe.py")) for seed in ("a", "a", "b"))
    assert once == again
    assert once != other
    assert len({mutant.place for mutant in once}) == 20


def test_the_tests_of_a_module_are_run_first():
    """Then those of its part, at last all others."""
    mirrored, part, others = stages("katod/write/recover.py")
    assert mirrored == ["tests/write/test_recover.py"]
    assert part == ["tests/write", "--deselect=tests/write/test_recover.py"]
    assert others == ["--ignore=tests/write", "tests"]


@pytest.mark.slow
def test_equivalent_mutants_still_exist():
    """A reason for a change of code that is no longer there has to go."""
    assert set(REASONS) - {mutant.words for mutant in mutants(PARTS)} == set()


@pytest.mark.slow
def test_a_mutant_is_tried_in_a_copy():
    """A test that fails kills it, and is named; the checkout stays as it is, and without time nothing is decided."""
    path = "katod/write/recover.py"
    before = (ROOT.parent / path).read_bytes()
    mutant = next(one for one in mutants(["write/recover.py"]) if "[found >= 0 → found < 0]" in one.words)
    [outcome] = try_all([mutant], 1)
    assert outcome.verdict == "killed"
    assert outcome.by.startswith("tests/write/test_recover.py::")
    [outcome] = try_all([mutant], 1, time.monotonic())
    assert (outcome.verdict, outcome.by) == ("undecided", "")
    assert (ROOT.parent / path).read_bytes() == before


@pytest.mark.slow
def test_most_small_changes_of_today_are_noticed():
    """Of ten, drawn by the date, so many may live; those that do are shown, and may be what a test is missing for."""
    drawn = [mutant for mutant in draw(datetime.now(UTC).date().isoformat(), DRAWN * 2) if not reason(mutant)][:DRAWN]
    outcomes = list(try_all(drawn, min(2, os.cpu_count() or 1), time.monotonic() + SECONDS))
    shown = "\n".join(f"{one.verdict} {one.mutant.place} {one.mutant.words} {one.by}" for one in outcomes)
    print(shown)
    assert sum(one.verdict == "lived" for one in outcomes) <= MOST, shown
