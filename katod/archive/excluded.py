"""Which sessions are not exported, because the user excluded their projects."""

from katod.archive.folder import ExportFolder
from katod.archive.manifest import Slot
from katod.model import SessionKey
from katod.record.policy import Policy


class Exclusion:
    """Knows which projects are excluded; each is looked at once."""

    def __init__(self, folder: ExportFolder, policy: Policy) -> None:
        self._entries = folder.manifest.entries
        self._policy = policy
        self._known = {"": False}

    def covers(self, slot: Slot, cwd: str) -> bool:
        """Return whether the project of a session or its parent's is excluded. Raises OSError if busy."""
        (agent, session, _), form = slot
        parent = self._entries.get((SessionKey(agent, session), form))
        return self.excludes(cwd) or (parent is not None and self.excludes(parent.cwd))

    def excludes(self, cwd: str) -> bool:
        """Return whether a project is excluded. Raises OSError if busy."""
        if cwd not in self._known:
            self._known[cwd] = self._policy.in_project(cwd).excludes(cwd)
        return self._known[cwd]
