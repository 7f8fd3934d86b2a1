"""Which sessions were started by the agents of others, by what is noted of them; nothing is opened."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from katod.agents.spec import SPAWNED
from katod.metadata import SessionStart
from katod.model import SessionKey


def with_started(keys: Iterable[SessionKey], parents: Mapping[SessionKey, str]) -> set[SessionKey]:
    """Return sessions with those that their agents started, and those of these.

    `parents` has the sessions that may be among them, each with the id of the one that started it, if that is noted.
    """
    started = defaultdict[SessionKey, list[SessionKey]](list)
    for key, parent in parents.items():
        for above in (key._replace(subagent=""), SessionKey(key.agent, parent)):
            started[above].append(key)
    found: set[SessionKey] = set()
    waiting = list(keys)
    while waiting:
        if (key := waiting.pop()) not in found:
            found.add(key)
            waiting += started[key]
    return found


def spawner_of(start: SessionStart) -> str:
    """Return the id of the session whose agent started one that has an id of its own; empty if a person did."""
    return start.parent if start.origin == SPAWNED else ""
