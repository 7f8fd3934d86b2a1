"""Claude Code: text typed while the agent works, which may get no record of its own."""

from typing import Any, Final

import orjson

_MOST: Final = 64


class Queue:
    """Tracks `queue-operation` records. Only the record after a `remove` shows whether the text appears elsewhere."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self.waiting: list[list[str]] = state.get("waiting", [])
        self.removed: list[list[str]] = state.get("removed", [])

    def state(self) -> dict[str, Any]:
        """Return what has to be remembered, empty if nothing is waiting."""
        rows = {"waiting": self.waiting, "removed": self.removed}
        return {name: value for name, value in rows.items() if value}

    def operate(self, record: dict[str, Any]) -> None:
        """Apply one `enqueue`, `dequeue`, `remove` or `popAll`."""
        operation = record.get("operation")
        if operation == "enqueue":
            content = record.get("content")
            self.waiting.append([content if isinstance(content, str) else "", str(record.get("timestamp", ""))])
            del self.waiting[:-_MOST]
        elif operation == "popAll":
            self.waiting.clear()
        elif operation in ("dequeue", "remove"):
            item = self._take(record.get("content"))
            if operation == "remove" and item is not None and _is_typed(item[0]):
                self.removed.append(item)

    def overflow(self) -> list[list[str]]:
        """Return the oldest removed texts if there are too many: no client takes back that many at once."""
        out, self.removed = self.removed[:-_MOST], self.removed[-_MOST:]
        return out

    def decide(self, text: str) -> list[list[str]]:
        """Return the removed texts that appear nowhere else, given the text of the next record."""
        if not self.removed:
            return []
        match = next((item for item in self.removed if text and item[0].strip() == text.strip()), None)
        if match is not None:
            self.removed.remove(match)
            return []
        released, self.removed = self.removed, []
        return released

    def _take(self, content: Any) -> list[str] | None:
        """Remove the given text, or the oldest one."""
        for index, item in enumerate(self.waiting):
            if not isinstance(content, str) or item[0] == content:
                return self.waiting.pop(index)
        return None


def _is_typed(text: str) -> bool:
    """Return whether a queued text is a person's: no markup, no task of the client itself."""
    head = text.lstrip()
    if not head or head.startswith("<"):
        return False
    if not head.startswith("{"):
        return True
    try:
        value = orjson.loads(head)
    except orjson.JSONDecodeError:
        return True
    return not (isinstance(value, dict) and "task_id" in value)
