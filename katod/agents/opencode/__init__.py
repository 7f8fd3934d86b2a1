"""OpenCode: sessions in a database, before 1.2 in a tree of files."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers, Parts
from katod.agents.opencode.places import DATABASE
from katod.agents.spec import AgentSpec, Container, Instructions, Nature, from_environment, later
from katod.model import Identity, SessionKey

_PREFIX: Final = "ses_"


def _roots() -> list[Path]:
    """Return the data directory, and the database that `OPENCODE_DB` names if it is elsewhere."""
    data = (from_environment("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "opencode"
    named = from_environment("OPENCODE_DB")
    elsewhere = named is not None and named.suffix == DATABASE and (data / named).parent != data
    return [data, data / named] if named and elsewhere else [data]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<database>.db#<session>` or a session's file, None for any other path.

    Sessions were files before 1.2, `storage/session/<project>/<session>.json`, and before 0.6 in another place.
    """
    session = path.name.partition(f"{DATABASE}#")[2] or path.stem
    if not session.startswith(_PREFIX) or (path.suffix == ".json" and "session" not in path.parts):
        return None
    return Identity(SessionKey("opencode", session))


def _instructions() -> Instructions:
    """Return its instructions: those for Claude Code count as long as it has none of its own."""
    config = from_environment("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Instructions(config / "opencode" / "AGENTS.md", after=(Path.home() / ".claude" / "CLAUDE.md",))


SPEC: Final = AgentSpec(
    name="opencode",
    label="OpenCode",
    product="OpenCode",
    adapter_name="opencode.adapter.OpenCodeAdapter",
    nature=Nature.NATIVE_IDS,
    roots=_roots,
    variables=("XDG_DATA_HOME", "OPENCODE_DB"),
    folders=("storage/session", "project"),
    suffixes=(".json",),
    identity_of=_identity,
    open=later("agents.opencode.opening.open_session"),
    open_usage=later("agents.opencode.opening.open_usage"),
    short_id=lambda session: session.removeprefix(_PREFIX),
    container=Container(
        DATABASE,
        (f"{DATABASE}-wal",),
        later("agents.opencode.sweep.sessions_in"),
        later("agents.opencode.sweep.sessions_holding"),
    ),
    stat_of=later("agents.opencode.tree.changed"),
    changes_elsewhere=True,
    name_beside=later("agents.opencode.sweep.name_of"),
    reported=later("agents.opencode.second.reported"),
    runs=later("agents.opencode.running.runs"),
    instructions=_instructions,
    names_parents=True,
    answers=Answers(Parts.COUNTED, output_has_reasoning=False, usage_signs=(b'"tokens"',)),
    resume=lambda session, _path: ("opencode", "--session", session),
)
