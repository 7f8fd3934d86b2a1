"""Gemini CLI."""

import re
from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment, later
from katod.model import Identity, SessionKey

_FILE: Final = re.compile(r"session-.*-([0-9a-f]{8})")


def _roots() -> list[Path]:
    """Return the root; `GEMINI_CLI_HOME` replaces the home directory."""
    return [(from_environment("GEMINI_CLI_HOME") or Path.home()) / ".gemini"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of a session or a sub-agent, None for any other path.

    They are `<project>/chats/session-<time>-<8>.json[l]` and `<project>/chats/<parent's id>/<sub-agent>.jsonl`. The
    name contains only the first eight digits of the session id, so those are the session's key.
    """
    parents = path.parts[:-1]
    if parents[-1:] == ("chats",):
        match = _FILE.fullmatch(path.stem)
        return Identity(SessionKey("gemini", match[1])) if match else None
    if parents[-2:-1] == ("chats",) and path.suffix == ".jsonl":
        return Identity(SessionKey("gemini", parents[-1][:8], path.stem))
    return None


SPEC: Final = AgentSpec(
    name="gemini",
    label="Gemini",
    product="Gemini CLI",
    adapter_name="gemini.adapter.GeminiAdapter",
    nature=Nature.NATIVE_IDS,
    roots=_roots,
    variables=("GEMINI_CLI_HOME",),
    folders=("tmp",),
    suffixes=(".jsonl", ".json"),
    identity_of=_identity,
    cuts_ids=True,
    answers=Answers(
        input_has_cached=True,
        output_has_reasoning=False,
        usage_is_last=False,
        usage_signs=(b'"type"', b'"sessionId"'),  # of each message, also of one without usage, which has the first word
    ),
    runs=later("agents.processes.client_in_folder", frozenset({"gemini", "gemini.js"})),
    retention=later("agents.gemini.retention.retention"),
    beside=later("agents.gemini.retention.beside"),
    put_back=later("agents.gemini.retention.put_back"),
    instructions=lambda: Instructions(_roots()[0] / "GEMINI.md"),
    resume=lambda session, _path: ("gemini", "--resume", session),
)
