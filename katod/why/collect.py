"""The edits of some files: of recorded ranges, from the ledger's index, or of all sessions on the disk."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, Final

from katod.archive.archived import calls_with, directory_of, events_of, recorded_parts
from katod.archive.parts import ArchivedSession
from katod.discover.found import FoundSession
from katod.edits.edits import Cause, Edit, edits_of, whole_path
from katod.edits.lines import LineHasher
from katod.edits.packed import places_in, unpack_changes
from katod.edits.textchanges import text_changes
from katod.edits.tracker import EditingCall, EditTracker, EndedCall, is_explaining
from katod.errors import OutputUnreadable, SourceError
from katod.events import TOOL_CALL, Event, seconds
from katod.log import EventLog
from katod.metadata import Replay
from katod.model import SessionKey
from katod.paths import name_of
from katod.processes import each_elsewhere
from katod.record.editnotes import has_index
from katod.record.export import Stretch, replay
from katod.record.ranges import RangePrinter
from katod.search.query import Query
from katod.search.sessions import events_with, may_have_hits
from katod.store.keyedhash import KeyedHash
from katod.store.ledger import Ledger
from katod.store.rows import EditRow, OutputRow, SessionRow
from katod.why.explain import EditWords
from katod.why.places import FilePlace, FilePlaces
from katod.why.target import AskedFile

_MUCH: Final = 64_000_000  # bytes; less is read sooner than processes begin


class EditCollector:
    """Collects the edits of files, each once, however many sessions have the record of its call."""

    def __init__(self, files: Sequence[AskedFile], ledger: Ledger | None) -> None:
        hashes = ledger.edits.hashes if ledger is not None else KeyedHash.random()
        self.hasher = LineHasher(hashes.number)
        self.problems: dict[str, str] = {}
        self.words = EditWords(ledger)
        self._ledger = ledger
        self._names = {name_of(name) for file in files for name in file.names}
        self._places = FilePlaces(files)
        self._hashed = FilePlaces(files, self.hasher.number)
        self._edits: list[dict[tuple[Any, ...], Edit]] = [{} for _ in files]

    def edits(self, number: int) -> list[Edit]:
        """Return the edits of a file that were found, by its number."""
        return list(self._edits[number].values())

    def _add(self, number: int, edit: Edit) -> None:
        """Add an edit, unless a fork has it, too: with the same time, which some agents do not record."""
        cause = edit.cause
        self._edits[number].setdefault((cause.time or cause.call, edit.changes), edit)

    # -- recorded ranges --------------------------------------------------------------------------------

    def recorded(self) -> None:
        """Take the edits within recorded ranges."""
        for row, session in self._indexed():
            place = next(places_in(row.places), None)  # the whole path; its ends follow
            for found in self._hashed.of(place, session.cwd, seconds(row.time)):
                self._take_row(found, row, session.key)
        for output in self._ledger.outputs() if self._ledger is not None else ():
            if not has_index(output):  # recorded by a version that kept no index
                self._take_unindexed(output)

    def _indexed(self) -> Iterator[tuple[EditRow, SessionRow]]:
        """Yield what the index has of files with these names, and the sessions."""
        if self._ledger is not None:
            sessions = {row.id: row for row in self._ledger.sessions()}
            rows = self._ledger.edits.of(map(self.hasher.number, self._names))
            yield from ((row, sessions[row.session]) for row in rows if row.session in sessions)

    def _take_row(self, found: FilePlace, row: EditRow, key: SessionKey) -> None:
        cause = Cause(key, row.call, row.prompt, row.answer, row.time, row.model)
        try:
            self._add(found.number, Edit(cause, unpack_changes(row.changes), found.tree, found.is_certain))
        except ValueError as error:
            self.problems[str(key)] = f"the index of its edits is damaged: {error}"

    def _take_unindexed(self, output: OutputRow) -> None:
        key = SessionKey(*output.head["key"])
        try:
            printer = RangePrinter("jsonl", output.options, output.ranges)
            self._take_events(self.words.events(output, key), key, printer, cwd=self._cwd_of(key))
        except (SourceError, OutputUnreadable) as error:
            self.problems[str(output.path)] = error.what

    def _cwd_of(self, key: SessionKey) -> str:
        row = self._ledger.find_session(key) if self._ledger is not None else None
        return row.cwd if row is not None else ""

    def shared(self, sessions: Iterable[ArchivedSession], *, everything: bool) -> None:
        """Take the edits of sessions that other machines share: those that were recorded there, or all."""
        for found in sessions:
            try:
                if found.has_events and (everything or found.recorded.parts) and calls_with(found, self._names):
                    cwd = directory_of(found)  # a part of it need not say so
                    for events in [events_of(found)] if everything else recorded_parts(found):
                        self._take_events(events, found.key, machine=found.machine, cwd=cwd)
            except (SourceError, OutputUnreadable) as error:
                self.problems[str(found.path)] = error.what

    # -- all sessions -----------------------------------------------------------------------------------

    def found(self, sessions: Iterable[FoundSession]) -> None:
        """Take the edits of the sessions on the disk that edit one of the files.

        To be called while this process has one thread: of much, other processes find out which sessions these are.
        """
        query = Query([tuple(self._names)])
        some = list(sessions)
        sizes = [session.size for session in some]
        with ExitStack() as stack:
            ahead: Callable[[int], bool | None] = lambda _: None  # noqa: E731
            if sum(sizes) >= _MUCH:
                ahead = stack.enter_context(
                    each_elsewhere(lambda number: self._may_concern(some[number], query), sizes, _MUCH)
                )
            for number, session in enumerate(some):
                found = ahead(number)
                if self._may_concern(session, query) if found is None else found:
                    self._take_session(session)

    def _may_concern(self, session: FoundSession, query: Query) -> bool:
        """Return False if a session certainly edits none of the files: most of those that name one only read it."""
        stretches = [Stretch(path, identity) for path, identity, _ in session.files]
        try:
            return may_have_hits(session, query) and any(
                event.kind == TOOL_CALL and event.payload["family"] == "edit" and self._is_here(event, metadata.cwd)
                for event, metadata in filter(
                    None, chain.from_iterable(events_with(stretch, query) for stretch in stretches)
                )
            )
        except (SourceError, OSError):
            return True  # reading it says why

    def _is_here(self, event: Event, cwd: str) -> bool:
        return any(self._places.of(whole_path(path, cwd), cwd) for path in text_changes(event.payload))

    def _take_session(self, session: FoundSession) -> None:
        stretches = [Stretch(path, identity) for path, identity, _ in session.files]
        try:
            self._take_events(replay(session.key, stretches, EventLog(), skip_missing=True), session.key)
        except SourceError as error:
            self.problems[str(session.key)] = error.what

    def _take_events(
        self, events: Replay, key: SessionKey, printer: RangePrinter | None = None, *, machine: str = "", cwd: str = ""
    ) -> None:
        """Take the edits of a session, or of the ranges of a printer, with what explains them.

        It works in `cwd` where its events do not say it.
        """
        tracker, calls, made, words = EditTracker(), dict[str, EditingCall](), list[EditingCall](), dict[str, str]()
        title = ""
        for event, metadata in _within(events, tracker, printer):
            title = metadata.best_title
            if is_explaining(event):
                words[event.id] = event.payload["text"]
            noted = tracker.take(event, metadata.cwd or cwd, metadata.time)
            if isinstance(noted, EditingCall):
                calls[noted.event.id] = noted
            elif isinstance(noted, EndedCall) and (call := calls.pop(noted.event, None)) and noted.went_well:
                made.append(call)
        for call in made:
            for number, edit in self._wanted(call, key, machine):
                self._add(number, edit)
                self.words.know(edit.cause, title, words, machine=machine)

    def _wanted(self, call: EditingCall, key: SessionKey, machine: str) -> Iterator[tuple[int, Edit]]:
        for path, edit in edits_of(call, key, self.hasher):
            for found in self._places.of(path, call.cwd, seconds(edit.cause.time)):
                yield found.number, edit._replace(tree=found.tree, is_certain=found.is_certain or bool(machine))


def _within(events: Replay, tracker: EditTracker, printer: RangePrinter | None) -> Replay:
    """Yield the events within ranges; where one ends, a tracker leaves it."""
    for event, metadata in events:
        is_within = printer is None or printer.has(event)
        if printer is not None:
            printer.take(event, metadata)
        if is_within:
            yield event, metadata
        if printer is not None and not printer.active:
            tracker.leave()
