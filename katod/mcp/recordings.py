"""What other agents may read: recordings whose transcripts still exist, and nothing else.

A transcript that is deleted, or in whose place something else is (`write.reading`), is not given, even if its session
could be read again.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from katod.agents import AGENTS
from katod.errors import OutputUnreadable, SelectionError, SourceGone
from katod.formatspec import FORMATS, MARKDOWN
from katod.log import EventLog
from katod.mcp.pages import shown
from katod.mcp.shared import shared_recordings
from katod.metadata import Replay
from katod.model import SessionKey, changed_ns
from katod.record.export import Stretch, read_katod, render_all, replay
from katod.record.ranges import head_metadata, recorded
from katod.record.reading import located, opened, opened_text
from katod.search.query import Query
from katod.search.shared import printed_place
from katod.search.transcriptfiles import TranscriptFile, existing
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, PersonalRow, SourceRow

_PIECE: Final = 64 * 1024  # characters
_SOME: Final = 5  # sessions that are named if several are meant
_GONE: Final = (
    "this recording is stored in a format that is not available here, and the agent has deleted its session file"
)
_LIST: Final = "`list_sessions` lists them; only what a person recorded can be read"


class GivenRecording(Protocol):
    """A recording that other agents may read: of this machine, with a number, or one that another machine shares."""

    @property
    def key(self) -> SessionKey:
        """Its session."""

    @property
    def number(self) -> int:
        """Its number; 0 for what another machine shares."""

    @property
    def machine(self) -> str:
        """The name of the other machine, empty for this one."""

    @property
    def is_open(self) -> bool:
        """Whether it is being written."""

    @property
    def size(self) -> int:
        """The size of its transcript, in bytes; 0 if it is not available."""

    @property
    def changed_ns(self) -> int:
        """When the session changed last, as far as it is known."""

    @property
    def title(self) -> str:
        """What it is called, without secrets."""

    @property
    def own(self) -> str:
        """What the user calls it, without secrets; empty if nothing is known of that."""

    @property
    def project(self) -> str:
        """The directory in which the agent worked, without secrets; empty if it is not known."""

    @property
    def since(self) -> str:
        """When the session began (ISO 8601), empty if that is not known."""

    @property
    def is_searched(self) -> bool:
        """Whether the words in it can be found: not in forms for machines."""

    def place(self, query: Query) -> TranscriptFile | None:
        """Return what is searched of it, None if there is nothing, or certainly nothing with all words."""

    def text(self) -> Iterator[str]:
        """Yield it as Markdown, without secrets, piece by piece. Raises KatodError."""


class Library(NamedTuple):
    """Where recordings are: a state directory, and folders that other machines share; and the time zone of days."""

    state: Path
    folders: tuple[str, ...] = ()
    zone: str = ""


class RecordedSession(NamedTuple):
    """One recording of this machine, and what its transcript is like now."""

    state: Path
    row: OutputRow
    key: SessionKey
    size: int
    changed_ns: int
    said: PersonalRow
    machine: str = ""

    @property
    def number(self) -> int:
        """Its number."""
        return self.row.id

    @property
    def is_open(self) -> bool:
        """Whether it is being written."""
        return self.row.open

    @property
    def title(self) -> str:
        """What it is called, without secrets."""
        return self.own or shown(head_metadata(self.row).best_title) or str(self.key)

    @property
    def own(self) -> str:
        """What the user calls it, without secrets."""
        return shown(self.said.title)

    @property
    def project(self) -> str:
        """The directory in which the agent worked, without secrets; empty if it is not known."""
        return shown(head_metadata(self.row).cwd)

    @property
    def since(self) -> str:
        """When the session began (ISO 8601), empty if that is not known."""
        about = head_metadata(self.row)
        return about.started or about.time

    @property
    def is_searched(self) -> bool:
        """Whether the words in it can be found: not in forms for machines."""
        return FORMATS[self.row.format].in_chat

    def place(self, query: Query) -> TranscriptFile | None:
        """Return its transcript, if words can be found in it; of one in JSONL, what `text` prints of it."""
        found = next(existing([self.row]), None) if self.is_searched else None
        if found is None or self.row.format != FORMATS["jsonl"].name:
            return found
        return printed_place(found, query, self.text)

    def text(self) -> Iterator[str]:
        """Yield its transcript as Markdown, without secrets, piece by piece. Raises KatodError."""
        return text_of(self.state, self)


def recordings(library: Library) -> list[GivenRecording]:
    """Return the recordings with a transcript, those that changed last first. Raises LedgerError.

    Of one session, the latest comes first, and copies after all that was recorded.
    """
    ledger = Ledger.read(library.state)
    with closing(ledger) if ledger is not None else nullcontext():
        own = list(_own(library.state, ledger)) if ledger is not None else []
        shared = shared_recordings(library.state, library.folders, ledger)
    keys = {one.key for one in own}
    found: list[GivenRecording] = [*own, *(one for one in shared if one.key not in keys)]
    return sorted(found, key=lambda one: -one.changed_ns)


def _own(state: Path, ledger: Ledger) -> Iterator[RecordedSession]:
    """Yield the recordings of this machine whose transcripts are there."""
    said = ledger.personal.all()
    for row in sorted(located(ledger.outputs()), key=lambda row: row.rank, reverse=True):
        if row.made and row.held is None:
            key = SessionKey(*row.head["key"])
            found = _recording(state, row, _changed(ledger.sources_of(row.session)), said.get(key) or PersonalRow(key))
            if found is not None:
                yield found


def _changed(sources: Iterable[SourceRow]) -> int:
    return max((source.seen.mtime_ns for source in sources), default=0)


def _recording(state: Path, row: OutputRow, changed: int, said: PersonalRow) -> RecordedSession | None:
    """Return the recording of a row, None if its transcript is not there; why it is refused is said when it is read."""
    size = 0
    try:
        with opened(row) as file:
            now = os.fstat(file.fileno())
            size, changed = now.st_size, changed or changed_ns(now)
    except OutputUnreadable as error:
        if error.is_gone:
            return None
    return RecordedSession(state, row, said.session, size, changed, said)


def of_session(found: Iterable[GivenRecording], session: str) -> list[GivenRecording]:
    """Return the recordings of the session with this id, or beginning of one. Raises SelectionError.

    Whether a session exists that is not recorded is not revealed.
    """
    matching = [one for one in found if _matches(one.key, session)]
    exact = [one for one in matching if session in (one.key.id, str(one.key))]
    best = exact or matching
    best = [one for one in best if not one.key.subagent] or best
    names = sorted({str(one.key) for one in best})
    if not names:
        raise SelectionError(f"no recorded session has the id {session!r}", hint=_LIST)
    if len(names) > 1:
        some = ", ".join(names[:_SOME]) + (", …" if len(names) > _SOME else "")
        raise SelectionError(f"{len(names)} recorded sessions match {session!r}: {some}", hint="give a full id")
    return best


def _matches(key: SessionKey, text: str) -> bool:
    prefix, own = text.removeprefix(f"{key.agent}:"), str(key).removeprefix(f"{key.agent}:")
    return bool(prefix) and (own.startswith(prefix) or AGENTS[key.agent].matches_id(key.id, prefix))


def text_of(state: Path, one: RecordedSession) -> Iterator[str]:
    """Yield the transcript of a recording as Markdown, without secrets, piece by piece. Raises KatodError.

    Redacted Markdown is read as it is now, with the edits of its owner. JSONL is printed again. So is what has another
    format, or secrets in it, but from the agent's files.
    """
    if one.row.format == MARKDOWN and one.row.options.redact:
        return _read(one.row)
    opened(one.row).close()  # without its transcript, there is nothing to give
    options = replace(one.row.options, redact=True, attachments="name", assets="")
    return render_all(_events(state, one), MARKDOWN, options)


def _events(state: Path, one: RecordedSession) -> Replay:
    if one.row.format == FORMATS["jsonl"].name:
        with opened(one.row) as lines:
            yield from read_katod(lines, one.row.path)
        return
    try:
        yield from recorded(one.row, replay(one.key, _sources(state, one.row), EventLog(), counts=True))
    except SourceGone:
        raise SelectionError(_GONE, hint="its owner still has the transcript, and can look into it") from None


def _sources(state: Path, row: OutputRow) -> list[Stretch]:
    """Return what belongs to a recording of the agent's files."""
    ledger = Ledger.read(state)
    if ledger is None:
        return []
    try:
        return [Stretch(source.path, source.identity, row.limit(source)) for source in ledger.sources_of(row.session)]
    finally:
        ledger.close()


def _read(row: OutputRow) -> Iterator[str]:
    with opened_text(row) as file:
        while piece := file.read(_PIECE):
            yield piece
