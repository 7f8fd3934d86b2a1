"""`katod search`: finds words in transcripts, and in all sessions on demand."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from textwrap import wrap
from typing import Final, NamedTuple

import click
import orjson

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Choice
from katod.cli.layout import Line, TextSpan, cropped, cut, one_text, show, terminal_width
from katod.cli.parameters import SESSION
from katod.cli.printing import say, say_as_it_is
from katod.cli.selection import outputs_of, recording_named, select
from katod.cli.sessions import short_ids, since_time
from katod.cli.signoflife import SignOfLife
from katod.config import local_zone
from katod.discover.found import FoundSession
from katod.errors import KatodError, LedgerError
from katod.formats.text.ownlines import SIGN
from katod.formats.text.when import When
from katod.model import SessionKey
from katod.paths import name_of
from katod.search.outputs import TranscriptFile, existing, transcripts_below
from katod.search.query import Query
from katod.search.run import Match, Search, Searched, ShownHit, Terms
from katod.search.transcripts import TranscriptHead
from katod.shell import pasted
from katod.slug import slug
from katod.store.rows import OutputRow

_MOST: Final = 10  # sessions
_EACH: Final = 3  # hits of one session
_WIDTH: Final = 200  # characters of a snippet in a pipe
_LEAST: Final = 40
_LINES: Final = 2  # of a hit
_SPEAKER: Final = 18  # cells
_BESIDE: Final = 30  # cells that the time and the speaker take, more or less
_INDENT: Final = "   "
_ELSEWHERE: Final = "`--all` searches the sessions that were not recorded, too"
_SHOWS: Final = "katod show"
_PAGE: Final = ".html"


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Also search the agents' own session files.")
@click.option(
    "--in", "within", type=SESSION, metavar="SESSION", help="Search only this session, and show all matches in it."
)
@click.option("-w", "--word", "whole", is_flag=True, help="Match whole words only.")
@click.option("--said", is_flag=True, help="Search only messages, not the input and output of tools.")
@click.option("--best", is_flag=True, help="Sort by relevance, not by time.")
@click.option("--agent", type=Choice(sorted(AGENTS)), metavar="NAME", help="Search only sessions of this agent.")
@click.option("--project", default="", help="Search only projects whose path contains this text.")
@click.option(
    "--since", metavar="WHEN", help="Search only what is newer than WHEN: today, yesterday, an age (2h, 7d) or a date."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_MOST,
    metavar="N",
    help=f"Show at most N sessions; 0 means all. Default: {_MOST}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per match.")
@click.pass_obj
def search(
    context: Context, words: tuple[str, ...], everything: bool, within: str | None, whole: bool, said: bool, best: bool,
    agent: str | None, project: str, since: str | None, limit: int, as_json: bool,
) -> None:  # fmt: skip
    """Search messages, tool calls and results, newest first.

    Finds messages, commands, files and results that contain all WORDS, in upper or lower case; quote words to find them
    as a phrase. katod searches the transcripts that it wrote; with --all, also the agents' own session files, but
    it stores nothing of them.
    """
    query = Query(words, whole=whole)
    if not query.words:
        raise click.UsageError("give at least one word")
    width = _terminal(as_json=as_json)
    terms = Terms(since_time(since), said, best, limit, _EACH if width and not within else 0, _width(width))
    scope = _Scope(context, agent, project)
    job = Search(query, terms, scope.wants)
    with SignOfLife(lambda: _at_work(job)):
        matches = job.run(scope.within(within) if within else scope.everything(sessions=everything))
    _say_problems(context.problems | job.problems)
    if not matches:
        raise KatodError("nothing found", hint="" if everything or within else _ELSEWHERE)
    _print(matches, scope, _HitLayout(When(local_zone()), width, query, terms.each), as_json=as_json)
    if not job.is_complete:
        say(_incomplete(terms), err=True)


def _at_work(job: Search) -> str:
    """Return what a person reads while a search takes long."""
    return f"searching… {job.searched:,} of {job.places:,} files" if job.places else "searching…"


def _say_problems(problems: dict[str, str]) -> None:
    for path, problem in problems.items():
        say(f"katod: {path}: {problem}", err=True)


def _incomplete(terms: Terms) -> str:
    """Return what is said where more was found than is shown."""
    kind = "best" if terms.best else "latest"
    shown = "session is" if terms.most == 1 else f"{terms.most} sessions are"
    others = "" if terms.best else "`--best` shows the best first, "
    return f"katod: only the {kind} {shown} shown; {others}`--limit 0` shows all"


def _terminal(*, as_json: bool) -> int:
    """Return the width of the terminal, 0 if there is none or none that is printed for."""
    return 0 if as_json else terminal_width() or 0


def _width(terminal: int) -> int:
    """Return how long a snippet is; 0 means that there is no terminal."""
    return max(_LEAST, terminal * _LINES - _BESIDE) if terminal else _WIDTH


class Described(NamedTuple):
    """What people see of a match; `path` is that of a transcript, `project` a path or the name of one."""

    agent: str
    session: str
    title: str
    project: str
    open: str
    path: str = ""


class _Scope:
    """What is searched, and what is known of it: from the ledger, the output directory and the agents' directories."""

    def __init__(self, context: Context, agent: str | None, project: str) -> None:
        self._context = context
        self._agent, self._project = agent or "", project.casefold()
        self._rows = _recorded(context)
        self._found: dict[SessionKey, FoundSession] = {}
        self._described: dict[SessionKey | Path, Described] = {}

    def everything(self, *, sessions: bool) -> Iterator[Searched]:
        """Yield all transcripts, each once, and all sessions if they are wanted."""
        folder = Path(self._context.settings.output.directory).expanduser()
        seen: set[str] = set()
        for transcript in (*existing(self._rows.values()), *transcripts_below(folder)):
            real = os.path.realpath(transcript.path)
            if real not in seen:
                seen.add(real)
                yield transcript
        self._found = self._context.found(with_words=True) if sessions else {}
        yield from (found for found in self._found.values() if self._agent in ("", found.key.agent))

    def within(self, what: str) -> Iterator[Searched]:
        """Yield the transcript of a recording, or a session with its transcripts. Raises SelectionError."""
        row = recording_named(self._context, what)
        if row is not None:
            yield from existing([row])
            return
        found = select(self._context, what)
        self._found = {found.key: found}
        yield from existing(outputs_of(self._context, found.key))
        yield found

    def wants(self, place: Searched, about: TranscriptHead) -> bool:
        """Return whether a place is of the agent and the project that were chosen."""
        if not self._agent and not self._project:
            return True
        described = self.describe(place, about)
        return self._agent in ("", described.agent) and self._project in described.project.casefold()

    def describe(self, place: Searched, about: TranscriptHead) -> Described:
        """Return the displayed form of a place."""
        name = place.key if isinstance(place, FoundSession) else place.path
        if name not in self._described:
            self._described[name] = (
                self._session(place) if isinstance(place, FoundSession) else self._transcript(place, about)
            )
        return self._described[name]

    def _session(self, found: FoundSession) -> Described:
        short = short_ids(self._found)
        from katod.record.beginning import read_beginning  # noqa: PLC0415 - it loads the translation

        metadata, _ = read_beginning(found)
        key = found.key
        name = short[key.id] + (f"/{short[key.subagent]}" if key.subagent else "")
        title = found.said.title or metadata.list_title
        return Described(key.agent, str(key), title, metadata.cwd, f"katod show {pasted(name)}")

    def _transcript(self, transcript: TranscriptFile, about: TranscriptHead) -> Described:
        path = transcript.path
        known = (spec.name for spec in AGENTS.values() if about.agent in (spec.name, spec.product, slug(spec.product)))
        agent = next(known, "")
        row = self._rows.get(path)
        number, cwd = (row.id, row.head["metadata"].get("cwd", "")) if row else (0, "")
        session = f"{agent}:{about.session}" if about.session else ""
        session += f"/{about.subagent}" if about.subagent else ""
        opens = "open" if path.suffix == _PAGE else "show"
        command = f"katod {opens} {number or pasted(str(path))}"
        return Described(
            agent, session, about.title or path.stem, cwd or about.project or path.parent.name, command, str(path)
        )


def _recorded(context: Context) -> dict[Path, OutputRow]:
    """Return the transcripts that the ledger knows, by their paths; none if it cannot be read."""
    with suppress(LedgerError), context.reading() as ledger:
        rows = [row for row in ledger.outputs() if row.held is None] if ledger else []
        return {row.path: row for row in rows}
    return {}


def _print(matches: list[Match], scope: _Scope, screen: "_HitLayout", *, as_json: bool) -> None:
    """Print a block for each match on a terminal; in a pipe, one tab-separated line or one object for each hit."""
    for match in matches:
        described = scope.describe(match.place, match.about)
        if screen.width:
            show(_block(match, described, screen))
            continue
        for hit in match.hits:
            row = {**described._asdict(), **hit._asdict(), "event": "", "open": screen.opening(described, match, [hit])}
            if as_json:
                click.echo(orjson.dumps({name: value for name, value in row.items() if value}))
            else:
                say_as_it_is(
                    "\t".join(map(one_text, (hit.time, described.session, hit.speaker, hit.snippet, row["open"])))
                )


def _quoted(word: str) -> str:
    """Return a word as `--find` takes it, readable within single quotes."""
    if re.fullmatch(r"[\w.:/@+-]+", word):
        return word
    return shlex.quote(word) if set(word) & set('"\\') else f'"{word}"'


class _HitLayout:
    """What lines depend on."""

    def __init__(self, zone: When, width: int, query: Query, each: int) -> None:
        self.zone = zone
        self.width = width  # 0: no terminal
        self.each = each
        self.find = pasted(" ".join(map(_quoted, query.words)))
        longest_first = sorted(map(re.escape, query.words), key=len, reverse=True)
        self.words = re.compile("|".join(longest_first), re.IGNORECASE)

    def opening(self, described: Described, match: Match, hits: Sequence[ShownHit]) -> str:
        """Return the command that opens a match at these hits; what tools returned is not in every view."""
        if not described.open.startswith(_SHOWS):
            return described.open
        full = " --tools full" if isinstance(match.place, FoundSession) and not any(map(_is_said, hits)) else ""
        return f"{described.open} --find {self.find}{full}"

    def day(self, match: Match) -> str:
        """Return the day of a match's newest hit."""
        return self.zone.day(match.hits[0].time) or self.zone.day(datetime.fromtimestamp(match.latest, UTC).isoformat())


def _block(match: Match, described: Described, screen: _HitLayout) -> Iterator[Line]:
    """Yield the lines about one match: what it is, how to open it at the hits, and the newest of those."""
    day = screen.day(match)
    about = " · ".join(filter(None, (name_of(described.project), described.agent, day)))
    title = cut(one_text(described.title) or described.session, max(_LEAST, screen.width - len(about) - 3))
    yield (TextSpan(title, "bold"), TextSpan(f" · {about}" if about else "", "dim"))
    hits = _telling(match) if screen.each else list(match.hits)
    yield (TextSpan(f"{_INDENT}{screen.opening(described, match, hits)}", "command"),)
    for hit in hits:
        yield from _hit(hit, day, screen)
    if (more := match.total - len(hits)) > 0:
        name = described.open.split(" ", 2)[2]
        yield (TextSpan(f"{_INDENT}… and {more:,} more: `katod search --in {name} …` shows all", "dim"),)
    yield ()


def _hit(hit: ShownHit, day: str, screen: _HitLayout) -> Iterator[Line]:
    begin = " ".join(filter(None, (screen.zone.stamp(hit.time, day), cut(hit.speaker, _SPEAKER))))
    first, *rest = wrap(f"{_INDENT}{begin} {hit.snippet}", screen.width, subsequent_indent=_INDENT * 2) or [""]
    shown = first[len(_INDENT) + len(begin) :]
    yield cropped((TextSpan(f"{_INDENT}{begin}", "dim"), *_marked(shown, screen.words)), screen.width)
    yield from (cropped([*_marked(line, screen.words)], screen.width) for line in rest[: _LINES - 1])


def _telling(match: Match) -> list[ShownHit]:
    """Return the hits that are shown, newest first: what tools were given and returned only if little was said."""
    if match.total <= _EACH:
        return list(match.hits)
    said = [hit for hit in match.hits if _is_said(hit)]
    others = [hit for hit in match.hits if not _is_said(hit)][: max(0, _EACH - len(said))]
    return [hit for hit in match.hits if hit in said or hit in others]


def _is_said(hit: ShownHit) -> bool:
    return SIGN not in hit.speaker


def _marked(text: str, words: re.Pattern[str]) -> Iterator[TextSpan]:
    """Yield a text with the words that were looked for in colour."""
    at = 0
    for found in words.finditer(text):
        yield TextSpan(text[at : found.start()])
        yield TextSpan(found[0], "yellow")
        at = found.end()
    yield TextSpan(text[at:])
