"""Which session files the oracle reads: the corpus of real ones, if there is one, and the project's own."""

import os
from pathlib import Path
from typing import NamedTuple

from tests.oracle import claude, codex
from tests.oracle.common import Sets

ROOT = Path(__file__).parents[2]
LEFT_OUT = Path(__file__).with_name("left_out.json")
NOT_SESSIONS = frozenset(("history.jsonl", "session_index.jsonl", "marks.jsonl", "journal.jsonl"))
READERS = {"claude": claude.read, "codex": codex.read}


class Source(NamedTuple):
    """One session file, the agent that wrote it, and its path relative to the folder it was found in."""

    agent: str
    name: str
    path: Path

    def read(self) -> Sets:
        """What the session says, read by the oracle."""
        return READERS[self.agent](self.path)


def corpus_folder() -> Path:
    """KATOD_CORPUS names the folder of real sessions; without it, it lies beside the repository."""
    return Path(os.environ.get("KATOD_CORPUS") or ROOT / "../shared/corpus")


def corpus_sources() -> list[Source]:
    """The real sessions; none where there is no corpus."""
    folder = corpus_folder()
    found = [("claude", "claude"), ("codex", "codex"), ("codex", "realcli/codex")]
    return [source for agent, under in found for source in _sources(folder, agent, under)]


def fixture_sources() -> list[Source]:
    """The sessions that were made for this project."""
    return [s for agent in READERS for s in _sources(ROOT, agent, f"fixtures/{agent}")]


def _sources(folder: Path, agent: str, under: str) -> list[Source]:
    paths = sorted((folder / under).rglob("*.jsonl"))
    return [Source(agent, path.relative_to(folder).as_posix(), path) for path in paths if path.name not in NOT_SESSIONS]
