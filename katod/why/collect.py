"""The edits of one file: of recorded ranges, from the ledger's index, or of all sessions on the disk.

Nothing is kept. What explains an edit is read from its session, or its recording, where that is still there.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.edits.edits import Cause, Edit, edits_of, ends_of
from katod.edits.lines import LineHasher
from katod.edits.packed import has_place, unpack_changes
from katod.edits.tracker import EditingCall, EditTracker, EndedCall, is_explaining
from katod.errors import OutputUnreadable, SourceError
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.metadata import Replay
from katod.model import SessionKey
from katod.paths import name_of
from katod.record.editnotes import EDITS
from katod.record.export import Stretch, read_katod, replay
from katod.record.ranges import head_metadata, recorded
from katod.record.reading import opened
from katod.search.query import Query
from katod.search.sessions import may_have_hits
from katod.store.keyedhash import KeyedHash
from katod.store.ledger import Ledger
from katod.store.rows import EditRow, OutputRow
from katod.why.target import AskedFile

_JSONL: Final = FORMATS["jsonl"].name


class Explained(NamedTuple):
    """What explains an edit: the title of its session, what was asked for, and what was said; empty if unknown."""

    title: str = ""
    prompt: str = ""
    answer: str = ""


class EditCollector:
    """Collects the edits of a file, each once, however many sessions have the record of its call."""

    def __init__(self, file: AskedFile, ledger: Ledger | None) -> None:
        hashes = ledger.edits.hashes if ledger is not None else KeyedHash.random()
        self.hasher = LineHasher(hashes.number)
        self.problems: dict[str, str] = {}
        self._ledger = ledger
        self._names = {name_of(name) for name in file.names}
        self._places = file.places
        self._edits: dict[tuple[Any, ...], Edit] = {}
        self._explained: dict[str, Explained] = {}  # by the id of the call's event

    @property
    def edits(self) -> list[Edit]:
        """Return the edits that were found."""
        return list(self._edits.values())

    def _add(self, edit: Edit) -> None:
        """Add an edit, unless a fork has it, too: with the same time, which some agents do not record."""
        cause = edit.cause
        self._edits.setdefault((cause.time or cause.call, edit.changes), edit)

    # -- recorded ranges --------------------------------------------------------------------------------

    def recorded(self) -> None:
        """Take the edits within recorded ranges."""
        if self._ledger is None:
            return
        sessions = {row.id: row.key for row in self._ledger.sessions()}
        places = {self.hasher.number(place) for place in self._places}
        for row in self._ledger.edits.of(map(self.hasher.number, self._names)):
            if row.session in sessions and has_place(row.places, places):
                self._take_row(row, sessions[row.session])
        for output in self._ledger.outputs():
            if EDITS not in (output.printer or {}):  # recorded by a version that kept no index
                self._take_unindexed(output)

    def _take_row(self, row: EditRow, key: SessionKey) -> None:
        cause = Cause(key, row.call, row.prompt, row.answer, row.time)
        try:
            self._add(Edit(cause, unpack_changes(row.changes)))
        except ValueError as error:
            self.problems[str(key)] = f"the index of its edits is damaged: {error}"

    def _take_unindexed(self, output: OutputRow) -> None:
        key = SessionKey(*output.head["key"])
        try:
            self._take_events(recorded(output, self._events(output, key)), key)
        except (SourceError, OutputUnreadable) as error:
            self.problems[str(output.path)] = error.what

    def _events(self, output: OutputRow, key: SessionKey) -> Replay:
        """Return the events of a recorded session, or of the recording itself if its agent has deleted the session."""
        sources = self._ledger.sources_of(output.session) if self._ledger is not None else []
        present = [source for source in sources if not source.gone and Path(source.path.partition("#")[0]).exists()]
        if present and key.agent in AGENTS:
            stretches = [Stretch(source.path, source.identity, output.limit(source)) for source in present]
            yield from replay(key, stretches, EventLog(), counts=True)
        elif output.format == _JSONL:
            with opened(output) as lines:
                yield from read_katod(lines, output.path)

    # -- all sessions -----------------------------------------------------------------------------------

    def found(self, sessions: Iterable[FoundSession]) -> None:
        """Take the edits of the sessions on the disk that name the file."""
        query = Query([tuple(self._names)])
        for session in sessions:
            try:
                if may_have_hits(session, query):
                    stretches = [Stretch(path, identity) for path, identity, _ in session.files]
                    self._take_events(replay(session.key, stretches, EventLog(), skip_missing=True), session.key)
            except SourceError as error:
                self.problems[str(session.key)] = error.what

    def _take_events(self, events: Replay, key: SessionKey) -> None:
        """Take the edits of a session, with what explains them."""
        tracker, calls, words, title = EditTracker(), dict[str, EditingCall](), dict[str, str](), ""
        made: list[EditingCall] = []
        for event, metadata in events:
            title = metadata.best_title
            if is_explaining(event):
                words[event.id] = event.payload["text"]
            noted = tracker.take(event, metadata.cwd)
            if isinstance(noted, EditingCall):
                calls[noted.event.id] = noted
            elif isinstance(noted, EndedCall) and (call := calls.pop(noted.event, None)) and noted.went_well:
                made.append(call)
        for call in made:
            for edit in self._wanted(call, key):
                self._add(edit)
                cause = edit.cause
                self._explained[cause.call] = Explained(title, words.get(cause.prompt, ""), words.get(cause.answer, ""))

    def _wanted(self, call: EditingCall, key: SessionKey) -> Iterator[Edit]:
        for path, edit in edits_of(call, key, self.hasher):
            if not self._places.isdisjoint(ends_of(path)):
                yield edit

    # -- what explains them -----------------------------------------------------------------------------

    def explained(self, edits: Iterable[Edit]) -> dict[str, Explained]:
        """Return what explains these edits, by the ids of their calls."""
        causes = {edit.cause.call: edit.cause for edit in edits}
        missing: dict[SessionKey, list[Cause]] = {}
        for call, cause in causes.items():
            if call not in self._explained:
                missing.setdefault(cause.session, []).append(cause)
        for key, wanted in missing.items():
            self._read_words(key, wanted)
        return {call: self._explained.get(call, Explained()) for call in causes}

    def _read_words(self, key: SessionKey, causes: list[Cause]) -> None:
        """Read what explains edits from their session, up to the last of it."""
        row = self._ledger.find_session(key) if self._ledger is not None else None
        outputs = self._ledger.outputs(row.id) if row is not None and self._ledger is not None else []
        wanted = {event for cause in causes for event in (cause.prompt, cause.answer) if event}
        words: dict[str, str] = {}
        for output in outputs:
            try:
                words |= _words_of(self._events(output, key), wanted - words.keys())
            except (SourceError, OutputUnreadable) as error:
                self.problems[str(key)] = error.what
        title = next((head_metadata(output).best_title for output in outputs), "")
        for cause in causes:
            self._explained[cause.call] = Explained(title, words.get(cause.prompt, ""), words.get(cause.answer, ""))


def _words_of(events: Replay, wanted: set[str]) -> dict[str, str]:
    """Return the texts of these events, reading no further than to the last of them."""
    words: dict[str, str] = {}
    for event, _ in events if wanted else ():
        if event.id in wanted:
            words[event.id] = event.payload["text"]
            if len(words) == len(wanted):
                break
    return words
