"""Which lines of a recording in JSONL are events, and which are the user's notes. Pure.

An event is a line that begins as katod writes one. A note is what no program takes for an event. What is neither (an
event in another form, or a part of one) may have been put there so that some programs read it as one.
"""

import re
from typing import Final

_EVENT: Final = b'{"schema":"katod.event/'
_NAME: Final = b"katod.event/"
_OPENED: Final = re.compile(r"[\s\ufeff]*\{")  # behind all that some program passes over; so in `packaging/chain`


def is_event(line: bytes) -> bool:
    """Return whether a line is an event, if it is one at all."""
    return line.startswith(_EVENT)


def is_note(line: bytes) -> bool:
    """Return whether a line is text of a person, or empty."""
    return _NAME not in line and not _OPENED.match(line.decode("utf-8", "replace"))
