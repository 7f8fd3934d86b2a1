"""zot."""

import re
import sys
from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment
from katod.model import Identity, SessionKey

_FOLDER: Final = re.compile(r"[0-9a-f]{16}")


def _roots() -> list[Path]:
    if named := from_environment("ZOT_HOME"):
        return [named]
    if sys.platform == "darwin":
        return [Path.home() / "Library" / "Application Support" / "zot"]
    return [(from_environment("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "zot"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<16 digits>/<time>-<8>.jsonl`; flat files in the same folder belong to openzot."""
    return Identity(SessionKey("zot", path.stem)) if _FOLDER.fullmatch(path.parent.name) else None


SPEC: Final = AgentSpec(
    name="zot",
    label="zot",
    product="zot",
    adapter_name="zot.adapter.ZotAdapter",
    nature=Nature.POSITIONS,
    roots=_roots,
    variables=("ZOT_HOME", "XDG_STATE_HOME"),
    folders=("sessions",),
    suffixes=(".jsonl",),
    identity_of=_identity,
    answers=Answers(usage_is_apart=True),
    short_id=lambda session: session.rpartition("-")[2],  # ids begin with their time
    instructions=lambda: Instructions(_roots()[0] / "AGENTS.md"),
    resume=lambda _session, path: ("zot", "--session", path),
)
