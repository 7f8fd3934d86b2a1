"""Kimi Code."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment, later
from katod.model import Identity, SessionKey

_PREFIX: Final = "session_"
_FILE: Final = "wire.jsonl"
_MAIN: Final = "main"
# What an answer used, whether the steps say that, too, and which model it was.
_SIGNS: Final = (b'"step.', b'"usage.record"', b'"llm.request"')


def _roots() -> list[Path]:
    return [from_environment("KIMI_CODE_HOME") or Path.home() / ".kimi-code"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<project>/session_<id>/agents/<agent>/wire.jsonl`, None for any other path."""
    parts = path.parts
    if path.name != _FILE or len(parts) < 4 or parts[-3] != "agents":
        return None
    session, agent = parts[-4], parts[-2]
    return Identity(SessionKey("kimi", session, "" if agent == _MAIN else agent))


SPEC: Final = AgentSpec(
    name="kimi",
    label="Kimi",
    product="Kimi Code",
    adapter_name="kimi.adapter.KimiAdapter",
    nature=Nature.NATIVE_IDS,
    marks_expansions=True,
    roots=_roots,
    variables=("KIMI_CODE_HOME",),
    folders=("sessions",),
    suffixes=(_FILE,),
    identity_of=_identity,
    folders_of_session=3,
    short_id=lambda session: session.removeprefix(_PREFIX),
    answers=Answers(usage_signs=_SIGNS, usage_from_start=True),
    name_beside=later("agents.kimi.places.name_of"),
    runs=later("agents.processes.client_in_folder", frozenset({"kimi-code"})),
    instructions=lambda: Instructions(_roots()[0] / "AGENTS.md"),
    resume=lambda session, _path: ("kimi", "--session", session),
)
