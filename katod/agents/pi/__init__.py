"""Pi."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment, later, session_id
from katod.model import Identity, SessionKey


def _roots() -> list[Path]:
    return [from_environment("PI_CODING_AGENT_DIR") or Path.home() / ".pi" / "agent"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `--<cwd>--/<time>_<id>.jsonl`."""
    return Identity(SessionKey("pi", session_id(path.stem)))


def _instructions() -> Instructions:
    (home,) = _roots()
    return Instructions(home / "AGENTS.md", (home / "AGENTS.override.md",), (home / "CLAUDE.md",))


SPEC: Final = AgentSpec(
    name="pi",
    label="Pi",
    product="Pi",
    adapter_name="pi.adapter.PiAdapter",
    nature=Nature.NATIVE_IDS,
    roots=_roots,
    variables=("PI_CODING_AGENT_DIR",),
    folders=("sessions",),
    suffixes=(".jsonl",),
    identity_of=_identity,
    answers=Answers(usage_signs=(b'"usage"', b'"session"'), usage_stands_alone=True),
    runs=later("agents.processes.client_in_folder", frozenset({"pi"})),
    instructions=_instructions,
    resume=lambda session, _path: ("pi", "--session", session),
)
