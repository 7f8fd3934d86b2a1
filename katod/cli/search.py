"""`katod search`: finds words in transcripts, and in all sessions on demand."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import click
import orjson

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Choice
from katod.cli.layout import Line, Span, cropped, cut, one_text, show, terminal_width
from katod.cli.printing import say
from katod.cli.sessions import peek, short_ids, since_seconds
from katod.config import local_zone
from katod.discover.found import Found
from katod.errors import KatodError, LedgerError
from katod.formats.ownlines import SIGN
from katod.formats.when import When
from katod.search.outputs import Transcript, existing, transcripts_below
from katod.search.query import Query
from katod.search.run import Match, Place, Search, Shown
from katod.search.transcripts import About
from katod.slug import slug

_MOST: Final = 10  # sessions
_MOST_HITS: Final = 3  # of one session
_WIDTH: Final = 200  # characters of a snippet in a pipe
_LEAST: Final = 40
_SPEAKER: Final = 18  # cells
_BESIDE: Final = 30  # cells that the time and the speaker take, more or less
_INDENT: Final = "   "


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Search the agents' own session files, too.")
@click.option("--agent", type=Choice(sorted(AGENTS)), help="Search only what this agent said.")
@click.option("--project", default="", help="Search only projects whose path contains this text.")
@click.option(
    "--since", metavar="WHEN", help="Search only what was said since today, yesterday, an age (2h, 7d) or a date."
)
@click.option("--limit", default=_MOST, metavar="N", help=f"Show at most N sessions. Default: {_MOST}; 0: all.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per hit.")
@click.pass_obj
def search(
    context: Context, words: tuple[str, ...], everything: bool, agent: str | None, project: str, since: str | None,
    limit: int, as_json: bool,
) -> None:  # fmt: skip
    """Find what was said, newest first.

    Finds messages, commands, files and results that contain all WORDS, in upper or lower case; quote words that have to
    stand together. Searched are the transcripts that katod wrote. With --all, also the agents' own files, of which
    nothing is kept.
    """
    query = Query(words)
    if not query.words:
        raise click.UsageError("give at least one word")
    width = terminal_width()
    described = _Described(context, agent or "", project, everything=everything)
    job = Search(query, described.wants, oldest=since_seconds(since), width=_width(width))
    matches = job.run(described.places(), limit)
    for path, problem in (context.problems | job.problems).items():
        say(f"katod: {path}: {problem}", err=True)
    if not matches:
        more = "" if everything else "`--all` searches the sessions that were not recorded, too"
        raise KatodError("nothing found", hint=more)
    _print(matches, described, query, width, as_json=as_json)
    if not job.is_complete:
        say(f"katod: only the latest {limit} sessions are shown; `--limit 0` shows all", err=True)


def _width(terminal: int | None) -> int:
    """Return how long a snippet is."""
    return _WIDTH if terminal is None else max(_LEAST, terminal - _BESIDE)


class Told(NamedTuple):
    """What people see of a match; `path` is that of a transcript, `project` a path or the name of one."""

    agent: str
    session: str
    title: str
    project: str
    open: str
    path: str = ""


class _Described:
    """What is searched, and what is known of it: from the ledger, the output directory and the agents' directories."""

    def __init__(self, context: Context, agent: str, project: str, *, everything: bool) -> None:
        self._agent, self._project = agent, project.casefold()
        self._found = context.found() if everything else {}
        self._rows = _recorded(context)
        self._short: dict[str, str] = {}
        self._folder = Path(context.settings.output.directory).expanduser()
        self._told: dict[int, Told] = {}

    def places(self) -> Iterator[Place]:
        """Yield everything that is searched, each once."""
        below = {transcript.path: transcript for transcript in transcripts_below(self._folder)}
        below |= {transcript.path: transcript for transcript in existing(self._rows)}
        yield from below.values()
        yield from (found for found in self._found.values() if self._agent in ("", found.key.agent))

    def wants(self, match: Match) -> bool:
        """Return whether a match is of the agent and the project that were chosen."""
        told = self.tell(match)
        return self._agent in ("", told.agent) and self._project in told.project.casefold()

    def tell(self, match: Match) -> Told:
        """Return what people see of a match."""
        if id(match.place) not in self._told:
            self._told[id(match.place)] = (
                self._session(match.place)
                if isinstance(match.place, Found)
                else self._transcript(match.place, match.about)
            )
        return self._told[id(match.place)]

    def _session(self, found: Found) -> Told:
        self._short = self._short or short_ids(self._found)
        metadata, _ = peek(found)
        key = found.key
        name = self._short[key.id] + (f"/{self._short[key.subagent]}" if key.subagent else "")
        return Told(key.agent, str(key), metadata.best_title, metadata.cwd, f"katod show {shlex.quote(name)}")

    def _transcript(self, transcript: Transcript, about: About) -> Told:
        path = transcript.path
        agent = next((spec.name for spec in AGENTS.values() if about.agent in (spec.name, slug(spec.product))), "")
        number, cwd = self._rows.get(path, (0, ""))
        session = f"{agent}:{about.session}" + (f"/{about.subagent}" if about.subagent else "")
        what = number or shlex.quote(str(path))
        return Told(agent, session, about.title or path.stem, cwd or about.project, f"katod show {what}", str(path))


def _recorded(context: Context) -> dict[Path, tuple[int, str]]:
    """Return the number and the project of each transcript that the ledger knows; none if it cannot be read."""
    with suppress(LedgerError), context.reading() as ledger:
        rows = [row for row in ledger.outputs() if row.held is None] if ledger else []
        return {row.path: (row.id, row.head["metadata"].get("cwd", "")) for row in rows}
    return {}


def _print(matches: list[Match], described: _Described, query: Query, width: int | None, *, as_json: bool) -> None:
    """Print a block for each match on a terminal; in a pipe, one tab-separated line or one object for each hit."""
    if width is not None and not as_json:
        pattern = re.compile("|".join(sorted(map(re.escape, query.words), key=len, reverse=True)), re.IGNORECASE)
        screen = _Screen(When(local_zone()), width)
        for match in matches:
            show(_block(match, described.tell(match), pattern, screen))
        return
    for match in matches:
        told = described.tell(match)
        for hit in match.hits:
            row = {**told._asdict(), **hit._asdict()}
            if as_json:
                click.echo(orjson.dumps({name: value for name, value in row.items() if value}))
            else:
                say("\t".join(map(one_text, (hit.time, told.session, hit.speaker, hit.snippet, told.open))))


class _Screen(NamedTuple):
    """What lines depend on."""

    zone: When
    width: int


def _block(match: Match, told: Told, words: re.Pattern[str], screen: _Screen) -> Iterator[Line]:
    """Yield the lines about one match: what it is, how to open it, and its newest hits."""
    day = screen.zone.day(match.hits[0].time)
    about = " · ".join(filter(None, (Path(told.project).name, told.agent, day)))
    title = cut(one_text(told.title) or told.session, max(_LEAST, screen.width - len(about) - 3))
    yield (Span(title, "bold"), Span(f" · {about}" if about else "", "dim"))
    yield (Span(f"{_INDENT}{told.open}", "dim"),)
    for hit in _telling(match.hits):
        begin = " ".join(filter(None, (screen.zone.stamp(hit.time, day), cut(hit.speaker, _SPEAKER))))
        yield cropped((Span(f"{_INDENT}{begin} ", "dim"), *_marked(hit.snippet, words)), screen.width)
    if (more := len(match.hits) - _MOST_HITS) > 0:
        yield (Span(f"{_INDENT}… and {more:,} more", "dim"),)
    yield ()


def _telling(hits: tuple[Shown, ...]) -> list[Shown]:
    """Return the hits that are shown, newest first: what tools were given and returned only if nobody said it."""
    said = [hit for hit in hits if SIGN not in hit.speaker]
    chosen = {*said[:_MOST_HITS], *[hit for hit in hits if hit not in said][: max(0, _MOST_HITS - len(said))]}
    return [hit for hit in hits if hit in chosen][:_MOST_HITS]


def _marked(text: str, words: re.Pattern[str]) -> Iterator[Span]:
    """Yield a text with the words that were looked for in colour."""
    at = 0
    for found in words.finditer(text):
        yield Span(text[at : found.start()])
        yield Span(found[0], "yellow")
        at = found.end()
    yield Span(text[at:])
