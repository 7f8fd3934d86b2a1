"""Lists of sessions and projects, as clients of CodingBridge ask for them. Pure."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, Final, NamedTuple

_SOURCES: Final = ("user", "agent", "helper")
Fields = dict[str, Any]


class SessionFilter(NamedTuple):
    """Selects sessions of a list; what is empty selects all."""

    project: str | None = None
    source: str = ""
    parent: str = ""

    def has(self, row: Fields) -> bool:
        """Return whether a session is selected."""
        sources = {name.strip() for name in self.source.split(",") if name.strip()} - {"all"}
        return (
            (self.project is None or row["projectPath"] == self.project)
            and (not sources or row["source"] in sources)
            and self.parent in ("", row.get("parentSessionId", ""))
        )


def part(rows: list[Fields], offset: int, total: int) -> Fields:
    """Return a part of a list of sessions, which begins after so many of them."""
    return {"sessions": rows, "total": total, "hasMore": offset + len(rows) < total}


def counted(rows: list[Fields], source: str) -> Fields:
    """Return how many sessions there are, by their source."""
    row = {"total": len(rows)} | {name: sum(row["source"] == name for row in rows) for name in _SOURCES}
    return row | (
        {"source": source, "count": sum(SessionFilter(source=source).has(row) for row in rows)} if source else {}
    )


def projects(rows: Iterable[Fields]) -> list[Fields]:
    """Return the projects of sessions, the latest first."""
    found: dict[str, Fields] = {}
    for row in rows:
        path, last = row["projectPath"], row["lastActivityAt"]
        one = found.setdefault(
            path, {"path": path, "name": PurePath(path).name or path, "lastUsed": last, "sessionCount": 0}
        )
        one["sessionCount"] += 1
        one["lastUsed"] = max(one["lastUsed"], last)
    return sorted((one for one in found.values() if one["path"]), key=lambda one: one["lastUsed"], reverse=True)
