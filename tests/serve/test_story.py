"""The index, the list and its changes in a long story."""

from tests.serve.story import GOLDEN, text


def test_the_list_goes_as_in_the_golden_file() -> None:
    """New sessions, hints of them and none, recordings, names, pauses, files that are gone, sessions that are forgotten."""
    now, was = text().splitlines(), GOLDEN.read_bytes().splitlines()
    wrong = [f"{old[:3000]!r} became {new[:3000]!r}" for new, old in zip(now, was, strict=True) if new != old]
    assert wrong == [], "if meant: python -m tests.golden.update"
