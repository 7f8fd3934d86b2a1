"""Every address, with the parameters that it takes: whole answers, as they are in a golden file."""

from tests.serve.answers import GOLDEN, text


def test_answers_are_those_of_the_golden_file() -> None:
    """Lists, pages of messages, exports, searches and pages for people, with their limits, orders and errors."""
    now, was = text().splitlines(), GOLDEN.read_bytes().splitlines()
    wrong = [f"{old[:2000]!r} became {new[:2000]!r}" for new, old in zip(now, was, strict=True) if new != old]
    assert wrong == [], "if meant: python -m tests.golden.update"
