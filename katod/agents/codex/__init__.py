"""Codex."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers, Parts
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment, later, uuids
from katod.model import Identity, SessionKey


def _roots() -> list[Path]:
    return [from_environment("CODEX_HOME") or Path.home() / ".codex"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `rollout-<time>-<thread>[_<rollout>].jsonl`: the UUIDs of thread and rollout."""
    if not path.name.startswith("rollout-"):
        return None
    stem = path.name.removesuffix(".zst").removesuffix(".jsonl")
    ids = uuids(stem)
    if not ids:
        return Identity(SessionKey("codex", stem))
    return Identity(SessionKey("codex", ids[0]), ids[1] if len(ids) > 1 else "")


def _instructions() -> Instructions:
    (home,) = _roots()
    return Instructions(home / "AGENTS.md", before=(home / "AGENTS.override.md",))


SPEC: Final = AgentSpec(
    name="codex",
    label="Codex",
    product="Codex",
    program="codex-cli",
    adapter_name="codex.adapter.CodexAdapter",
    nature=Nature.POSITIONS,
    marks_expansions=True,
    roots=_roots,
    variables=("CODEX_HOME",),
    folders=("sessions", "archived_sessions"),
    suffixes=(".jsonl", ".jsonl.zst"),
    identity_of=_identity,
    runs=later("agents.processes.client_with_file", frozenset({"codex"})),  # open as long as it may write to it
    instructions=_instructions,
    names_parents=True,
    answers=Answers(
        Parts.ITEMS,
        input_has_cached=True,
        usage_signs=(b'"token_count"', b'"token_usage_record"', b'"turn_context"', b'"session_meta"'),
    ),
    resume=lambda session, _path: ("codex", "resume", session),
)
