"""Which sessions are not exported, because the user excluded their projects."""

from katod.archive.manifest import Manifest, Slot
from katod.model import SessionKey
from katod.record.policy import Policy


class Exclusion:
    """Knows which projects are excluded; each is looked at once. `found` has those of the sessions that it covers.

    A shared folder lists nothing of an excluded session: what its sub-agents belong to is known as it was asked about.
    """

    def __init__(self, manifest: Manifest, policy: Policy) -> None:
        self.found: dict[str, str] = {}
        self._asked: dict[SessionKey, str] = {}
        self._entries = manifest.entries
        self._policy = policy
        self._known = {"": False}

    def covers(self, slot: Slot, cwd: str, *, looking: bool = False) -> bool:
        """Return whether the project of a session or its parent's is excluded. Raises OSError if busy.

        Of a session that names none any more, it is the one that it had, also as lists of other exports say, if they
        are to be read for that: `looking`. Parents are asked about before their sub-agents.
        """
        key, form = slot
        above = key._replace(subagent="")
        if cwd and key == above:
            self._asked[key] = cwd
        if self.excludes(cwd):
            self.found[str(key)] = cwd
            return True
        place = self._asked.get(above) or self._listed(above, form)
        if self.excludes(place) or (not cwd and self._had_excluded(key, looking=looking)):
            return True
        return bool(key.subagent) and not place and self._had_excluded(above, looking=looking)

    def _listed(self, key: SessionKey, form: str) -> str:
        entry = self._entries.get((key, form))
        return entry.cwd if entry is not None else ""

    def _had_excluded(self, key: SessionKey, *, looking: bool) -> bool:
        had = self._policy.projects.of(key, looking=looking)
        if had and self.excludes(had):
            self.found[str(key)] = had
            return True
        return had is None

    def excludes(self, cwd: str) -> bool:
        """Return whether a project is excluded. Raises OSError if busy."""
        if cwd not in self._known:
            self._known[cwd] = self._policy.in_project(cwd).excludes(cwd)
        return self._known[cwd]
