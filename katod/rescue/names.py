"""Which sessions are saved, by the names of their files: for those who only ask whether one is."""

from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.model import SessionKey

_ARCHIVE: Final = ".zip"


def saved_keys(folder: Path) -> list[SessionKey]:
    """Return the keys of the saved sessions, as far as their ids can be names of files; nothing is opened."""
    names = sorted(folder.glob(f"*/*{_ARCHIVE}"))
    return [SessionKey(path.parent.name, path.stem) for path in names if path.parent.name in AGENTS]


def transcript_of(folder: Path, key: SessionKey) -> Path:
    """Return the path of the transcript of a saved session."""
    return folder / key.agent / f"{key.id}.md"
