"""Finds the session files that the oracle reads: the corpus of real ones, if there is one, and the fixtures."""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.oracle import (
    antigravity,
    claude,
    cline,
    codex,
    copilot,
    cursor,
    gemini,
    kimi,
    opencode,
    pi,
    qwen,
    vscode,
    zot,
)
from tests.oracle.common import Sets

ROOT = Path(__file__).parents[2]
LEFT_OUT = Path(__file__).with_name("left_out.json")
NOT_SESSIONS = frozenset(("history.jsonl", "session_index.jsonl", "marks.jsonl", "log.jsonl"))
READERS = {
    "claude": claude.read,
    "codex": codex.read,
    "gemini": gemini.read,
    "opencode": opencode.read,
    "cursor": cursor.read,
    "zot": zot.read,
    "copilot": copilot.read,
    "antigravity": antigravity.read,
    "cline": cline.read,
    "pi": pi.read,
    "kimi": kimi.read,
    "qwen": qwen.read,
    "vscode": vscode.read,
}
DOCUMENTS = frozenset(("cline", "gemini", "opencode", "vscode"))  # their sessions may be whole .json documents
# Where the corpus keeps each agent's sessions: agent, folder, glob.
FOLDERS = (
    ("claude", "claude", "**/*.jsonl"),
    ("codex", "codex", "**/*.jsonl"),
    ("codex", "realcli/codex", "**/*.jsonl"),
    ("gemini", "gemini", "*.json"),
    ("gemini", "gemini", "*.jsonl"),
    ("gemini", "realcli/gemini", "**/session-*.jsonl"),
    ("gemini", "newest/gemini", "**/chats/**/*.jsonl"),
    ("gemini", "irrlicht/gemini-cli", "**/transcript.jsonl"),
    ("opencode", "opencode", "*.json"),
    ("opencode", "opencode", "*.jsonl"),
    ("opencode", "opencode", "*/export.json"),
    ("cursor", "cursor", "*.jsonl"),
    ("zot", "zot", "*.jsonl"),
    ("copilot", "copilot", "*.jsonl"),
    ("copilot", "newest/copilot", "**/events.jsonl"),
    ("copilot", "irrlicht/copilot", "**/transcript.jsonl"),
    ("pi", "newest/pi", "**/sessions/**/*.jsonl"),
    ("pi", "irrlicht/pi", "**/transcript.jsonl"),
    ("antigravity", "irrlicht/antigravity", "**/transcript.jsonl"),
    ("cline", "newest/cline", "**/*.messages.json"),
    ("cline", "agents2/cline", "**/*.messages.json"),
    ("kimi", "newest/kimi", "**/wire.jsonl"),
    ("kimi", "agents2/kimi", "**/wire.jsonl"),
    ("vscode", "agents2/vscode-copilot", "**/chatSessions/*.json*"),
    ("qwen", "newest/qwen", "**/.qwen/projects/**/*.jsonl"),
    ("qwen", "agents2/qwen", "**/chats/*.jsonl"),
)


class Source(NamedTuple):
    """One session file, its agent, and its path relative to the folder it was found in."""

    agent: str
    name: str
    path: Path

    def read(self) -> Sets:
        """Return the session as read by the oracle, cached for the test run."""
        return _read(self)


@cache
def _read(source: Source) -> Sets:
    return READERS[source.agent](source.path)


def corpus_folder() -> Path:
    """Return the folder of real sessions: KATOD_CORPUS, or by default one next to the repository."""
    return Path(os.environ.get("KATOD_CORPUS") or ROOT / "../shared/corpus")


def corpus_sources() -> list[Source]:
    """Return the real sessions, an empty list if there is no corpus."""
    folder = corpus_folder()
    return [source for agent, under, files in FOLDERS for source in _sources(folder, agent, under, files)]


def fixture_sources() -> list[Source]:
    """Return the fixtures."""
    files = {agent: "**/*.json*" if agent in DOCUMENTS else "**/*.jsonl" for agent in READERS}
    return [s for agent in READERS for s in _sources(ROOT, agent, f"fixtures/{agent}", files[agent])]


def _sources(folder: Path, agent: str, under: str, files: str) -> list[Source]:
    paths = sorted((folder / under).glob(files))
    return [Source(agent, path.relative_to(folder).as_posix(), path) for path in paths if path.name not in NOT_SESSIONS]
