"""What a session is about, taken from its first events."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from katod import events as ev
from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.formats.redact.redactor import redact
from katod.log import EventLog
from katod.metadata import SessionMetadata, title_of
from katod.model import Cursor, Line
from katod.record.export import Stretch, replay
from katod.record.stream import NoDedup, SessionStream
from katod.tail.reader import SourceFile
from katod.text import clean

_SPOKEN: Final = frozenset({ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE, ev.USER_COMMAND})
_LOOK_AHEAD: Final = 400  # events
_FAR: Final = 1024 * 1024  # bytes of a beginning in which a name is looked for,
_NEAR: Final = 16 * 1024  # and of an end


def read_beginning(found: FoundSession) -> tuple[SessionMetadata, bool]:
    """Return the metadata of a session as far as its first events reveal it, and whether anything was said in it.

    It has the name that the agent says beside the session's records, if it does.
    """
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    metadata, spoken = SessionMetadata(found.key), False
    for number, (event, now) in enumerate(replay(found.key, stretches, EventLog(), skip_missing=True)):
        metadata, spoken = now, spoken or event.kind in _SPOKEN
        if (spoken and metadata.title and metadata.cwd) or number >= _LOOK_AHEAD:
            break
    if name := name_beside(found):
        metadata.set_named(name)
    return metadata, spoken


def name_within(found: FoundSession, file: SourceFile) -> str:
    """Return the last name that the records of a session's file give it, as it is shown; empty if they give none.

    Only the first MB is searched, by a native pass: newer clients repeat a name at the end of the file, where it is
    found without this. Raises SourceError.
    """
    marker = AGENTS[found.key.agent].renames
    if not marker or not file.find(marker, _FAR):
        return ""
    return _name_in(found, [line for line in file.read(Cursor(), _FAR).lines if marker in line.data])


def name_at_end(found: FoundSession, file: SourceFile) -> str:
    """Return the last name that the end of a session's file gives it, as it is shown; empty if it gives none.

    Raises SourceError.
    """
    if file.is_document:
        return ""
    begin = file.last_newline(max(0, file.size - _NEAR))
    return _name_in(found, file.read(Cursor(begin), file.size - begin).lines)


def _name_in(found: FoundSession, lines: Iterable[Line]) -> str:
    path, identity, _ = found.files[-1]
    stream = SessionStream(found.key, NoDedup(), EventLog(), whole=False)
    for _ in stream.events(Stretch(path, identity), lines):
        pass
    return stream.metadata.names.named


def name_beside(found: FoundSession) -> str:
    """Return the name that an agent says beside the records, as it is shown; empty if it says nothing."""
    path, _, _ = found.files[-1]
    name = "" if found.key.subagent else AGENTS[found.key.agent].name_beside(Path(path), found.key.id)
    return clean(redact(title_of(name))) if name else ""
