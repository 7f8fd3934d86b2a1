"""`katod search`: finds words in transcripts, and in all sessions on demand."""

from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

import click

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Choice
from katod.cli.layout import terminal_width
from katod.cli.parameters import SESSION
from katod.cli.printing import say
from katod.cli.progressline import ProgressLine
from katod.cli.searchscope import SearchFilter, SearchScope
from katod.cli.searchview import EACH, LINES, HitLayout, print_matches
from katod.cli.sessions import since_time, typed_labels, until_time
from katod.config import rescue_path, shown_zone
from katod.errors import KatodError
from katod.formats.text.when import When
from katod.rescue.names import saved_keys
from katod.search.hits import ShowView
from katod.search.lookahead import sifted
from katod.search.query import Query
from katod.search.run import Order, Search, Terms
from katod.states import State

_MOST: Final = 10  # sessions
_OR: Final = "OR"
_STATES: Final = [state.value for state in State]
_WIDTH: Final = 200  # characters of a snippet in a pipe
_LEAST: Final = 40
_BESIDE: Final = 30  # cells that the time and the speaker take, more or less
_ELSEWHERE: Final = "`--all` searches the sessions that were not recorded, too"


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Also search the agents' own session files.")
@click.option(
    "--in", "within", type=SESSION, metavar="SESSION", help="Search only this session, and show all matches in it."
)
@click.option("-w", "--word", "whole", is_flag=True, help="Match whole words only.")
@click.option("--said", is_flag=True, help="Search only messages, not the input and output of tools.")
@click.option("--best", is_flag=True, help="Sort by relevance.")
@click.option("--newest", is_flag=True, help="Sort by time, as in a pipe. On a terminal, messages come before tools.")
@click.option(
    "--agent",
    "agents",
    type=Choice(sorted(AGENTS)),
    multiple=True,
    metavar="NAME",
    help="Search only sessions of this agent.",
)
@click.option(
    "--project", "projects", multiple=True, metavar="TEXT", help="Search only projects whose path contains this text."
)
@click.option(
    "--state",
    "states",
    type=Choice(_STATES),
    multiple=True,
    metavar="STATE",
    help=f"Search only sessions that are in this state now: {', '.join(_STATES)}.",
)
@click.option("--starred", is_flag=True, help="Search only sessions with your star.")
@click.option("--label", "labels", multiple=True, help="Search only sessions with this label of yours.")
@click.option(
    "--since",
    metavar="WHEN",
    help="Search only what is newer than WHEN: today, yesterday, an age (2h, 7d), a date or a month.",
)
@click.option("--until", metavar="WHEN", help="Search only what is not newer than WHEN; a day or month is included.")
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
    context: Context, /, words: tuple[str, ...], everything: bool, within: str | None, whole: bool, said: bool,
    best: bool, newest: bool, since: str | None, until: str | None, limit: int, as_json: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Search messages, tool calls and results.

    Finds messages, commands, files and results that contain all WORDS, ignoring case; quote words to find them
    as a phrase. OR between two words means one or the other. Your own titles and labels of sessions are found, too.
    katod searches the transcripts that it wrote, those that other machines share (`archive.folders`) among them; with
    --all, also the agents' own session files, but it stores nothing of them.

    --agent, --project and --state can each be given several times: a session has to match one of each kind.
    """
    query = _query(words, whole=whole)
    width = _terminal(as_json=as_json)
    order = _order(width, best=best, newest=newest)
    zone = shown_zone(context.settings.output)
    begin, end = since_time(since, zone), until_time(until, zone)
    terms = Terms(begin, end, said, order, limit, by_session=True, width=_width(width), zone=zone)
    terms = terms._replace(each=EACH if width and not within else 0, views=cache(partial(_views, context)))
    scope = SearchScope(context, SearchFilter(**chosen | {"labels": typed_labels(chosen["labels"])}))
    job = Search(query, terms, scope.wants)
    with ProgressLine(lambda: _at_work(job)):
        possible = job.possible(scope.within(within) if within else scope.everything(sessions=everything))
    with sifted(possible, query) as may_match, ProgressLine(lambda: _at_work(job)):
        matches = job.search(possible, may_match)
        matches = [*scope.named(query, terms), *matches]
    _say_problems(context.problems | context.shared.problems | job.problems)
    if not matches:
        raise KatodError("nothing found", hint=_elsewhere(everything=everything or bool(within)))
    print_matches(matches, scope, HitLayout(When(zone), width, query, terms.each), as_json=as_json)
    if not job.is_complete:
        say(_incomplete(terms), err=True)


def _views(context: Context) -> tuple[ShowView, ...]:
    """Return how `katod show` shows sessions: as configured, else with an option that shows more."""
    from katod.record.policy import Policy  # noqa: PLC0415 - only where something was found

    base = replace(Policy.of(context.settings, ()).export_options(), attachments="name")
    views = ShowView("", base), ShowView("--thinking", replace(base, thinking=True))
    return *views, ShowView("--tools full", replace(base, tools="full"))


def _elsewhere(*, everything: bool) -> str:
    """Return where else the words may be."""
    saved = len(saved_keys(rescue_path()))
    lost = f"sessions saved from deletion are not searched, {saved} of them: `katod rescue`" if saved else ""
    return "; ".join(filter(None, ("" if everything else _ELSEWHERE, lost)))


def _query(words: tuple[str, ...], *, whole: bool) -> Query:
    """Return what is searched. Raises UsageError."""
    query = Query.parse(words, whole=whole)
    if not query.words:
        raise click.UsageError("give at least one word")
    if _OR in (words[0], words[-1]):
        raise click.UsageError("OR stands between two words; put it in lower case to search for it")
    return query


def _order(terminal: int, *, best: bool, newest: bool) -> Order:
    """Return how matches are sorted: on a terminal, by who said it, elsewhere by time. Raises UsageError."""
    if best and newest:
        raise click.UsageError("--best and --newest exclude each other")
    if best:
        return "best"
    return "said" if terminal and not newest else "newest"


def _at_work(job: Search) -> str:
    """Return what a person reads while a search takes long."""
    places, searched = job.progress
    return f"searching… {searched:,} of {places:,} files" if places else "searching…"


def _say_problems(problems: dict[str, str]) -> None:
    for path, problem in problems.items():
        say(f"katod: {path}: {problem}", err=True)


def _incomplete(terms: Terms) -> str:
    """Return what is said where more was found than is shown."""
    kind = {"best": "best", "newest": "latest", "said": "first"}[terms.order]
    shown = "session is" if terms.most == 1 else f"{terms.most} sessions are"
    others = {"best": "", "newest": "`--best` shows the best first, ", "said": "`--newest` shows the latest first, "}
    return f"katod: only the {kind} {shown} shown; {others[terms.order]}`--limit 0` shows all"


def _terminal(*, as_json: bool) -> int:
    """Return the width of the terminal, 0 if there is none or none that is printed for."""
    return 0 if as_json else terminal_width() or 0


def _width(terminal: int) -> int:
    """Return how long a snippet is; 0 means that there is no terminal."""
    return max(_LEAST, terminal * LINES - _BESIDE) if terminal else _WIDTH
