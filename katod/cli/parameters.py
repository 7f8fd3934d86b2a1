"""Types of arguments that select a session or a recording, with their completion in a shell.

No session file is opened: ids are in the names of files, and the ledger knows projects, and the sessions in databases.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from katod.agents.spec import AgentSpec
from katod.cli.context import Context
from katod.cli.selection import LATEST
from katod.discover.roots import sweep_folder
from katod.errors import KatodError
from katod.model import SessionKey, Stat
from katod.paths import name_of
from katod.store.integrity import DatabaseError
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow

_MOST: Final = 50
# Quoted: CompletionItem has parameters only since click 8.5.
Items = list["CompletionItem[str]"]
T = TypeVar("T")


class _NamingParam(click.types.StringParamType):
    """What names something, and is not empty unless it is left out: `"$ID"` without an ID must not name anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text. Raises BadParameter."""
        is_given = ctx and param and param.name and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
        if is_given and value == "":
            self.fail("it is empty: is a variable not set?", param, ctx)
        return super().convert(value, param, ctx)


class _SessionParam(_NamingParam):
    """SESSION, as `selection` takes it; with `files`, a file, too."""

    def __init__(self, *, files: bool = False) -> None:
        self._files = files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        """Return the newest sessions whose ids begin like this, and let the shell complete files."""
        items = complete_files(ctx, param, incomplete) if self._files else []
        if LATEST.startswith(incomplete):
            items.append(CompletionItem(LATEST, help="the session that changed last"))
        return items + _sessions(_context(ctx), incomplete)


class _RecordedParam(_NamingParam):
    """SESSION, for a command about sessions that are being recorded."""

    def shell_complete(self, ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
        """Return the sessions that are being recorded and whose ids begin like this."""
        rows = _asked(_context(ctx), lambda ledger: [(ledger.session(row.session).key, row) for row in _open(ledger)])
        found = [(text, key, row) for key, row in rows if (text := _completed(key, incomplete))]
        return [CompletionItem(text, help=f"{key.agent}, {row.path.name}") for text, key, row in found[:_MOST]]


class _Recording(_NamingParam):
    """RECORDING: the number or the file of a recording, or its session."""

    def shell_complete(self, ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
        """Return the newest recordings whose numbers begin like this."""
        rows = _asked(_context(ctx), lambda ledger: ledger.outputs()[::-1])
        found = [row for row in rows if str(row.id).startswith(incomplete)]
        return [
            CompletionItem(str(row.id), help=f"{row.path.name}, {'recording' if row.open else 'ended'}")
            for row in found[:_MOST]
        ]


class _TranscriptParam(_SessionParam):
    """SESSION, RECORDING or a file."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        """Return recordings, by their numbers, and sessions, the newest first."""
        recordings = RECORDING.shell_complete(ctx, param, incomplete) if incomplete else []
        return recordings + super().shell_complete(ctx, param, incomplete)


SESSION: Final = _SessionParam()
TRANSCRIPT: Final = _TranscriptParam(files=True)
SESSION_OR_FILE: Final = _SessionParam(files=True)
RECORDED: Final = _RecordedParam()
RECORDING: Final = _Recording()


def exclude(reason: str, *others: object) -> None:
    """Raise UsageError if any of the other options is given."""
    if any(others):
        raise click.UsageError(reason)


def complete_files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Let the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


def _context(ctx: click.Context) -> Context:
    """Return the context of the command that is being completed: none was made for it, as it does not run."""
    given = ctx.find_root().params.get("config_path")
    return Context(Path(given) if given else None)


def _asked(context: Context, question: Callable[[Ledger], list[T]]) -> list[T]:
    """Return the answer of the ledger; nothing if there is none, or none that can be read."""
    with suppress(KatodError, DatabaseError, OSError):
        ledger = context.ledger()
        if ledger is not None:
            with closing(ledger):
                return question(ledger)
    return []


def _open(ledger: Ledger) -> list[OutputRow]:
    return [row for row in ledger.outputs()[::-1] if row.open]


# -- sessions -------------------------------------------------------------------------------------


class _CompletedSource(NamedTuple):
    """One source that may be a session."""

    changed_ns: int
    path: str
    spec: AgentSpec


def _sessions(context: Context, incomplete: str) -> Items:
    """Return the sessions whose ids begin like this, newest first, without sub-agents."""
    sources = sorted([*_files(context), *_contained(context)], key=lambda source: source.changed_ns, reverse=True)
    found = dict(islice(_newest(sources, incomplete), _MOST))
    projects = dict(_asked(context, lambda ledger: _projects(ledger, found)))
    return [
        CompletionItem(_completed(key, incomplete), help=_about(key, projects.get(key, ""), source.changed_ns))
        for key, source in found.items()
    ]


def _newest(sources: Iterable[_CompletedSource], incomplete: str) -> Iterator[tuple[SessionKey, _CompletedSource]]:
    """Yield the sessions whose ids begin like this, each with its first source."""
    seen: set[SessionKey] = set()
    begun = incomplete.rpartition(":")[2]
    for source in sources:
        # An id is a part of the path: most of ten thousand are out of the question at a glance.
        identity = source.spec.identify(Path(source.path)) if begun in source.path else None
        if identity and identity.key not in seen and _completed(identity.key, incomplete):
            seen.add(identity.key)
            yield identity.key, source


def _completed(key: SessionKey, incomplete: str) -> str:
    """Return the id that was begun, with its agent if that was typed; empty for others, and for one like an option."""
    text = str(key) if ":" in incomplete else key.id
    return text if text.startswith(incomplete) and key.id[:1] != "-" and not key.subagent else ""


def _files(context: Context) -> Iterator[_CompletedSource]:
    """Yield the files in all roots that may be sessions; databases are not opened."""
    for root in context.roots():
        spec = replace(root.spec, container=None, stat_of=_own_stat)
        for folder in root.folders:
            found = sweep_folder(spec, str(folder), {}, deep=True)
            yield from (_CompletedSource(stat.mtime_ns, path, root.spec) for path, stat in found)


def _own_stat(_path: str, own: Stat) -> Stat:
    return own


def _contained(context: Context) -> list[_CompletedSource]:
    """Return the sessions in databases that the ledger knows."""
    roots = [(root.prefix, root.spec, root.spec.container) for root in context.roots()]

    def known(ledger: Ledger) -> list[_CompletedSource]:
        return [
            _CompletedSource(row.seen.mtime_ns, row.path, spec)
            for prefix, spec, container in roots
            if container is not None
            for row in ledger.contained(prefix, container.suffix)
        ]

    return _asked(context, known)


def _projects(ledger: Ledger, keys: Iterable[SessionKey]) -> list[tuple[SessionKey, str]]:
    """Return the names of the projects that the ledger knows."""
    rows = filter(None, map(ledger.find_session, keys))
    return [(row.key, name_of(row.cwd)) for row in rows if row.cwd]


def _about(key: SessionKey, project: str, changed_ns: int) -> str:
    changed = f"{datetime.fromtimestamp(changed_ns / 1e9):%Y-%m-%d %H:%M}"  # noqa: DTZ006 - local, as a list of files
    return ", ".join(filter(None, (key.agent, project, changed)))
