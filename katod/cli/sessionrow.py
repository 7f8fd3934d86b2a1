"""What is shown of one session, read from its beginning and its end."""

import time
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.agents.spec import SPAWNED
from katod.agents.toolcalls import one_line
from katod.archive.archived import title_of
from katod.archive.parts import ArchivedSession
from katod.cli.context import Context
from katod.cli.layout import one_text
from katod.cli.recorded import Recorded
from katod.discover.found import FoundSession
from katod.errors import SourceError
from katod.formats.redact.redactor import redact
from katod.formats.text.when import utc
from katod.log import EventLog
from katod.metadata import SessionMetadata, cut_at_word
from katod.model import Cursor, Line, SessionKey
from katod.paths import name_of
from katod.record.beginning import name_within, read_beginning
from katod.record.currentstate import current_state
from katod.record.export import Stretch
from katod.record.stream import NoDedup, SessionStream

_LOOK_BACK: Final = (16 * 1024, 256 * 1024, 2 * 1024 * 1024)  # bytes; more only if the last ones have no event
_LONGEST_TITLE: Final = 80  # characters
_LARGEST_DOCUMENT: Final = 1024 * 1024  # bytes of one that is read for the time of its last event


class SessionEnd(NamedTuple):
    """What the end of a session says: the time of its last event (UTC), and how it is called by then."""

    time: str = ""
    name: str = ""


def describe_session(
    found: FoundSession, recorded: Recorded | None = None, *, empty: bool = True
) -> dict[str, Any] | None:
    """Return what is shown of a session, None for one in which nothing was said unless `empty`; times are in UTC."""
    if isinstance(found, ArchivedSession):
        return _of_machine(found)
    metadata, spoken = read_beginning(found)
    if not spoken and not empty:
        return None
    row = _about(found, metadata, read_end(found)) | _recorded(found, recorded or Recorded())
    return {name: value for name, value in row.items() if value not in ("", None)}


def _of_machine(found: ArchivedSession) -> dict[str, Any]:
    """Return what is shown of a session that another machine shares."""
    key, changed = found.key, utc(found.changed_ns / 1e9)
    title = redact((title_of(found) if found.has_events else "") or found.path.stem)
    row = {
        "agent": key.agent, "session": key.id, "subagent": key.subagent, "project": redact(found.cwd),
        "machine": found.machine, "title": cut_at_word(one_line(title), _LONGEST_TITLE), "last": changed,
        "changed": changed, "recording": False, "outputs": [str(found.path)], "files": [],
    }  # fmt: skip
    return {name: value for name, value in row.items() if value != ""}


def _about(found: FoundSession, metadata: SessionMetadata, end: SessionEnd) -> dict[str, Any]:
    return {
        "agent": found.key.agent,
        "session": found.key.id,
        "subagent": found.key.subagent,
        "title": cut_at_word(one_line(found.said.title or end.name or metadata.list_title), _LONGEST_TITLE),
        "spawned": metadata.start.origin == SPAWNED or None,
        "project": metadata.cwd,
        "bytes": found.size or None,
        "last": end.time or utc(found.changed_ns / 1e9),
        "changed": utc(found.changed_ns / 1e9),
    }


def _recorded(found: FoundSession, recorded: Recorded) -> dict[str, Any]:
    return {
        "starred": found.said.starred or None,
        "labels": list(found.said.labels) or None,
        "recording": recorded.now,
        "waiting": recorded.waits or None,
        "outputs": list(recorded.outputs),
        "files": [path for path, _, _ in found.files],
    }


def called(context: Context, key: SessionKey) -> str:
    """Return a session's id and, if it is still there, its title and its project, for a sentence in one line."""
    found = context.found(with_words=True).get(key)
    about = describe_session(found) if found else None
    shown = [about.get("title", ""), name_of(about.get("project", ""))] if about else []
    said = " · ".join(one_text(part) for part in shown if part)
    return f"{key} ({said})" if said else str(key)


def state_of(found: FoundSession) -> dict[str, Any]:
    """Return the state of a session, empty if it is unknown, as on another machine."""
    now = None if isinstance(found, ArchivedSession) else current_state(found.files, time.time())
    return {} if now is None else now.row()


def read_end(found: FoundSession) -> SessionEnd:
    """Return what the last events of a session say, nothing if they are in a document too large to read."""
    path, identity, _ = found.files[-1]
    with suppress(SourceError), AGENTS[found.key.agent].open(path) as file:
        if file.is_document and file.size > _LARGEST_DOCUMENT:
            return SessionEnd()
        for far in _LOOK_BACK:
            begin = 0 if file.is_document else file.last_newline(max(0, file.size - far))
            end = _end_of(found, Stretch(path, identity), file.read(Cursor(begin), file.size - begin).lines)
            if end.time or not begin:
                return end if end.name else end._replace(name=name_within(found, file))
    return SessionEnd()


def _end_of(found: FoundSession, stretch: Stretch, lines: list[Line]) -> SessionEnd:
    stream = SessionStream(found.key, NoDedup(), EventLog(), whole=False)
    times = [event.time for event in stream.events(stretch, lines) if event.time]
    last = ""
    with suppress(ValueError, OverflowError):
        last = utc(datetime.fromisoformat(times[-1]).timestamp()) if times else ""
    return SessionEnd(last, stream.metadata.names.named)
