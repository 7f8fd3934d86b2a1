"""A whole search over transcripts and sessions, until there are as many matches as are shown.

Its order is the same each time: of matches that are alike in it, those of the file that changed last come first, and of
such files, those whose path or session comes first.
"""

from bisect import insort
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import islice
from math import inf
from typing import Final, Literal, NamedTuple

from katod.agents import AGENTS
from katod.agents.spec import Container
from katod.discover.found import FoundSession
from katod.errors import OutputError, SourceError
from katod.search.duplicates import FoundBefore, FoundPlace
from katod.search.hits import Hit, RecordPlace, ShowView, TranscriptHead
from katod.search.hittime import DAYS_APART, as_known, day_in, moment_of, span_of
from katod.search.query import Query, like
from katod.search.snippet import closeness, comparable, gist, snippet, surroundings
from katod.search.transcriptfiles import TranscriptFile

NANO: Final = 1_000_000_000
_MOST_CALLS: Final = 256  # that are looked for in one place
Searched = FoundSession | TranscriptFile
# The newest first; those in which it was said before those in which only tools have it; the best matches first.
Order = Literal["newest", "said", "best"]


class ShownHit(NamedTuple):
    """One hit as it is shown; `time` is ISO 8601, a day if no more is known, `event` the id of an event of a session.

    `shown_by` is with which of the views it is shown, None if with none of them; of a result, its `call` decides, too:
    that is looked for before the record `at` a place, if there is one.
    """

    speaker: str
    time: str
    snippet: str
    event: str = ""
    is_said: bool = True
    shown_by: str | None = ""
    call: str = ""
    at: RecordPlace | None = None


class Match(NamedTuple):
    """A session or a transcript with hits, those that were said first if that is the order, then the newest.

    `about` is empty for a session. `hits` may be only some of a `total`: those that were said, and those of tools, the
    newest of each.
    """

    place: Searched
    about: TranscriptHead
    hits: tuple[ShownHit, ...]
    total: int
    latest: float  # seconds since 1970
    said: float  # the latest hit that was said; 0 if there is none
    score: float  # how well its best hit matches

    @property
    def session(self) -> tuple[str, str]:
        """What its session is known by, or the file of a transcript that does not name one."""
        if isinstance(self.place, FoundSession):
            return self.place.key.id, self.place.key.subagent
        return (self.about.session, self.about.subagent) if self.about.session else (str(self.place.path), "")


class Terms(NamedTuple):
    """What hits have to be like, and how many are wanted."""

    oldest: float = -inf  # seconds since 1970
    until: float = inf  # what is of this time is left out
    said: bool = False  # only what a person or an agent said
    order: Order = "newest"
    most: int = 0  # matches; 0: all
    by_session: bool = False  # all matches of so many sessions, of each of which there may be several
    each: int = 0  # hits of each kind in a match; 0: all
    width: int = 200  # characters of a snippet
    views: Callable[[], tuple[ShowView, ...]] = tuple  # in which hits may be shown, those that are preferred first
    zone: str = ""  # of days, and of times that name none; the machine's if it is empty
    redacted: bool = False  # only what has all words without its secrets, too: no search tells whether one is there


class SearchProgress(NamedTuple):
    """How many places there are, 0 while they are looked for, and how many of these were searched."""

    places: int = 0
    searched: int = 0


_ALL: Final = Terms()


class Search:
    """One search. What could not be read is noted in `problems`, and the rest is searched all the same.

    `wants` decides by a place, and what a transcript says of itself, whether its hits count. While it runs, another
    thread may read its `progress`.
    """

    def __init__(
        self,
        query: Query,
        terms: Terms = _ALL,
        wants: Callable[[Searched, TranscriptHead], bool] = lambda _place, _about: True,
    ) -> None:
        self.problems: dict[str, str] = {}
        self.is_complete = True
        self.progress = SearchProgress()
        self._query = query
        self._terms = terms
        self._wants = wants
        self._before = FoundBefore()

    def run(self, places: Iterable[Searched]) -> list[Match]:
        """Return the matches of these places, in the order of the terms."""
        return self.search(self.possible(places))

    def possible(self, places: Iterable[Searched]) -> list[Searched]:
        """Return the places that may have matches, those that changed last first."""
        return sorted(self._possible(places), key=lambda place: (-place.changed_ns, _name_of(place)))

    def search(self, possible: list[Searched], may_match: Callable[[int], bool] = lambda _: True) -> list[Match]:
        """Return the matches of places as `possible` returns them, in the order of the terms."""
        return next(found for found in self.steps(possible, may_match) if found is not None)

    def steps(
        self, possible: list[Searched], may_match: Callable[[int], bool] = lambda _: True
    ) -> Iterator[list[Match] | None]:
        """Yield None after each part of what is searched, and at last the same as `search` returns.

        A hit is not newer than its file. So, once enough was found, files older than all of that are not opened, unless
        the best are wanted; nor is one that may not match, by its number.
        """
        matches = list[Match]()
        for number, place in enumerate(possible):
            self.progress = SearchProgress(len(possible), number)
            if self._is_enough(matches, place):
                self.is_complete = False
                break
            if may_match(number) and (match := (yield from self._match(place))):
                insort(matches, match, key=self._order)
            yield None
        kept = self._wanted(matches)
        self.is_complete = self.is_complete and len(kept) == len(matches)
        yield [*map(_with_calls, kept)] if kept and self._terms.views() else kept

    def _order(self, match: Match) -> tuple[float, float]:
        first = {"newest": 0.0, "said": match.said, "best": match.score}[self._terms.order]
        return (-first, -match.latest)

    def _is_enough(self, matches: list[Match], place: Searched) -> bool:
        """Return whether nothing in a place, or in those after it, belongs to the first matches."""
        last = self._last(matches)
        if last is None or self._terms.order == "best":
            return False
        return (last.said if self._terms.order == "said" else last.latest) * NANO >= place.changed_ns

    def _last(self, matches: list[Match]) -> Match | None:
        """Return the last of the wanted matches, or the first one of their last session; None if there are too few."""
        most = self._terms.most
        if not most or len(matches) < most:
            return None
        firsts = _first_of_each_session(matches) if self._terms.by_session else iter(matches)
        return next(islice(firsts, most - 1, None), None)

    def _wanted(self, matches: list[Match]) -> list[Match]:
        """Return the matches that are wanted; of the sessions that are, all of them."""
        if not self._terms.by_session:
            return matches[: self._terms.most or None]
        wanted = {match.session for match in islice(_first_of_each_session(matches), self._terms.most or None)}
        return [match for match in matches if match.session in wanted]

    def _possible(self, places: Iterable[Searched]) -> Iterator[Searched]:
        """Yield the places that are new enough, and of the sessions in databases those that may have all words."""
        held: dict[str, set[str]] = {}
        for place in places:
            if place.changed_ns >= self._oldest_of(place) * NANO and self._may_have(place, held):
                yield place

    def _oldest_of(self, place: Searched) -> float:
        """Return before when a place has nothing that is wanted; a transcript may only name days, of another zone."""
        return self._terms.oldest - (DAYS_APART if isinstance(place, TranscriptFile) else 0.0)

    def _may_have(self, place: Searched, held: dict[str, set[str]]) -> bool:
        if isinstance(place, TranscriptFile):
            return True
        spec = AGENTS[place.key.agent]
        paths = [path for path, _, _ in place.files]
        if spec.container is None or not all(map(spec.is_contained, paths)):
            return True
        for file in {path.rpartition("#")[0] for path in paths} - held.keys():
            try:
                held[file] = self._held(spec.container, file)
            except SourceError as error:
                held[file] = set()
                self.problems[file] = error.what
        return any(path in held[path.rpartition("#")[0]] for path in paths)

    def _held(self, container: Container, file: str) -> set[str]:
        """Return the sessions in a database that may have all words. Raises SourceError."""
        alone = [like(group[0]) for group in self._query.groups if len(group) == 1]
        choices = [map(like, group) for group in self._query.groups if len(group) > 1]
        held = [container.holding(file, alone)] if alone else []
        held += [set.union(*(container.holding(file, [one]) for one in patterns)) for patterns in choices]
        return set.intersection(*held) if held else set()

    def _match(self, place: Searched) -> Generator[None, None, Match | None]:
        """Return the hits of one place, None if it has none that counts; what takes long is done in many steps."""
        about, kept = TranscriptHead(), _Kept(self._query, self._terms)
        try:
            about, hits = self._hits(place)
            for hit in hits:
                yield
                if hit is not None and not kept.count and not self._wants(place, about):
                    return None
                if hit is not None and self._counts(hit, place, about):
                    kept.add(hit, self._seconds(hit, place))
        except (SourceError, OutputError) as error:
            self.problems[str(error.path or _path_of(place))] = error.what
        return (yield from kept.match(place, about)) if kept.count else None

    def _hits(self, place: Searched) -> tuple[TranscriptHead, Iterable[Hit | None]]:
        if isinstance(place, TranscriptFile):
            from katod.search.outputs import search_transcript  # noqa: PLC0415 - it loads what is known of transcripts

            about, hits = search_transcript(place, self._query)
            return about.of_session(place.key), hits
        from katod.search.sessions import search_session  # noqa: PLC0415 - it loads the translation

        return TranscriptHead(), search_session(place, self._query)

    def _seconds(self, hit: Hit, place: Searched) -> float:
        """Return when a hit was said, in seconds since 1970; without a time, when its file changed.

        Nothing in a file is newer than that.
        """
        changed, moment = place.changed_ns / NANO, moment_of(hit.time, self._terms.zone)
        return changed if moment is None else min(moment, changed)

    def _is_in_time(self, hit: Hit, place: Searched) -> bool:
        """Return whether a hit is of the time that is wanted; of a passage, that of its heading counts.

        A day begins in the zone of days, which may be after its file changed: there it was the next day already.
        """
        said = self._seconds(hit, place)
        begin = moment_of(hit.time, self._terms.zone) if day_in(hit.time) else None
        if begin is not None and begin <= said + DAYS_APART:
            said = begin
        return self._terms.oldest <= said < self._terms.until

    def _counts(self, hit: Hit, place: Searched, about: TranscriptHead) -> bool:
        """Return whether a hit is wanted, and was not found before: in a fork, or in the other form of its session."""
        if not self._is_in_time(hit, place) or (self._terms.said and not hit.is_said):
            return False
        if self._terms.redacted and not self._query.matches(hit.redacted()):
            return False
        if _is_note(hit):
            return self._before.is_new_note(hit.id)
        what = gist(surroundings(comparable(hit.text, hit.written, self._query), self._query), self._query)
        said = span_of(hit.time, hit.until, self._terms.zone)
        return self._before.is_new(hit.id, what, _found_place(place, about), *said)


def _is_note(hit: Hit) -> bool:
    """Return whether a person wrote a hit into a transcript: it may quote a message, but is none."""
    if hit.until is None:
        return False  # an event
    from katod.search.passages import NOTE  # noqa: PLC0415 - it loads what is known of transcripts

    return hit.speaker == NOTE


def _found_place(place: Searched, about: TranscriptHead) -> FoundPlace:
    if isinstance(place, FoundSession):
        return FoundPlace(place.key.id, "")
    return FoundPlace(about.session, str(place.path))


def _first_of_each_session(matches: Iterable[Match]) -> Iterator[Match]:
    seen = set[tuple[str, str]]()
    for match in matches:
        if match.session not in seen:
            seen.add(match.session)
            yield match


def _name_of(place: Searched) -> str:
    """Return what orders places that changed at the same time."""
    return str(place.path) if isinstance(place, TranscriptFile) else str(place.key)


def _path_of(place: Searched) -> str:
    return str(place.path) if isinstance(place, TranscriptFile) else place.files[-1][0]


class _Kept:
    """The hits of one place that are shown; of the others, only how many there are is known."""

    def __init__(self, query: Query, terms: Terms) -> None:
        self.count = 0
        self._latest = self._said = self._score = 0.0
        self._query = query
        self._terms = terms
        self._newest: dict[bool, list[tuple[float, int, Hit]]] = {True: [], False: []}

    def add(self, hit: Hit, seconds: float) -> None:
        """Count a hit, and keep it if it is one of the newest of its kind."""
        self.count += 1
        self._latest = max(self._latest, seconds)
        if hit.is_said:
            self._said = max(self._said, seconds)
        if self._terms.order == "best":
            close = closeness(surroundings(hit.text, self._query), self._query)
            self._score = max(self._score, close + hit.is_said / 2)
        kept = self._newest[hit.is_said]
        heappush(kept, (seconds, self.count, hit))
        if self._terms.each and len(kept) > self._terms.each:
            heappop(kept)

    def match(self, place: Searched, about: TranscriptHead) -> Generator[None, None, Match]:
        """Return the match with the kept hits, one in each step; of one moment, the last comes first."""
        kinds = [self._newest[True], self._newest[False]]
        if self._terms.order != "said":
            kinds = [kinds[0] + kinds[1]]
        shown = list[ShownHit]()
        for _, _, hit in (item for kind in kinds for item in sorted(kind, key=lambda item: item[:2], reverse=True)):
            shown.append(self._shown(hit))
            yield
        return Match(place, about, tuple(shown), self.count, self._latest, self._said, self._score)

    def _shown(self, hit: Hit) -> ShownHit:
        words = hit.redacted()
        near = surroundings(words, self._query)
        views = self._terms.views()
        shown_by = hit.shown_by(self._query, views, words) if views else ""
        text = snippet(near, self._query, self._terms.width)
        return ShownHit(hit.speaker, as_known(hit.time), text, hit.event, hit.is_said, shown_by, hit.call, hit.at)


def _with_calls(match: Match) -> Match:
    """Return a match whose results are shown for certain: their calls are looked for, unless they are too many."""
    calls = {hit.call: hit.at for hit in match.hits if hit.call and hit.shown_by is not None}
    unprinted = _unprinted_in(match.place, calls) if len(calls) <= _MOST_CALLS else calls
    hits = (hit._replace(shown_by=None) if hit.call in unprinted else hit for hit in match.hits)
    return match._replace(hits=tuple(hits)) if unprinted else match


def _unprinted_in(place: Searched, calls: Mapping[str, RecordPlace | None]) -> Collection[str]:
    if not calls:
        return ()
    if isinstance(place, TranscriptFile):
        from katod.search import outputs  # noqa: PLC0415 - it loads what is known of transcripts

        return outputs.unprinted_in(place, calls.keys())
    from katod.search import sessions  # noqa: PLC0415 - it loads the translation

    return sessions.unprinted_in(place, calls)
