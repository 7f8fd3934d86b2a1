"""The pages of what other machines share: a list, and each session. Nothing of it is live, or can be changed."""

import time
from collections.abc import AsyncIterator, Container, Iterable, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from katod.agents import AGENTS
from katod.agents.toolcalls import one_line
from katod.archive.archived import events_of, recorded_events, title_of
from katod.archive.manifest import MANIFEST
from katod.archive.parts import ArchivedSession, SharedFolders, candidates, real_path, shared_folders
from katod.errors import KatodError
from katod.formats.redact.redactor import redact
from katod.formats.stream import bridge
from katod.formats.text.markup import NOTHING, Markup
from katod.formats.text.when import When
from katod.formatspec import MARKDOWN
from katod.metadata import Replay
from katod.model import Options, SessionKey
from katod.paths import name_of
from katod.search.run import Match, Search
from katod.search.shared import said_place
from katod.search.transcriptfiles import TranscriptFile, shared_file
from katod.serve.feed.hub import Hub
from katod.serve.feed.position import SentMessage
from katod.serve.http import ClosedStream, html_response
from katod.serve.index.entry import Numbers, numbers_of
from katod.serve.page.frame import plain
from katod.serve.page.machinesview import (
    SharedList,
    SharedResult,
    SharedRow,
    found_elsewhere,
    machines_page,
    shared_foot,
    shared_head,
)  # fmt: skip
from katod.serve.page.pages import guarded
from katod.serve.page.reader import PagePrinter, whole_of
from katod.serve.page.search import problems_of, shown_hits, terms_of
from katod.serve.page.searchquery import SearchQuery
from katod.serve.worker import Busy
from katod.store.collections import Tombstones
from katod.store.ledger import Ledger

_MOST: Final = 200  # sessions of one machine
_TITLE: Final = 120
_CUT_OFF: Final = "The rest could not be read."
_NOT_NOW: Final = "What other machines share cannot be searched now: load this page again."
_ONLY_TEXT: Final = "This machine shares the session in a format that is not shown here: `katod show` may show it."


class SharedSessions:
    """What other machines share, read again whenever a list has changed. For the reading thread."""

    def __init__(self, folders: tuple[str, ...], state: Path, *, everything: bool, redacted: bool) -> None:
        """Unless `everything` is served, only what was recorded is."""
        self._folders = folders
        self._state = state
        self._everything = everything
        self._say = redact if redacted else str
        self._shared = SharedFolders(())
        self._signature: Numbers | None = None
        self._titles: dict[tuple[str, int], str] = {}

    def lists(self) -> tuple[list[SharedList], list[str]]:
        """Return the latest sessions of each machine, and what cannot be read."""
        by_machine: dict[str, list[ArchivedSession]] = {}
        for found in sorted(self._sessions(), key=lambda one: -one.changed_ns):
            by_machine.setdefault(found.machine, []).append(found)
        lists = [
            SharedList(machine, [self.row(one) for one in some[:_MOST]], max(0, len(some) - _MOST))
            for machine, some in sorted(by_machine.items())
        ]
        return lists, [f"{path}: {problem}" for path, problem in self._shared.problems.items()]

    def find(self, machine: str, name: str) -> ArchivedSession | None:
        """Return the session of a machine with this UUID, None if there is none."""
        every = (one for one in self._sessions() if one.machine == machine)
        return next((one for one in every if bridge.session_uuid(one.key) == name), None)

    def usable(self) -> list[ArchivedSession]:
        """Return the sessions of which all may be counted: none unless everything is served."""
        return [one for one in self._sessions() if one.has_events] if self._everything else []

    def searched(self, here: Container[SessionKey]) -> "SharedPlaces":
        """Return what is searched: what can be shown, but for sessions that are served here."""
        shown = [one for one in self._sessions(here) if one.has_events or one.form == MARKDOWN]
        if self._everything:
            return SharedPlaces((one, _place(one)) for one in shown)
        return SharedPlaces((one, said_place(one)) for one in shown if one.has_events)

    def row(self, found: ArchivedSession) -> SharedRow:
        """Return how a session is shown."""
        name, agent = bridge.session_uuid(found.key), AGENTS[found.key.agent].product
        folder = self._say(name_of(found.cwd)) if found.cwd else ""
        return SharedRow(found.machine, name, agent, self._title(found), folder, found.changed_ns / 1e9)

    def printed(self, found: ArchivedSession, printer: PagePrinter) -> Iterator[SentMessage]:
        """Yield the HTML of the events of a session. Raises KatodError."""
        made = (printer.printed(event, metadata) for event, metadata in self._events(found))
        yield from (one for one in made if one is not None)

    def text(self, found: ArchivedSession) -> str:
        """Return the text of a session without events. Raises KatodError."""
        with found.open() as file:
            return self._say(file.read().decode("utf-8", "replace"))

    def _sessions(self, without: Container[SessionKey] = ()) -> list[ArchivedSession]:
        self._look()
        forgotten, recorded = Tombstones(()), not self._everything
        if (ledger := Ledger.read(self._state)) is not None:
            with closing(ledger):
                forgotten = ledger.tombstones if ledger.has_tombstones() else forgotten
        return self._shared.sessions(without, others=True, recorded=recorded, is_forgotten=forgotten.covers)

    def _look(self) -> None:
        if self._signature is None or self._signature != self._now():
            self._shared = shared_folders(self._folders, self._state)
            self._signature = self._now()

    def _now(self) -> Numbers:
        """Return what differs once a list has changed, or there is another one."""
        roots = [root for folder in self._folders for root in _candidates(real_path(folder))]
        return numbers_of([*map(real_path, self._folders), *(root / MANIFEST for root in roots)])

    def _title(self, found: ArchivedSession) -> str:
        known = str(found.path), found.changed_ns
        if known not in self._titles:
            title = title_of(found, self._events(found)) if found.has_events else found.path.stem
            self._titles[known] = self._say(one_line(title or str(found.key), _TITLE))
        return self._titles[known]

    def _events(self, found: ArchivedSession) -> Replay:
        return events_of(found) if self._everything else recorded_events(found)


def _candidates(folder: Path) -> list[Path]:
    try:
        return list(candidates(folder))
    except OSError:
        return []  # reading it says why


class SharedPlaces:
    """What is searched of shared sessions. For any thread, but one at a time."""

    def __init__(self, places: Iterable[tuple[ArchivedSession, TranscriptFile]]) -> None:
        self._places = list(places)
        self.problems: list[str] = []  # why some could not be searched

    def steps(self, asked: SearchQuery, zone: str) -> Iterator[list[tuple[ArchivedSession, Match]] | None]:
        """Yield None while it goes on, and at last the sessions that have what is asked for, in its order.

        Days are those of a time zone.
        """
        job, sessions = Search(asked.query, terms_of(asked, zone)), {place: found for found, place in self._places}
        for matches in job.steps(job.possible(place for _, place in self._places)):
            if matches is None:
                yield None
            else:
                self.problems = problems_of(job)
                yield [(sessions[match.place], match) for match in matches if isinstance(match.place, TranscriptFile)]


def _place(found: ArchivedSession) -> TranscriptFile:
    """Return the file that the page of a session shows."""
    if not found.has_events:
        return shared_file(found)
    return TranscriptFile(found.events_path, found.changed_ns, found.open_events)


class MachinePages:
    """The pages at their addresses."""

    def __init__(self, hub: Hub, shared: SharedSessions, options: Options) -> None:
        self._hub = hub
        self._shared = shared
        self._options = options

    def routes(self) -> list[Route]:
        """Return the addresses."""
        one = "/machines/{machine}/{session}"
        return [Route("/machines", guarded(self._list)), Route(one, guarded(self._session))]

    async def find(self, asked: SearchQuery) -> Markup:
        """Return what other machines have of what is asked for, as a part of the page."""
        try:
            here = await self._hub.reading.run(lambda: {one.key for one in self._hub.index.all().values()})
            places = await self._hub.reading.run(lambda: self._shared.searched(here))
            found = await self._hub.searching.last(places.steps(asked, self._options.time_zone)) or []
            results = await self._hub.reading.run(
                lambda: [SharedResult(self._shared.row(one), shown_hits(match), match.total) for one, match in found]
            )
            problems = places.problems
        except (Busy, KatodError):
            results, problems = [], [_NOT_NOW]
        return found_elsewhere(results, problems, asked.query.words, When(self._options.time_zone), time.time())

    async def _list(self, _request: Request) -> Response:
        lists, problems = await self._hub.reading.run(self._shared.lists)
        return html_response(machines_page(lists, problems, time.time()))

    async def _session(self, request: Request) -> Response:
        machine, name = request.path_params["machine"], bridge.folded(request.path_params["session"])
        found = await self._hub.reading.run(lambda: self._shared.find(machine, name))
        if found is None:
            return html_response(plain("Not here", "There is no such session.", "/machines"), 404)
        if found.has_events:
            return ClosedStream(self._conversation(found), media_type="text/html")
        if found.form != MARKDOWN:
            return html_response(plain("Not shown", _ONLY_TEXT, "/machines"), 404)
        text = await self._hub.reading.run(lambda: self._shared.text(found))
        return Response(text, media_type="text/plain; charset=utf-8")

    async def _conversation(self, found: ArchivedSession) -> AsyncIterator[Markup]:
        """Yield the page piece by piece."""
        printer = PagePrinter(self._options, self._hub.log)
        yield shared_head(await self._hub.reading.run(lambda: self._shared.row(found)))
        problem = ""
        try:
            async with aclosing(self._hub.reading.stream(self._shared.printed(found, printer))) as pieces:
                async for some in pieces:
                    yield whole_of(some)
        except (Busy, KatodError):
            problem = _CUT_OFF
        yield shared_foot(printer.held(), printer.prompts() or NOTHING, problem)
