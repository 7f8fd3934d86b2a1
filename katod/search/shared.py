"""What is searched of the sessions that other machines share: all of them, or only what was recorded there."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from io import BufferedReader
from tempfile import TemporaryFile
from typing import cast

from katod import events as ev
from katod.archive.archived import recorded_events, recorded_lines
from katod.archive.parts import ArchivedSession
from katod.errors import KatodError
from katod.formatspec import MARKDOWN
from katod.model import Options
from katod.record.export import render_all
from katod.search.outputs import may_have_all
from katod.search.query import Query
from katod.search.transcriptfiles import TranscriptFile
from katod.search.transcripts import jsonl_event


def recorded_place(found: ArchivedSession, query: Query) -> TranscriptFile | None:
    """Return what was recorded of a session that has events, as a file; None if its events lack one of the words.

    It is printed as `recorded_text` does.
    """
    events = TranscriptFile(found.events_path, found.changed_ns, found.open_events)
    return printed_place(events, query, partial(recorded_text, found))


def printed_place(events: TranscriptFile, query: Query, text: Callable[[], Iterator[str]]) -> TranscriptFile | None:
    """Return the text that is printed of a file of events as a file; None if the file lacks one of the words."""
    try:
        may_match = may_have_all(events, query)
    except KatodError:
        may_match = True  # the search says why it cannot be read
    return events._replace(open=partial(_printed, text)) if may_match else None


def said_place(found: ArchivedSession) -> TranscriptFile:
    """Return what was recorded of a session that has events, as the events that every transcript of it has in full.

    Those are messages, thinking if it was recorded, and calls with their results if they were recorded whole.
    """
    return TranscriptFile(found.events_path, found.changed_ns, partial(_said, found))


def recorded_text(found: ArchivedSession) -> Iterator[str]:
    """Yield what was recorded of a session as Markdown, as its recordings have it, without secrets.

    Raises KatodError.
    """
    recorded = found.recorded
    options = Options(tools=recorded.tools, thinking=recorded.thinking, redact=True, attachments="name")
    return render_all(recorded_events(found), MARKDOWN, options)


def _printed(text: Callable[[], Iterator[str]]) -> BufferedReader:
    return _file_of(piece.encode("utf-8", "replace") for piece in text())


def _said(found: ArchivedSession) -> BufferedReader:
    kinds = {ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE}
    kinds |= {ev.ASSISTANT_THINKING} if found.recorded.thinking else set()
    kinds |= {ev.TOOL_CALL, ev.TOOL_RESULT} if found.recorded.tools == "full" else set()
    return _file_of(
        line for line in recorded_lines(found) if (event := jsonl_event(line)) is not None and event.kind in kinds
    )


def _file_of(pieces: Iterable[bytes]) -> BufferedReader:
    """Return pieces as a file without a name. Raises KatodError."""
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        file.writelines(pieces)
        file.seek(0)
        stack.pop_all()  # whoever takes it closes it
        return cast("BufferedReader", file)
