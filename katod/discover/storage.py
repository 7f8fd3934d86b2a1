"""A session of OpenCode before its database: its own file seldom tells that a message or a part has changed."""

import os
from pathlib import Path
from typing import Final

from katod.model import Stat

FOLDER: Final = "storage"


def changed(path: str, own: Stat) -> Stat:
    """Return a session file's stat, with the time and the number of what its latest message is made of."""
    session = Path(path)
    storage = next((parent for parent in session.parents if parent.name == FOLDER), None)
    if storage is None or session.parent.name == "info":
        return own
    messages = _times(storage / "message" / session.stem)
    latest = max(messages, default="")
    parts = _times(storage / "part" / latest.removesuffix(".json")) if latest else {}
    newest = max([own.mtime_ns, messages.get(latest, 0), *parts.values()])
    return own._replace(mtime_ns=newest, size=own.size + len(messages) + len(parts))


def _times(folder: Path) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries}
    except OSError:
        return {}
