"""OpenCode: sessions in a database, before 1.2 in a tree of files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from katod.agents.answers import Answers, Parts
from katod.agents.base import AgentSpec, Container, Instructions, Nature, from_environment
from katod.agents.opencode import sweep, tree
from katod.agents.opencode.adapter import OpenCodeAdapter
from katod.agents.opencode.database import DatabaseSession
from katod.agents.opencode.second import reported
from katod.agents.processes import has_open
from katod.metadata import SessionStart
from katod.model import Identity, SessionKey
from katod.tail.reader import SourceFile
from katod.tail.source import open_source

_DATABASE: Final = ".db"
_PREFIX: Final = "ses_"
_PROGRAMS: Final = frozenset({"opencode", "opencode.exe", ".opencode"})


def _roots() -> list[Path]:
    """Return the data directory, and the database that `OPENCODE_DB` names if it is elsewhere."""
    data = (from_environment("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "opencode"
    named = from_environment("OPENCODE_DB")
    elsewhere = named is not None and named.suffix == _DATABASE and (data / named).parent != data
    return [data, data / named] if named and elsewhere else [data]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<database>.db#<session>` or a session's file, None for any other path.

    Sessions were files before 1.2, `storage/session/<project>/<session>.json`, and before 0.6 in another place.
    """
    session = path.name.partition(f"{_DATABASE}#")[2] or path.stem
    if not session.startswith(_PREFIX) or (path.suffix == ".json" and "session" not in path.parts):
        return None
    return Identity(SessionKey("opencode", session))


@contextmanager
def _open(path: str) -> Iterator[SourceFile]:
    """Open a session: in a database, in a tree of files, or in a single document."""
    if f"{_DATABASE}#" in path:
        yield DatabaseSession(path)
        return
    with open_source(path) as file:
        if not file.is_document:
            yield file
        else:
            yield tree.TreeSession(file) if tree.is_session(path) else tree.SessionDocument(file.fd, path)


def _instructions() -> Instructions:
    """Return its instructions: those for Claude Code count as long as it has none of its own."""
    config = from_environment("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Instructions(config / "opencode" / "AGENTS.md", after=(Path.home() / ".claude" / "CLAUDE.md",))


def _runs(path: Path, _session: str, start: SessionStart) -> bool | None:
    """Return whether a client in the session's folder has the database open, as it has as long as it runs."""
    database_path = str(path).rpartition("#")[0]
    return has_open(database_path, _PROGRAMS, start.cwd) if database_path else None


SPEC: Final = AgentSpec(
    name="opencode",
    label="OpenCode",
    product="OpenCode",
    adapter=OpenCodeAdapter,
    nature=Nature.NATIVE_IDS,
    roots=_roots,
    variables=("XDG_DATA_HOME", "OPENCODE_DB"),
    folders=("storage/session", "project"),
    suffixes=(".json",),
    identity_of=_identity,
    open=_open,
    short_id=lambda session: session.removeprefix(_PREFIX),
    container=Container(_DATABASE, (f"{_DATABASE}-wal",), sweep.sessions_in, sweep.sessions_holding),
    stat_of=tree.changed,
    reported=reported,
    runs=_runs,
    instructions=_instructions,
    names_parents=True,
    answers=Answers(Parts.COUNTED, output_has_reasoning=False),
    resume=lambda session, _path: ("opencode", "--session", session),
)
