"""A long story of recordings: what katod logs, writes and knows after each step, as it is in a golden file."""

import pytest

from tests.record.story import GOLDEN, text


@pytest.mark.breaks
def test_recordings_go_as_in_the_golden_file() -> None:
    """Commands, files that a person changes, sources that an agent changes, settings, and sessions beside others."""
    now, was = text().splitlines(), GOLDEN.read_bytes().splitlines()
    wrong = [f"{old[:2000]!r} became {new[:2000]!r}" for new, old in zip(now, was, strict=True) if new != old]
    assert wrong == [], "if meant: python -m tests.golden.update"
