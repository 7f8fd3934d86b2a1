"""Which lines of a recording in JSONL are events, and which are the user's notes. Pure.

An event is a line that begins as katod writes one. A note is what no program takes for an event. What is neither (an
event in another form, or a part of one) may have been put there so that some programs read it as one.
"""

import re
from codecs import BOM_UTF8
from typing import Final

_EVENT: Final = b'{"schema":"katod.event/'
_EVENT_BELOW: Final = re.compile(rb"^" + re.escape(_EVENT), re.MULTILINE)
_MARKDOWN: Final = b"---\n"
_SUFFIX: Final = ".jsonl"
MOST: Final = 64 * 1024  # bytes of a file in which its first event is looked for
_NAME: Final = b"katod.event/"
_OPENED: Final = re.compile(r"[\s\ufeff]*\{")  # behind all that some program passes over; so in `packaging/chain`


def is_event(line: bytes) -> bool:
    """Return whether a line is an event, if it is one at all."""
    return line.startswith(_EVENT)


def is_note(line: bytes) -> bool:
    """Return whether a line is text of a person, or empty."""
    return _NAME not in line and not _OPENED.match(line.decode("utf-8", "replace"))


def begins_with_events(name: str, head: bytes) -> bool:
    """Return whether a file with this name is a recording in JSONL, given its first bytes.

    A person may have written above the first event, or damaged it.
    """
    if is_event(head.removeprefix(BOM_UTF8)):
        return True
    may_be = name.endswith(_SUFFIX) and not head.startswith(_MARKDOWN)
    return may_be and _EVENT_BELOW.search(head) is not None
