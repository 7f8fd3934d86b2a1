"""What `katod show` and `katod open` read: the file of a recording as it is, or a session as an export of it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from katod.archive.parts import ArchivedSession
from katod.cli.context import Context
from katod.cli.exporting import events_of, is_read_as_events, options_of, with_words
from katod.cli.selection import latest_transcript, only_recording, recording_named, select_anywhere
from katod.config import with_home
from katod.errors import OutputUnreadable, SelectionError
from katod.formats.redact.redactor import redact
from katod.formatspec import FORMATS
from katod.record.export import render_all
from katod.record.reading import located, opened, opened_text
from katod.store.rows import OutputRow

_PIECE: Final = 64 * 1024  # characters
MARKDOWN: Final = FORMATS["markdown"].suffix
JSONL: Final = FORMATS["jsonl"].suffix
# The content that was configured, which a transcript has.
DEFAULT: Final[dict[str, Any]] = {"thinking": False, "tools": None, "redact": True}


class ReadTranscript(NamedTuple):
    """What is read: `source` is what `events_of` takes (empty: nothing); `file` is a file of its own, if it has one.

    `row` is the recording that it is; without one, `file` is any file that the user named. `archived` is a session of
    another machine.
    """

    source: str
    file: Path | None = None
    row: OutputRow | None = None
    archived: ArchivedSession | None = None

    def markdown(self, context: Context, content: dict[str, Any]) -> Iterator[str]:
        """Yield it as Markdown, piece by piece: its file as it is, unless other content is wanted."""
        if self.archived is not None and self.archived.form == FORMATS["markdown"].name:
            return iter([_text_of(self.archived, is_redacted=content["redact"])])
        own = self.own(content)
        is_text = own is not None and own.suffix in (MARKDOWN, "" if self.source else JSONL)
        return self._read(own) if own and is_text else self.rendered(context, "markdown", content)[1]

    def own(self, content: dict[str, Any], *, web: bool = False) -> Path | None:
        """Return its file, if that is what is wanted; in the browser, only a page is."""
        is_wanted = content == DEFAULT or not self.source
        is_page = self.file is not None and self.file.suffix == FORMATS["html"].suffix
        return self.file if is_wanted and (is_page or not web) else None

    def _read(self, own: Path) -> Iterator[str]:
        """Yield a file as it is. Raises OutputUnreadable if it is no longer what was recorded."""
        return _pieces(own.open(encoding="utf-8", errors="replace") if self.row is None else opened_text(self.row))

    def rendered(self, context: Context, format_name: str, content: dict[str, Any]) -> tuple[str, Iterator[str]]:
        """Return the name of the session, or of the recording, and its text in a format.

        Raises SelectionError, also if nothing was said in it yet.
        """
        if not self.source:
            raise SelectionError("is not a transcript that katod knows", path=self.file)
        name, events = events_of(context, self.source)
        options = replace(options_of(context, format_name, **content), attachments="name")
        return name, with_words(render_all(events, format_name, options), self.source)


def transcript(context: Context, what: str, *, recorded: bool = False) -> ReadTranscript:
    """Return what a number, a file or a session means; with `recorded`, a session means its latest transcript, if any.

    An empty string is the only recording that runs, else what `select` returns. Raises SelectionError.
    """
    row = recording_named(context, what) if what else only_recording(context)
    if row is not None:
        return _of_row(row)
    if what and (given := with_home(what)).exists():
        return ReadTranscript("", given) if _is_own(given) else ReadTranscript(what)
    found = select_anywhere(context, what)
    if isinstance(found, ArchivedSession):
        return ReadTranscript(str(found.key), archived=found)
    latest = latest_transcript(context, found.key) if recorded else None
    return _of_row(latest) if latest else ReadTranscript(str(found.key))


def _is_own(given: Path) -> bool:
    """Return whether a file is shown as it is: also one in JSONL of a person's own, which has no events."""
    if given.suffix == JSONL:
        return given.is_file() and not is_read_as_events(given)
    return given.suffix in (MARKDOWN, FORMATS["html"].suffix)


def _text_of(archived: ArchivedSession, *, is_redacted: bool) -> str:
    """Return the text that another machine shares: it need not have been redacted there."""
    with archived.open() as file:
        text = file.read().decode("utf-8", "replace")
    return redact(text) if is_redacted else text


def _pieces(file: TextIO) -> Iterator[str]:
    """Yield the text of a file, and close it."""
    with file:
        while piece := file.read(_PIECE):
            yield piece


def _of_row(row: OutputRow) -> ReadTranscript:
    """Return a recording's file; none if it is not made yet.

    Raises SelectionError if it is gone, OutputUnreadable if something else is in its place. A program that is given
    its path opens it later: what is put there in between, that program shows.
    """
    if row.held is not None:
        return ReadTranscript(str(row.id))
    [row] = located([row])
    try:
        opened(row).close()
    except OutputUnreadable as error:
        if not error.is_gone:
            raise
        hint = f"`katod export --recording {row.id}` prints it again"
        raise SelectionError("no longer exists, or cannot be read", path=row.path, hint=hint) from error
    is_lines = row.path.suffix == JSONL
    return ReadTranscript(str(row.path if is_lines else row.id), row.path, row)
