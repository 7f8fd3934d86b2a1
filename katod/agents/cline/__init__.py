"""Cline, the command line."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Nature, from_environment, later
from katod.model import Identity, SessionKey

_MESSAGES: Final = ".messages.json"
_SUBAGENT: Final = "agent_"


def _home() -> Path:
    return from_environment("CLINE_DIR") or Path.home() / ".cline"


def _roots() -> list[Path]:
    """Return the folder of the sessions; each variable names a level of its path."""
    data = from_environment("CLINE_DATA_DIR") or _home() / "data"
    return [from_environment("CLINE_SESSION_DATA_DIR") or data / "sessions"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<session>/<session>.messages.json` or `<session>/agent_<id>.messages.json`."""
    name, session = path.name.removesuffix(_MESSAGES), path.parent.name
    if name == session:
        return Identity(SessionKey("cline", session))
    if not name.startswith(_SUBAGENT):
        return None
    return Identity(SessionKey("cline", session, name.removeprefix(_SUBAGENT)))


SPEC: Final = AgentSpec(
    name="cline",
    label="Cline",
    product="Cline",
    adapter_name="cline.adapter.ClineAdapter",
    nature=Nature.NATIVE_IDS,
    roots=_roots,
    variables=("CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR", "CLINE_DIR"),
    folders=("",),
    suffixes=(_MESSAGES,),
    identity_of=_identity,
    short_id=lambda session: session.rpartition("_")[2],  # what comes before is the time
    answers=Answers(input_has_cached=True, usage_signs=(b'"metrics"',)),
    name_beside=later("agents.cline.manifest.name_of"),
    reported=later("agents.cline.manifest.reported"),
    runs=later("agents.cline.manifest.runs"),
    resume=lambda session, _path: ("cline", "--id", session),
)
