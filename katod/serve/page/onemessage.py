"""One message as Markdown, to be copied. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from katod import events as ev
from katod.formats.redact.redactor import redact
from katod.formats.registry import open_format
from katod.formats.stream.bridge import event_uuid
from katod.metadata import Replay
from katod.model import Options

_TEXTS: Final = frozenset({ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE})


def one_message(events: Replay, wanted: str, options: Options) -> Iterator[str | None]:
    """Yield what one event says, if there is such an event, and None for each before it.

    A message is as it was written, others are as in a transcript.
    """
    printer = open_format("markdown", replace(options, tools="full", thinking=True))
    for event, metadata in events:
        printed = printer.event(event, metadata)
        if event_uuid(event.id) == wanted:
            say = redact if options.redact else str
            yield say(event.payload["text"]) + "\n" if event.kind in _TEXTS else printed.strip("\n") + "\n"
            return
        yield None
