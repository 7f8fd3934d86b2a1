"""A whole search: newest first, over transcripts and sessions, no longer than it takes to find what is shown."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.discover.found import Found
from katod.errors import OutputError, SourceError
from katod.search.outputs import Transcript, search_transcript
from katod.search.query import Query, like
from katod.search.sessions import Hit, search_session
from katod.search.snippet import gist, snippet, surroundings
from katod.search.transcripts import About

NANO: Final = 1_000_000_000
Place = Found | Transcript


class Shown(NamedTuple):
    """One hit as it is shown; `time` is ISO 8601 or empty."""

    speaker: str
    time: str
    snippet: str


class Match(NamedTuple):
    """A session or a transcript with hits, the newest first; `about` is empty for a session."""

    place: Place
    about: About
    hits: tuple[Shown, ...]
    latest: float  # seconds since 1970

    @property
    def session(self) -> str:
        """The session's id."""
        return _session(self.place, self.about)


def _session(place: Place, about: About) -> str:
    return place.key.id if isinstance(place, Found) else about.session


class Search:
    """One search. What could not be read is noted in `problems`, and the rest is searched all the same."""

    def __init__(
        self, query: Query, wants: Callable[[Match], bool] = lambda _: True, *, oldest: float = 0.0, width: int = 200
    ) -> None:  # fmt: skip
        self.problems: dict[str, str] = {}
        self._query = query
        self._wants = wants
        self._oldest = oldest
        self._width = width
        self._ids: set[str] = set()
        self._gists: dict[tuple[str, bool], set[str]] = {}
        self.is_complete = True

    def run(self, places: Iterable[Place], most: int = 0) -> list[Match]:
        """Return the matches of these places, those with the newest hits first; at most so many, 0 for all.

        A hit is not newer than its file. So, once enough was found, files older than all of that are not opened.
        """
        matches: list[Match] = []
        for place in sorted(self._possible(places), key=lambda place: -place.changed_ns):
            matches.sort(key=lambda match: -match.latest)
            if most and len(matches) >= most and matches[most - 1].latest * NANO >= place.changed_ns:
                self.is_complete = False
                break
            if (match := self._match(place)) and self._wants(match):
                matches.append(match)
        matches.sort(key=lambda match: -match.latest)
        self.is_complete = self.is_complete and (not most or len(matches) <= most)
        return matches[:most] if most else matches

    def _possible(self, places: Iterable[Place]) -> Iterator[Place]:
        """Yield the places that are new enough, and of the sessions in databases those that may have all words."""
        held: dict[str, set[str]] = {}
        for place in places:
            if place.changed_ns >= self._oldest * NANO and self._may_have(place, held):
                yield place

    def _may_have(self, place: Place, held: dict[str, set[str]]) -> bool:
        if isinstance(place, Transcript):
            return True
        spec = AGENTS[place.key.agent]
        paths = [path for path, _, _ in place.files]
        if spec.container is None or not all(map(spec.is_contained, paths)):
            return True
        for file in {path.rpartition("#")[0] for path in paths} - held.keys():
            try:
                held[file] = spec.container.holding(file, [like(word) for word in self._query.words])
            except SourceError as error:
                held[file] = set()
                self.problems[file] = error.what
        return any(path in held[path.rpartition("#")[0]] for path in paths)

    def _match(self, place: Place) -> Match | None:
        """Return the hits of one place; of each, only what is shown is kept."""
        about, found = About(), []
        try:
            about, hits = self._hits(place)
            form = (_session(place, about), isinstance(place, Found))
            found = [(self._seconds(hit, place), shown) for hit in hits if (shown := self._shown(hit, *form))]
        except (SourceError, OutputError) as error:
            self.problems[str(error.path)] = error.what
        found = [pair for pair in reversed(found) if pair[0] >= self._oldest]  # of one moment, the last comes first
        found.sort(key=lambda pair: -pair[0])
        return Match(place, about, tuple(shown for _, shown in found), found[0][0]) if found else None

    def _hits(self, place: Place) -> tuple[About, Iterable[Hit]]:
        if isinstance(place, Transcript):
            return search_transcript(place.path, self._query)
        return About(), search_session(place, self._query)

    def _shown(self, hit: Hit, session: str, is_source: bool) -> Shown | None:
        """Return how a hit is shown, None if it was found before: in a fork, or in the other form of its session."""
        if hit.id in self._ids:
            return None
        self._ids.add(hit.id)
        near = surroundings(hit.text, self._query)
        what = gist(near, self._query)
        self._gists.setdefault((session, is_source), set()).add(what)
        if what in self._gists.get((session, not is_source), ()):
            return None
        return Shown(hit.speaker, hit.time, snippet(near, self._query, self._width))

    @staticmethod
    def _seconds(hit: Hit, place: Place) -> float:
        try:
            return min(datetime.fromisoformat(hit.time).timestamp(), place.changed_ns / NANO)
        except (ValueError, OverflowError):
            return place.changed_ns / NANO
