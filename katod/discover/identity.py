"""What a path tells: which session a file holds, or that it holds none. No file is opened for it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from katod.model import Identity, SessionKey

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_GEMINI: Final = re.compile(r"session-.*-([0-9a-f]{8})")
_ZOT_FOLDER: Final = re.compile(r"[0-9a-f]{16}")

# A session in a database: `<database>.db#<session>`.
IN_DATABASE: Final = ".db#"
# How the names of session files end, by agent.
SUFFIXES: Final = {
    "claude": (".jsonl",),
    "codex": (".jsonl", ".jsonl.zst"),
    "gemini": (".jsonl", ".json"),
    "opencode": (".db", ".json"),
    "cursor": (".jsonl",),
    "zot": (".jsonl",),
    "copilot": (".jsonl",),
    "pi": (".jsonl",),
}


def identify(agent: str, path: Path) -> Identity | None:
    """Return the identity of a session file, None for any other file in an agent's folders."""
    return _IDENTIFY[agent](path) if path.name.endswith(SUFFIXES[agent]) or IN_DATABASE in path.name else None


def named(agent: str, path: Path) -> Identity:
    """Return an identity for a file that was named by hand, wherever it lies."""
    found = identify(agent, path) if agent in _IDENTIFY else None
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
    stem = path.name.removesuffix(".zst").removesuffix(".jsonl")
    ids = _UUID.findall(stem)
    if not ids:
        return Identity(SessionKey("codex", stem))
    return Identity(SessionKey("codex", ids[0]), ids[1] if len(ids) > 1 else "")


def _gemini(path: Path) -> Identity | None:
    """`<project>/chats/session-<time>-<8>.json[l]`, `<project>/chats/<parent's id>/<sub-agent>.jsonl`.

    The name holds no more of the session id than its first eight digits: they are the session's key.
    """
    parents = path.parts[:-1]
    if parents[-1:] == ("chats",):
        match = _GEMINI.fullmatch(path.stem)
        return Identity(SessionKey("gemini", match[1])) if match else None
    if parents[-2:-1] == ("chats",) and path.suffix == ".jsonl":
        return Identity(SessionKey("gemini", parents[-1][:8], path.stem))
    return None


def _opencode(path: Path) -> Identity | None:
    """`<database>.db#<session>`, before 1.2 `storage/session/<project>/<session>.json`, before 0.6 elsewhere."""
    session = path.name.partition(IN_DATABASE)[2] or path.stem
    if not session.startswith("ses_") or (path.suffix == ".json" and "session" not in path.parts):
        return None
    return Identity(SessionKey("opencode", session))


def _cursor(path: Path) -> Identity | None:
    """`<slug>/agent-transcripts/<id>/<id>.jsonl`, `…/<id>/subagents/<id>.jsonl`, earlier `…/<id>.jsonl`."""
    parents = path.parts[:-1]
    if "agent-transcripts" not in parents:
        return None
    if parents[-1] == "subagents":
        return Identity(SessionKey("cursor", parents[-2], path.stem))
    return Identity(SessionKey("cursor", path.stem)) if parents[-1] in ("agent-transcripts", path.stem) else None


def _zot(path: Path) -> Identity | None:
    """`<16 digits>/<time>-<8>.jsonl`; the flat files of openzot in the same folder are another program's."""
    return Identity(SessionKey("zot", path.stem)) if _ZOT_FOLDER.fullmatch(path.parent.name) else None


def _copilot(path: Path) -> Identity | None:
    """`<id>/events.jsonl`, earlier `<id>.jsonl`."""
    stem = path.parent.name if path.name == "events.jsonl" else path.stem
    return Identity(SessionKey("copilot", _session_id(stem)))


def _pi(path: Path) -> Identity | None:
    """`--<cwd>--/<time>_<id>.jsonl`."""
    return Identity(SessionKey("pi", _session_id(path.stem)))


def _session_id(stem: str) -> str:
    match = _UUID.search(stem)
    return match[0] if match else stem


_IDENTIFY: Final[dict[str, Callable[[Path], Identity | None]]] = {
    "claude": _claude, "codex": _codex, "gemini": _gemini, "cursor": _cursor, "zot": _zot, "copilot": _copilot,
    "pi": _pi, "opencode": _opencode,
}  # fmt: skip
