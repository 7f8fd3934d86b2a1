"""Kimi Code: what is beside a session's records."""

from pathlib import Path
from typing import Any, Final

import orjson

from katod.agents.fields import dict_of, text_of
from katod.smallfile import read_small

_LARGEST: Final = 256 * 1024


def project_of(path: Path) -> str:
    """Return the folder of a session as its `state.json` says, given the path of its wire file; empty if unknown."""
    if len(path.parents) < 3:
        return ""
    try:
        row: dict[str, Any] = dict_of(orjson.loads(read_small(path.parents[2] / "state.json", _LARGEST)))
    except (OSError, ValueError):
        return ""
    return text_of(row.get("workDir"))
