"""Which sessions are not exported, because the user excluded their projects."""

from katod.archive.manifest import Manifest, Slot
from katod.model import SessionKey
from katod.record.policy import Policy


class Exclusion:
    """Knows which projects are excluded; each is looked at once. `found` has those of the sessions that it covers."""

    def __init__(self, manifest: Manifest, policy: Policy) -> None:
        self.found: dict[str, str] = {}
        self._entries = manifest.entries
        self._policy = policy
        self._known = {"": False}

    def covers(self, slot: Slot, cwd: str) -> bool:
        """Return whether the project of a session or its parent's is excluded. Raises OSError if busy.

        Of a session that names none any more, it is the one that it had.
        """
        key, form = slot
        above = key._replace(subagent="")
        parent = self._entries.get((above, form))
        if self.excludes(cwd):
            self.found[str(key)] = cwd
            return True
        place = parent.cwd if parent is not None else ""
        had = "" if cwd else self._had(key)
        had_above = self._had(above) if key.subagent and not place else ""
        return any(map(self.excludes, (place, had, had_above)))

    def _had(self, key: SessionKey) -> str:
        return self._policy.projects.get(str(key), "")

    def excludes(self, cwd: str) -> bool:
        """Return whether a project is excluded. Raises OSError if busy."""
        if cwd not in self._known:
            self._known[cwd] = self._policy.in_project(cwd).excludes(cwd)
        return self._known[cwd]
