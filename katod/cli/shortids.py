"""The short ids that are shown, each of which selects its session on the command line."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise, takewhile
from typing import Final

from katod.agents import AGENTS
from katod.model import SessionKey

SHORTEST_ID: Final = 8  # characters; a number with fewer digits is that of a recording


def short_ids(keys: Iterable[SessionKey]) -> dict[str, str]:
    """Return the shortest beginning of what distinguishes each id, of at least 8 characters, that no other begins with.

    What would be the number of a recording, or an option, has its agent before it.
    """
    keys = list(keys)
    agents, parts = {key.id: key.agent for key in keys}, _distinguishing(keys)
    names = sorted(parts, key=parts.__getitem__)
    alike = [0, *(_alike(parts[one], parts[other]) for one, other in pairwise(names)), 0]
    wanted = {name: max(SHORTEST_ID, 1 + max(around)) for name, around in zip(names, pairwise(alike), strict=False)}
    return {name: _selecting(parts[name][:length], agents.get(name, "")) for name, length in wanted.items()}


def _distinguishing(keys: list[SessionKey]) -> dict[str, str]:
    """Return the part of each id that distinguishes its session: all of it if two have the same part."""
    parts = {name: AGENTS[key.agent].short_id(name) or name for key in keys for name in (key.id, key.subagent)}
    count = Counter(parts.values())
    return {name: name if count[part] > 1 else part for name, part in parts.items()}


def _selecting(short: str, agent: str) -> str:
    is_number = short.isdecimal() and len(short) < SHORTEST_ID
    return f"{agent}:{short}" if agent and (is_number or short.startswith("-")) else short


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
