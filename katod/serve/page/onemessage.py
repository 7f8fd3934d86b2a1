"""One message as Markdown, to be copied. Pure."""

from dataclasses import replace
from typing import Final

from katod import events as ev
from katod.formats.redact.redactor import redact
from katod.formats.registry import open_format
from katod.formats.stream.bridge import event_uuid
from katod.metadata import Replay
from katod.model import Options

_TEXTS: Final = frozenset({ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE})


def one_message(events: Replay, wanted: str, options: Options) -> str:
    """Return what one event says: a message as it was written, others as in a transcript; empty if there is none."""
    printer = open_format("markdown", replace(options, tools="full", thinking=True))
    for event, metadata in events:
        printed = printer.event(event, metadata)
        if event_uuid(event.id) == wanted:
            say = redact if options.redact else str
            return say(event.payload["text"]) + "\n" if event.kind in _TEXTS else printed.strip("\n") + "\n"
    return ""
