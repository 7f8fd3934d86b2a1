"""What a path tells: which session a file holds, or that it holds none. No file is opened for it."""

import re
from pathlib import Path
from typing import Final

from katod.model import Identity, SessionKey

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def identify(agent: str, path: Path) -> Identity | None:
    """Return the identity of a session file, None for any other file in an agent's folders."""
    if path.suffix != ".jsonl":
        return None
    return _claude(path) if agent == "claude" else _codex(path)


def named(agent: str, path: Path) -> Identity:
    """Return an identity for a file that was named by hand, wherever it lies."""
    found = identify(agent, path)
    return found if found is not None else Identity(SessionKey(agent, _session_id(path.stem)))


def _claude(path: Path) -> Identity | None:
    """`<slug>/<session>.jsonl`, `<slug>/agent-<id>.jsonl`, `<slug>/<session>/subagents/**/agent-<id>.jsonl`.

    In sub-agent files every record names the parent's session: only the path tells them apart.
    """
    stem, parents = path.stem, path.parts[:-1]
    subagent = stem.removeprefix("agent-") if stem.startswith("agent-") else ""
    if "subagents" in parents:
        parent = parents[len(parents) - 1 - parents[::-1].index("subagents") - 1]
        return Identity(SessionKey("claude", parent, subagent)) if subagent else None
    if subagent:
        return Identity(SessionKey("claude", stem, subagent))
    return Identity(SessionKey("claude", _session_id(stem)))


def _codex(path: Path) -> Identity | None:
    """`rollout-<time>-<thread>[_<rollout>].jsonl`: the first UUID is the thread, a second one the rollout."""
    if not path.name.startswith("rollout-"):
        return None
    ids = _UUID.findall(path.stem)
    if not ids:
        return Identity(SessionKey("codex", path.stem))
    return Identity(SessionKey("codex", ids[0]), ids[1] if len(ids) > 1 else "")


def _session_id(stem: str) -> str:
    match = _UUID.search(stem)
    return match[0] if match else stem
