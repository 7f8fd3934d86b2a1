"""What `katod search` prints: blocks on a terminal, lines or objects for programs."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final

import orjson

from katod.cli.layout import Line, TextSpan, cropped, cut, one_text, show
from katod.cli.printing import say_as_it_is, say_to_programs
from katod.cli.searchscope import OWN, Described, SearchScope
from katod.discover.found import FoundSession
from katod.formats.text.when import When, utc
from katod.paths import name_of
from katod.search.hittime import iso, stamp
from katod.search.query import Query
from katod.search.run import Match, ShownHit
from katod.shell import pasted

EACH: Final = 3  # hits of one session
LINES: Final = 2  # of a hit
_LEAST: Final = 40
_SPEAKER: Final = 18  # cells
_INDENT: Final = "   "
_SHOWS: Final = "katod show"


def _quoted(word: str) -> str:
    """Return a word as `--find` takes it, readable within single quotes."""
    if re.fullmatch(r"[\w.:/@+-]+", word):
        return word
    return shlex.quote(word) if set(word) & set('"\\') else f'"{word}"'


class HitLayout:
    """What lines depend on."""

    def __init__(self, zone: When, width: int, query: Query, each: int) -> None:
        self.zone = zone
        self.width = width  # 0: no terminal
        self.each = each
        self.find = pasted(" ".join(" OR ".join(map(_quoted, group)) for group in query.groups))
        longest_first = sorted(map(re.escape, query.words), key=len, reverse=True)
        self.words = re.compile("|".join(longest_first), re.IGNORECASE)

    def opening(self, described: Described, hits: Sequence[ShownHit]) -> str:
        """Return the command that opens a match at these hits, as far as it can show them."""
        if not described.open.startswith(_SHOWS) or all(hit.speaker == OWN for hit in hits):
            return described.open
        needed = [hit.shown_by for hit in hits if hit.shown_by is not None]
        if not needed:
            return described.open  # nothing to be found there
        return " ".join((described.open, f"--find {self.find}", *sorted(set(filter(None, needed)))))

    def day(self, match: Match) -> str:
        """Return the day of a match's first hit."""
        return self.zone.day(match.hits[0].time) or self.zone.day(utc(match.latest))


def print_matches(matches: list[Match], scope: SearchScope, screen: HitLayout, *, as_json: bool) -> None:
    """Print a block for each session on a terminal; in a pipe, one tab-separated line or one object for each hit."""
    if screen.width:
        for entry in _by_session(matches):
            show(_block([(match, scope.describe(match.place, match.about)) for match in entry], screen))
        return
    for match in matches:
        described = scope.describe(match.place, match.about)
        for hit in match.hits:
            time = iso(hit.time, screen.zone)  # of the days by which it was chosen
            said = {"speaker": hit.speaker, "time": time, "snippet": hit.snippet}
            row = {**described._asdict(), **said, "open": screen.opening(described, [hit])}
            if as_json:
                say_to_programs(orjson.dumps({name: value for name, value in row.items() if value}))
            else:
                say_as_it_is("\t".join(map(one_text, (time, described.session, hit.speaker, hit.snippet, row["open"]))))


def _by_session(matches: list[Match]) -> Iterable[list[Match]]:
    """Return the matches of each session: in the session itself and in its transcripts."""
    entries: dict[tuple[str, str], list[Match]] = {}
    for match in matches:
        entries.setdefault(match.session, []).append(match)
    return entries.values()


def _block(entry: list[tuple[Match, Described]], screen: HitLayout) -> Iterator[Line]:
    """Yield the lines about one session: what it is, how to open its first match, and the first hits there."""
    match, described = entry[0]
    day = screen.day(match)
    about = " · ".join(filter(None, (name_of(described.project), described.agent, described.machine, day)))
    title = cut(one_text(described.title) or described.session, max(_LEAST, screen.width - len(about) - 3))
    yield (TextSpan(title, "bold"), TextSpan(f" · {about}" if about else "", "dim"))
    hits = _telling(match) if screen.each else list(match.hits)
    yield (TextSpan(f"{_INDENT}{screen.opening(described, hits)}", "command"),)
    for hit in hits:
        yield from _hit(hit, day, screen)
    for more, name in _more(entry, len(hits)):
        yield (TextSpan(f"{_INDENT}… and {more:,} more: `katod search --in {name} …` shows all", "dim"),)
    yield ()


def _more(entry: list[tuple[Match, Described]], shown: int) -> Iterator[tuple[int, str]]:
    """Yield how many hits are not shown, and where: what is searched in a session is also in its transcripts."""
    counts = [(match.total, _name(described)) for match, described in entry]
    total, sessions = sum(count for count, _ in counts), [isinstance(match.place, FoundSession) for match, _ in entry]
    if any(sessions):
        counts = [(total, counts[sessions.index(True)][1])]
    first, *others = counts
    yield from ((count, name) for count, name in [(first[0] - shown, first[1]), *others] if count > 0)


def _name(described: Described) -> str:
    """Return what is searched with `--in`: a session of another machine may be shown by its file."""
    return pasted(described.session) if described.machine else described.open.split(" ", 2)[2]


def _hit(hit: ShownHit, day: str, screen: HitLayout) -> Iterator[Line]:
    begin = " ".join(filter(None, (stamp(hit.time, day, screen.zone), cut(hit.speaker, _SPEAKER))))
    first, *rest = wrap(f"{_INDENT}{begin} {hit.snippet}", screen.width, subsequent_indent=_INDENT * 2) or [""]
    shown = first[len(_INDENT) + len(begin) :]
    yield cropped((TextSpan(f"{_INDENT}{begin}", "dim"), *_marked(shown, screen.words)), screen.width)
    yield from (cropped([*_marked(line, screen.words)], screen.width) for line in rest[: LINES - 1])


def _telling(match: Match) -> list[ShownHit]:
    """Return the hits that are shown, in their order: what tools were given and returned only if little was said."""
    if match.total <= EACH:
        return list(match.hits)
    said = [hit for hit in match.hits if hit.is_said]
    others = [hit for hit in match.hits if not hit.is_said][: max(0, EACH - len(said))]
    return [hit for hit in match.hits if hit in said or hit in others]


def _marked(text: str, words: re.Pattern[str]) -> Iterator[TextSpan]:
    """Yield a text with the words that were looked for in colour."""
    at = 0
    for found in words.finditer(text):
        yield TextSpan(text[at : found.start()])
        yield TextSpan(found[0], "yellow")
        at = found.end()
    yield TextSpan(text[at:])
