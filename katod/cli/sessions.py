"""`katod sessions`: the sessions that can be recorded or exported."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Any

import click
import orjson

from katod.agents import AGENTS
from katod.agents.toolcalls import one_line
from katod.cli.context import Context, Found
from katod.cli.printing import say
from katod.config import local_zone
from katod.formats.mdtext import clean
from katod.formats.when import When
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.export import Stretch, replay

_LOOK_AHEAD = 400
_MOST = 50
_COLUMNS = ("changed", "agent", "session", "project", "title")
_WIDEST = 24
_LEAST_TITLE = 12
_SHORTEST = 8


@click.command()
@click.option("--agent", type=click.Choice(sorted(AGENTS)), help="Show only sessions of this agent.")
@click.option("--project", help="Show only sessions whose project path contains this text.")
@click.option(
    "--since",
    metavar="DATE|DAYS",
    help="Show only sessions changed since a date (2026-02-01) or in the last DAYS days.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Show all sessions, including sub-agents, not only the latest 50."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_obj
def sessions(
    context: Context, agent: str | None, project: str | None, since: str | None, everything: bool, as_json: bool
) -> None:
    """List the sessions on this machine, newest first."""
    known = context.found()
    newest_first = sorted(known.values(), key=lambda found: -found.changed_ns)
    chosen = (found for found in newest_first if everything or not found.key.subagent)
    rows = _listed(chosen, agent, project, _since(since), None if everything or as_json else _MOST)
    for folder, problem in context.problems.items():
        say(f"katod: {folder}: {problem}", err=True)
    if as_json:
        for row in rows:
            click.echo(orjson.dumps(row))
        return
    _table(rows, short_ids(known))


def _listed(
    sessions: Iterable[Found], agent: str | None, project: str | None, oldest: int, most: int | None
) -> list[dict[str, Any]]:
    """Return the rows of the matching sessions; reads no more sessions than necessary."""
    chosen = (found for found in sessions if found.changed_ns >= oldest and agent in (None, found.key.agent))
    rows = (row for row in map(describe_session, chosen) if not project or project in row.get("project", ""))
    return list(islice(rows, most))


def describe_session(found: Found) -> dict[str, Any]:
    """Return what is shown of a session: ids, project, title, size in bytes, time of the last change (UTC)."""
    metadata = peek(found)
    row: dict[str, Any] = {
        "agent": found.key.agent,
        "session": found.key.id,
        "subagent": found.key.subagent,
        "title": one_line(metadata.best_title, 80),
        "project": metadata.cwd,
        "bytes": found.size,
        "changed": datetime.fromtimestamp(found.changed_ns / 1e9, UTC).isoformat(timespec="seconds"),
        "files": [path for path, _, _ in found.files],
    }
    return {name: value for name, value in row.items() if value not in ("", None)}


def peek(found: Found) -> SessionMetadata:
    """Return the metadata of a session, as far as its first events reveal it."""
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    metadata = SessionMetadata(found.key)
    for number, (_, now) in enumerate(replay(found.key, stretches, EventLog(), skip_missing=True)):
        metadata = now
        if (metadata.title and metadata.cwd) or number >= _LOOK_AHEAD:
            break
    return metadata


def _since(text: str | None) -> int:
    if text is None:
        return 0
    if text.isdigit():
        moment = datetime.now(UTC) - timedelta(days=int(text))
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise click.BadParameter(
                "expected a date like 2026-02-01 or a number of days", param_hint="--since"
            ) from None
        moment = moment if moment.tzinfo else moment.astimezone()
    return int(moment.timestamp() * 1e9)


def short_ids(keys: Iterable[SessionKey]) -> dict[str, str]:
    """Return the shortest beginning of each id, of at least 8 characters, that no other id of an agent begins with."""
    least = {
        name: _SHORTEST + len(name) - len(AGENTS[key.agent].short_id(name))
        for key in keys
        for name in (key.id, key.subagent)
    }
    names = sorted(least)
    alike = [0, *(_alike(*pair) for pair in pairwise(names)), 0]
    wanted = (max(least[name], 1 + max(around)) for name, around in zip(names, pairwise(alike), strict=False))
    return {name: name[:length] for name, length in zip(names, wanted, strict=True)}


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _table(rows: list[dict[str, Any]], short: dict[str, str]) -> None:
    """Print a table on a terminal; in a pipe, one tab-separated line per session with nothing cut."""
    if not rows:
        say("no sessions found", err=True)
        return
    zone = When(local_zone())
    cells = [_cells(row, zone, short) for row in rows]
    if not sys.stdout.isatty():
        for line in cells:
            say("\t".join(line))
        return
    from rich.console import Console  # noqa: PLC0415 - only needed on a terminal
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415 - a title may look like markup

    console = Console()
    table = Table(box=None, pad_edge=False)
    left = console.width
    for name, column in zip(_COLUMNS, zip(*cells, strict=True), strict=False):
        width = min(_WIDEST, max(map(len, (name, *column)))) if name != "title" else max(_LEAST_TITLE, left)
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=width)
        left -= width + 2
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _cells(row: dict[str, Any], zone: When, short: dict[str, str]) -> tuple[str, ...]:
    where = clean(Path(row["project"]).name) if row.get("project") else ""
    ids = short[row["session"]] + (f"/{short[row['subagent']]}" if row.get("subagent") else "")
    changed = zone.stamp(row["changed"], "").strip()
    return changed, row["agent"], ids, where, " ".join(clean(row.get("title", "")).split())
