"""What is shown of one session, read from its beginning and its end."""

import time
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from katod.agents import AGENTS
from katod.agents.toolcalls import one_line
from katod.cli.overview import utc
from katod.cli.recorded import Recorded
from katod.discover.found import FoundSession
from katod.errors import SourceError
from katod.log import EventLog
from katod.model import Cursor
from katod.record.beginning import read_beginning
from katod.record.currentstate import current_state
from katod.record.export import Stretch
from katod.record.stream import NoDedup, SessionStream

_LOOK_BACK: Final = 16 * 1024  # bytes
_LARGEST_DOCUMENT: Final = 1024 * 1024  # bytes of one that is read for the time of its last event


def describe_session(
    found: FoundSession, recorded: Recorded | None = None, *, empty: bool = True
) -> dict[str, Any] | None:
    """Return what is shown of a session, None for one in which nothing was said unless `empty`; times are in UTC."""
    recorded, (metadata, spoken) = recorded or Recorded(), read_beginning(found)
    if not spoken and not empty:
        return None
    row: dict[str, Any] = {
        "agent": found.key.agent,
        "session": found.key.id,
        "subagent": found.key.subagent,
        "title": one_line(metadata.best_title, 80),
        "project": metadata.cwd,
        "bytes": found.size or None,
        "last": last_time(found) or utc(found.changed_ns / 1e9),
        "changed": utc(found.changed_ns / 1e9),
        "recording": recorded.now,
        "waiting": recorded.waits or None,
        "outputs": list(recorded.outputs),
        "files": [path for path, _, _ in found.files],
    }
    return {name: value for name, value in row.items() if value not in ("", None)}


def state_of(found: FoundSession) -> dict[str, Any]:
    """Return the state of a session, empty if it is unknown."""
    now = current_state(found.files, time.time())
    return {} if now is None else now.row()


def last_time(found: FoundSession) -> str:
    """Return the time of a session's last event (UTC), empty if it has none, or is in a document too large to read."""
    path, identity, _ = found.files[-1]
    with suppress(SourceError), AGENTS[found.key.agent].open(path) as file:
        if file.is_document and file.size > _LARGEST_DOCUMENT:
            return ""
        begin = 0 if file.is_document else file.last_newline(max(0, file.size - _LOOK_BACK))
        stream = SessionStream(found.key, NoDedup(), EventLog(), whole=False)
        lines = file.read(Cursor(begin), file.size - begin).lines
        times = [event.time for event in stream.events(Stretch(path, identity), lines) if event.time]
        with suppress(ValueError):
            return utc(datetime.fromisoformat(times[-1]).timestamp()) if times else ""
    return ""
