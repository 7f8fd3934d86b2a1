"""Kimi Code: what is beside a session's records."""

import base64
from pathlib import Path
from typing import Final

from katod.agents.beside import object_in
from katod.agents.fields import text_of
from katod.smallfile import read_small

_LARGEST: Final = 32 * 1024 * 1024  # bytes of a picture or another medium


def project_of(path: Path) -> str:
    """Return the folder of a session as its `state.json` says, given the path of its wire file; empty if unknown."""
    return text_of(object_in(path.parents[2] / "state.json").get("workDir")) if len(path.parents) > 2 else ""


def name_of(path: Path, _session: str) -> str:
    """Return the name that the user gave a session (`state.json`), empty if it is called by its first words."""
    state = object_in(path.parents[2] / "state.json") if len(path.parents) > 2 else {}
    return text_of(state.get("title")) if state.get("isCustomTitle") is True else ""


def medium_of(path: Path, name: str) -> str:
    """Return a medium that a record names, in base64, given the path of its wire file; empty if it is not there.

    Since protocol 1.5 it is in a file if it is long, `blobs/<64 hexadecimal digits>` beside the wire file [kimi 2.1.0].
    """
    try:
        return base64.b64encode(read_small(path.parent / "blobs" / name, _LARGEST)).decode()
    except OSError:
        return ""
