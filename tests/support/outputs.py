"""Helpers that read outputs."""

from tests.support.reading import lines
from tests.support.world import World


def only(world: World, suffix: str = ".md") -> str:
    """Return the text of the only output with this suffix."""
    found = {name: text for name, text in world.written().items() if name.endswith(suffix)}
    assert len(found) == 1, list(found)
    return next(iter(found.values()))


def counts(text: str, *names: str) -> list[int]:
    """Return how often each name is a line of its own in a transcript."""
    found = lines(text)
    return [found.count(name) for name in names]
