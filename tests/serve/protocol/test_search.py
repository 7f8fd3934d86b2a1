"""A search for clients of CodingBridge: which of the protocol's messages a hit is part of."""

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.serve.protocol.search import search
from tests.support.records import Claude, says, user
from tests.support.world import World


def test_words_between_agents_are_of_the_system(world: World) -> None:
    """They are neither the user's nor the assistant's, whoever says them."""
    maker = Claude(world).say(user("person: basket"), says("assistant: basket"))
    for kind, records in maker.between("other: basket").items():
        maker.put(*records)
        places = find_sessions(find_roots(Settings(), AGENTS), {}).values()
        [[row]] = [found.rows for found in search("basket", places, {}) if found is not None]
        found = {
            (hit["text"].partition("other")[1] or hit["text"].partition(":")[0], hit["type"]) for hit in row["snippets"]
        }
        assert found <= {("person", "user"), ("assistant", "assistant"), ("other", "system")}, kind
        assert ("other", "system") in found
