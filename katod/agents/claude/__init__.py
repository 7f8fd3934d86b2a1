"""Claude Code."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.claude.places import REPORTS, SPILLED
from katod.agents.spec import AgentSpec, Instructions, Nature, from_environment, later, session_id
from katod.model import Identity, SessionKey


def _roots() -> list[Path]:
    named = from_environment("CLAUDE_CONFIG_DIR")
    return [named] if named else [Path.home() / ".claude", Path.home() / ".config" / "claude"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of one of three kinds of paths, None for any other.

    `<slug>/<session>.jsonl`, `<slug>/agent-<id>.jsonl`, `<slug>/<session>/subagents/**/agent-<id>.jsonl`. All records
    of a sub-agent's file name the parent's session: only the path tells sub-agents apart.
    """
    stem, parents = path.stem, path.parts[:-1]
    subagent = stem.removeprefix("agent-") if stem.startswith("agent-") else ""
    if "subagents" in parents:
        parent = parents[len(parents) - 1 - parents[::-1].index("subagents") - 1]
        return Identity(SessionKey("claude", parent, subagent)) if subagent else None
    if subagent:
        return Identity(SessionKey("claude", stem, subagent))
    return Identity(SessionKey("claude", session_id(stem)))


SPEC: Final = AgentSpec(
    name="claude",
    label="Claude",
    product="Claude Code",
    adapter_name="claude.adapter.ClaudeAdapter",
    nature=Nature.NATIVE_IDS,
    marks_expansions=True,
    roots=_roots,
    variables=("CLAUDE_CONFIG_DIR",),
    folders=("projects",),
    suffixes=(".jsonl",),
    identity_of=_identity,
    marks_pastes=True,
    spills=SPILLED.encode(),
    renames=b'"type":"custom-title"',
    retention=later("agents.claude.cleanup.retention"),
    beside=lambda path: [path.removesuffix(".jsonl")],  # sub-agents, and results that are in files of their own
    answers=Answers(usage_is_last=False, usage_signs=(b'"usage"', b'"cost-state"'), usage_stands_alone=True),
    reported=later("agents.claude.running.reported"),
    reports=REPORTS,
    instructions=lambda: Instructions(_roots()[0] / "CLAUDE.md"),
    settings=lambda: _roots()[0] / "settings.json",
    resume=lambda session, _path: ("claude", "--resume", session),
)
