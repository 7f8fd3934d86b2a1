"""`katod sessions`: the sessions that can be recorded or exported."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import orjson

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Choice
from katod.cli.layout import Line, TextSpan, cut, line, one_text, show, table, terminal_width
from katod.cli.overview import recent, state_span, waiting
from katod.cli.printing import say, say_as_it_is, say_to_programs
from katod.cli.recorded import Recorded, recorded_by_session
from katod.cli.shortids import short_ids
from katod.config import local_zone
from katod.discover.found import FoundSession
from katod.errors import SelectionError
from katod.formats.text.when import When
from katod.model import SessionKey
from katod.paths import in_home, name_of
from katod.search.since import since_seconds, until_seconds
from katod.store.rows import UNNAMED, PersonalRow

if TYPE_CHECKING:
    from katod.usage.grouping import UsageSum

_MOST: Final = 50
_COUNTS: Final = ("tokens", "cost", "unpricedTokens", "unpricedModels")
_HEADER: Final = ("", "last", "state", "agent", "session", "project", "used", "title")
_OPTIONAL: Final = (1, 5, 7, 2, 6)  # those that are left out where the terminal is narrow, in this order
_LONGEST_PROJECT: Final = 16  # cells
_LONGEST_WITH_USAGE: Final = 9  # of a project, so that 80 cells have room for a title
_ID: Final = 4  # the column of ids; a longer one than this many cells takes the room from its own title alone
_LONGEST_ID: Final = 17
_INDENT: Final = "   "
Used = Mapping[SessionKey, "UsageSum"]  # what each session used


@click.command()
@click.option("--agent", type=Choice(sorted(AGENTS)), metavar="NAME", help="Show only sessions of this agent.")
@click.option("--project", help="Show only sessions whose project path contains this text.")
@click.option(
    "--since",
    metavar="WHEN",
    help="Show only sessions that changed since WHEN: today, yesterday, an age (7d), a date (2026-02-01) or a month.",
)
@click.option(
    "--until", metavar="WHEN", help="Show only sessions that did not change after WHEN; a day or month is included."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show at most N sessions; 0 means all. Default: {_MOST}; with --all or --json, all.",
)
@click.option("--all", "everything", is_flag=True, help="Show all sessions, including empty ones and sub-agents.")
@click.option("--starred", is_flag=True, help="Show only sessions with a star.")
@click.option("--label", multiple=True, help="Show only sessions with this label; of several, with all of them.")
@click.option("--machine", metavar="NAME", help="Show the sessions that another machine shares.")
@click.option("--usage", "with_usage", is_flag=True, help="Show what each session cost, or its tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_obj
def sessions(
    context: Context, /, as_json: bool, everything: bool, since: str | None, until: str | None, limit: int | None,
    with_usage: bool, machine: str | None, **given: Any,
) -> None:  # fmt: skip
    """List the sessions on this machine, newest first.

    ● marks sessions that are being recorded, ○ others with a transcript; the path of the latest follows. What `::keep`
    or `::export` wrote counts only if nothing was recorded. The state of a session (working, blocked, done, idle,
    error) is shown if it changed within a day; with ?, it is a guess. A blocked session waits for your answer or for a
    permission. ★ and #labels are yours (`katod star`, `katod label`); in a pipe, only --json has them.

    With --usage, a session has the cost that its agent recorded, or a computed one (~), + if some tokens have no price;
    if no cost is known, its tokens. Sub-agents count as a part of their session. With --all, the numbers add up
    to those of `katod usage`. The first time, all sessions are read.

    With --machine, the sessions of another machine are listed, with the files that it shares (`archive.folders`);
    `katod status` names the machines.

    In a pipe, the columns are separated by tabs: last, state, agent, session, project, title, with --usage tokens and
    cost, transcript.
    """
    known = context.found(with_words=True) if machine is None else _shared(context, machine)
    given["label"] = typed_labels(given["label"])
    chosen = Wanted(oldest=since_time(since), until=until_time(until), everything=everything, **given)
    newest_first = sorted(known.values(), key=lambda found: -found.changed_ns)
    most = _most(limit, everything=everything or as_json)
    rows = list(islice(_listed(newest_first, chosen, recorded_by_session(context)), None if most is None else most + 1))
    shown = sorted(rows[:most], key=lambda row: row["last"], reverse=True)  # a file may be newer than what was said
    used = _used(context, known) if with_usage else None
    for folder, problem in context.problems.items():
        say(f"katod: {folder}: {problem}", err=True)
    if as_json:
        for row in shown:
            say_to_programs(orjson.dumps(row | _counts(row, used)))
        return
    _print(shown, short_ids(known), used)
    if most is not None and len(rows) > most:
        say(f"katod: only the {most} that changed last are shown; --limit 0 shows all", err=True)


def _most(limit: int | None, *, everything: bool) -> int | None:
    """Return how many sessions are shown, None for all."""
    return (limit or None) if limit is not None or everything else _MOST


def _shared(context: Context, machine: str) -> dict[SessionKey, FoundSession]:
    """Return the sessions that are shown from a machine. Raises SelectionError if none are."""
    found: dict[SessionKey, FoundSession] = {one.key: one for one in context.archived() if one.machine == machine}
    if found:
        return found
    names = sorted({part.name for part in context.shared.parts})
    if machine in names:
        hint = "its sessions are here, too, were forgotten here, or have a newer copy on another machine"
        raise SelectionError(f"no session is shown from {machine}", hint=hint)
    raise SelectionError(
        f"no machine called {machine!r} shares sessions", hint=f"there are: {', '.join(names) or 'none'}"
    )


def _used(context: Context, known: Mapping[SessionKey, FoundSession]) -> Used:
    from katod.cli.usage import usage_of  # noqa: PLC0415 - few lists need it

    return usage_of(context, known.values())


def _sum_of(row: Mapping[str, Any], used: Used | None) -> "UsageSum | None":
    return None if used is None else used.get(SessionKey(row["agent"], row["session"], row.get("subagent", "")))


def _counts(row: Mapping[str, Any], used: Used | None) -> dict[str, Any]:
    """Return the tokens and the cost of a session, if they are wanted and known."""
    found = _sum_of(row, used)
    counts = found.to_json() if found is not None else {}
    return {name: counts[name] for name in _COUNTS if counts.get(name)}


class Wanted(NamedTuple):
    """Which sessions are listed; `oldest` and `until` in seconds since 1970, the latter not included."""

    agent: str | None = None
    project: str | None = None
    oldest: float = -inf
    until: float = inf
    everything: bool = False
    starred: bool = False
    label: tuple[str, ...] = ()

    def may_be(self, found: FoundSession) -> bool:
        """Return whether a session may be listed, as far as that is known without opening it."""
        is_main = self.everything or not found.key.subagent
        is_new = found.changed_ns >= self.oldest * 1e9
        return is_main and is_new and self.agent in (None, found.key.agent) and self._is_said(found.said)

    def _is_said(self, said: PersonalRow) -> bool:
        return (said.starred or not self.starred) and said.has_labels(self.label)

    def has(self, row: dict[str, Any]) -> bool:
        """Return whether a session is listed."""
        is_main = self.everything or not row.get("spawned")
        is_new = self.oldest <= datetime.fromisoformat(row["last"]).timestamp() < self.until
        return is_main and is_new and (self.project or "").casefold() in row.get("project", "").casefold()


def _listed(
    newest_first: Iterable[FoundSession], wanted: Wanted, recorded: dict[SessionKey, Recorded]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the sessions that are wanted; opens no more than are taken."""
    for found in filter(wanted.may_be, newest_first):
        from katod.cli.sessionrow import describe_session, state_of  # noqa: PLC0415 - it loads the translation

        row = describe_session(found, recorded.get(found.key), empty=wanted.everything)
        if row and wanted.has(row):
            yield row | state_of(found)


def typed_labels(typed: Iterable[str]) -> tuple[str, ...]:
    """Return labels as they are kept, of those that were typed to choose by."""
    if not typed:
        return ()
    from katod.record.personal import labels_in  # noqa: PLC0415 - it loads the redaction

    return tuple(label for words in typed for label in labels_in(words) or (words,))


def since_time(text: str | None, zone: str = "") -> float:
    """Return when `--since` begins, in seconds since 1970; minus infinity for none. Raises BadParameter.

    Days are those of a time zone, of the machine's if none is named.
    """
    return _moment(since_seconds, text, zone, "--since")


def until_time(text: str | None, zone: str = "") -> float:
    """Return when `--until` ends, in seconds since 1970; infinity for none. Raises BadParameter. Days are as above."""
    return _moment(until_seconds, text, zone, "--until")


def _moment(meant: Callable[[str | None, str], float], text: str | None, zone: str, option: str) -> float:
    try:
        return meant(text, zone)
    except SelectionError as error:
        raise click.BadParameter(error.what, param_hint=option) from None


def _print(rows: list[dict[str, Any]], short: dict[str, str], used: Used | None) -> None:
    """Print a table on a terminal; in a pipe, one tab-separated line per session with nothing cut."""
    if not rows:
        say("katod: no sessions found", err=True)
        return
    zone, width = When(local_zone()), terminal_width()
    if width is None:
        for row in rows:
            cells = [zone.stamp(row["last"], ""), state_span(row).text, *_cells(row, short), *_in_full(row, used)]
            say_as_it_is("\t".join([*cells, *row["outputs"][-1:]]))
        return
    lines = session_table(rows, short, zone, width, used)
    home = str(Path.home())
    show([lines[0]])
    for row, shown in zip(rows, lines[1:], strict=True):
        needs = [line(f"{_INDENT}{words}", "yellow") for words in waiting(row)]
        paths = [UNNAMED] if row.get("waiting") else [in_home(path, home) for path in row["outputs"][-1:]]
        show([shown, *needs, *(line(f"{_INDENT}{path}", "dim") for path in paths)])


def session_table(
    rows: Sequence[Mapping[str, Any]], short: dict[str, str], zone: When, width: int, used: Used | None = None
) -> list[Line]:
    """Return the header, and a line for each session."""
    most = _LONGEST_PROJECT if used is None else _LONGEST_WITH_USAGE
    now, cells = time.time(), [[TextSpan(name, "dim") for name in _HEADER]]
    for row in rows:
        agent, name, project, title = _cells(row, short)
        sign = TextSpan("●", "red") if row["recording"] else TextSpan("○" if row["outputs"] else "")
        last = TextSpan(recent(row["last"], now, zone), "dim")
        shown = " ".join(
            [*(["★"] if row.get("starred") else []), title, *(f"#{label}" for label in row.get("labels", ()))]
        )
        named = [TextSpan(agent), TextSpan(name), TextSpan(cut(project, most)), TextSpan(_in_short(row, used))]
        cells.append([sign, last, state_span(row), *named, TextSpan(shown, "bold")])
    return table(cells, width=width, flexible=(len(_HEADER) - 1,), optional=_OPTIONAL, loose={_ID: _LONGEST_ID})


def _in_short(row: Mapping[str, Any], used: Used | None) -> str:
    """Return what a session cost, or its tokens if that is unknown; empty if it used none."""
    found = _sum_of(row, used)
    if found is None or not (found.tokens.total or found.cost):
        return ""
    from katod.usage.shown import short_number, shown_cost  # noqa: PLC0415 - few lists need it

    return short_number(found.tokens.total) if found.cost is None else shown_cost(found)


def _in_full(row: Mapping[str, Any], used: Used | None) -> list[str]:
    """Return the tokens and the cost of a session for a pipe, nothing if they are not wanted."""
    if used is None:
        return []
    from katod.usage.grouping import UsageSum  # noqa: PLC0415 - few lists need it
    from katod.usage.shown import shown_cost  # noqa: PLC0415 - likewise

    found = _sum_of(row, used) or UsageSum()
    return [str(found.tokens.total), shown_cost(found)]


def _cells(row: Mapping[str, Any], short: dict[str, str]) -> tuple[str, ...]:
    where = name_of(row["project"]) if row.get("project") else ""
    ids = short[row["session"]] + (f"/{short[row['subagent']]}" if row.get("subagent") else "")
    return row["agent"], ids, one_text(where), one_text(row.get("title", ""))
