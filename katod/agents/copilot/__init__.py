"""Copilot CLI."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment, later, session_id
from katod.model import Identity, SessionKey


def _roots() -> list[Path]:
    return [from_environment("COPILOT_HOME") or Path.home() / ".copilot"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<id>/events.jsonl`, formerly `<id>.jsonl`."""
    stem = path.parent.name if path.name == "events.jsonl" else path.stem
    return Identity(SessionKey("copilot", session_id(stem)))


SPEC: Final = AgentSpec(
    name="copilot",
    label="Copilot",
    product="Copilot CLI",
    answers=Answers(
        input_has_cached=True,
        usage_signs=(b'"assistant.message"', b'"session.usage_record"', b'"session.shutdown"', b'"session.start"'),
    ),
    adapter_name="copilot.adapter.CopilotAdapter",
    nature=Nature.NATIVE_IDS,
    marks_expansions=True,
    repeats_calls=True,
    roots=_roots,
    variables=("COPILOT_HOME",),
    folders=("session-state", "history-session-state"),
    suffixes=(".jsonl",),
    identity_of=_identity,
    folders_of_session=1,
    separate_subagents=False,
    runs=later("agents.copilot.states.runs"),
    instructions=lambda: Instructions(_roots()[0] / "copilot-instructions.md"),
    resume=lambda session, _path: ("copilot", f"--resume={session}"),
)
