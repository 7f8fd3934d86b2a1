"""Real sessions for programs that take long: some of each agent, evenly spread."""

from typing import Final

from tests.oracle.corpus import READERS, Source, corpus_sources, fixture_sources

EACH: Final = 11


def sample(each: int = EACH) -> list[Source]:
    """Return so many sessions of each agent, or as many as there are; fixtures where real ones are too few."""
    real, made = corpus_sources(), fixture_sources()
    found: list[Source] = []
    for agent in READERS:
        own = [source for source in real if source.agent == agent]
        step = max(len(own) // each, 1)
        some = own[::step][:each]
        found += some + [source for source in made if source.agent == agent][: each - len(some)]
    return found
