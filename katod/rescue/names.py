"""The names of the files of saved sessions; nothing is opened, for those who only ask whether one is saved."""

import re
from collections.abc import Iterator
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.agents.spec import AgentSpec
from katod.model import SessionKey

ARCHIVE, TRANSCRIPT, PART = ".zip", ".md", ".part"
_ASIDE: Final = ".damaged"
_DESCRIPTION: Final = ".meta.json"  # of a sub-agent: what it was asked to do, in a few words
_LONGEST: Final = 100


def place_of(folder: Path, key: SessionKey) -> Path:
    """Return the path of the archive of a session: named after its id, or a hash of an id that is no safe name."""
    is_safe = key.id.isascii() and key.id.replace("-", "").replace("_", "").isalnum() and len(key.id) <= _LONGEST
    name = key.id if is_safe else blake2b(key.id.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return folder / key.agent / f"{name}{ARCHIVE}"


def names_aside(place: Path) -> Iterator[Path]:
    """Yield the paths to which the archive of a session is moved if it is damaged."""
    return (place.with_name(f"{place.name}{_ASIDE}{number or ''}") for number in count())


def found_aside(place: Path) -> list[Path]:
    """Return the archives of a session that were moved because they are damaged; some may be gone by now."""
    name = re.compile(rf"{re.escape(place.name)}{re.escape(_ASIDE)}\d*")
    return [path for path in place.parent.glob(f"{place.name}{_ASIDE}*") if name.fullmatch(path.name)]


def transcript_of(folder: Path, key: SessionKey) -> Path:
    """Return the path of the transcript of a session."""
    return place_of(folder, key).with_suffix(TRANSCRIPT)


def owner_of(spec: AgentSpec, path: str) -> SessionKey | None:
    """Return the session, or the sub-agent, whose file this is, also one that only describes it; None of any other."""
    if path.endswith(_DESCRIPTION):
        path = f"{path.removesuffix(_DESCRIPTION)}{spec.suffixes[0]}"
    identity = spec.identify(Path(path))
    return None if identity is None else identity.key


def saved_keys(folder: Path) -> list[SessionKey]:
    """Return the keys of the saved sessions, as far as their ids can be names of files."""
    names = sorted(folder.glob(f"*/*{ARCHIVE}"))
    return [SessionKey(path.parent.name, path.stem) for path in names if path.parent.name in AGENTS]
