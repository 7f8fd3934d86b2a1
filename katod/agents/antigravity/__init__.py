"""Antigravity, on the command line and in its editor."""

import os
from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Nature
from katod.model import Identity, SessionKey

WHOLE: Final = "transcript_full.jsonl"
CUT: Final = "transcript.jsonl"
LOGS: Final = (".system_generated", "logs")
_CUT_RATIO: Final = 4  # a cut transcript that is so many times as large has what the whole one lacks


def _gemini() -> Path:
    return Path.home() / ".gemini"


def _identity(path: Path) -> Identity | None:
    """Return the identity of `brain/<conversation>/.system_generated/logs/transcript_full.jsonl`.

    `transcript.jsonl` beside it has the same steps with cut texts: it is a session's file only where the other is
    missing, or has next to nothing of it.
    """
    if path.name not in (WHOLE, CUT) or path.parts[-3:-1] != LOGS:
        return None
    if path.name == CUT and _size_of(path.with_name(WHOLE)) * _CUT_RATIO > _size_of(path):
        return None
    return Identity(SessionKey("antigravity", path.parts[-4]))


def _size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


SPEC: Final = AgentSpec(
    name="antigravity",
    label="Antigravity",
    product="Antigravity",
    adapter_name="antigravity.adapter.AntigravityAdapter",
    nature=Nature.NATIVE_IDS,
    roots=lambda: [_gemini() / "antigravity-cli", _gemini() / "antigravity"],
    variables=(),
    folders=("brain/*/.system_generated/logs",),
    suffixes=(WHOLE, CUT),
    identity_of=_identity,
    names_parents=True,
    answers=Answers(has_usage=False),
    resume=lambda session, _path: ("agy", "--conversation", session),
)
