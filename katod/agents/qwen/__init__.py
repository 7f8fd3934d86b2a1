"""Qwen Code."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment, later, session_id
from katod.model import Identity, SessionKey

_SUBAGENT: Final = "agent-"


def _home() -> Path:
    return from_environment("QWEN_HOME") or Path.home() / ".qwen"


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<project>/chats/<session>.jsonl` or `<project>/subagents/<session>/agent-<id>.jsonl`."""
    parents = path.parts[:-1]
    if parents[-1:] == ("chats",):
        return Identity(SessionKey("qwen", session_id(path.stem)))
    if parents[-2:-1] == ("subagents",) and path.stem.startswith(_SUBAGENT):
        return Identity(SessionKey("qwen", parents[-1], path.stem.removeprefix(_SUBAGENT)))
    return None


SPEC: Final = AgentSpec(
    name="qwen",
    label="Qwen",
    product="Qwen Code",
    adapter_name="qwen.adapter.QwenAdapter",
    nature=Nature.NATIVE_IDS,
    roots=lambda: [from_environment("QWEN_RUNTIME_DIR") or _home()],  # settings stay in the other one
    variables=("QWEN_RUNTIME_DIR", "QWEN_HOME"),
    folders=("projects",),
    suffixes=(".jsonl",),
    identity_of=_identity,
    answers=Answers(input_has_cached=True, usage_signs=(b'"assistant"',), usage_from_start=True),
    runs=later("agents.processes.client_in_folder", frozenset({"qwen", "cli-entry.js"})),
    instructions=lambda: Instructions(_home() / "QWEN.md"),
    resume=lambda session, _path: ("qwen", "--resume", session),
)
