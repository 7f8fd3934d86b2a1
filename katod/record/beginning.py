"""What a session is about, taken from its first events."""

from typing import Final

from katod import events as ev
from katod.discover.found import FoundSession
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.record.export import Stretch, replay

_SPOKEN: Final = frozenset({ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE, ev.USER_COMMAND})
_LOOK_AHEAD: Final = 400  # events


def read_beginning(found: FoundSession) -> tuple[SessionMetadata, bool]:
    """Return the metadata of a session as far as its first events reveal it, and whether anything was said in it."""
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    metadata, spoken = SessionMetadata(found.key), False
    for number, (event, now) in enumerate(replay(found.key, stretches, EventLog(), skip_missing=True)):
        metadata, spoken = now, spoken or event.kind in _SPOKEN
        if (spoken and metadata.title and metadata.cwd) or number >= _LOOK_AHEAD:
            break
    return metadata, spoken
