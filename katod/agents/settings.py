"""Reads the settings files of agents: JSON, in which some allow comments on lines of their own."""

import re
from pathlib import Path
from typing import Any, Final

from katod.smallfile import read_small
from katod.tail.decode import loads

_LARGEST: Final = 4 * 1024 * 1024
_COMMENT: Final = re.compile(rb"^[ \t]*//.*$", re.MULTILINE)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the object in a settings file, an empty one without a file. Raises OSError, ValueError."""
    try:
        data = read_small(path, _LARGEST)
    except FileNotFoundError:
        return {}
    value = loads(_COMMENT.sub(b"", data).strip() or b"{}")
    if isinstance(value, dict):
        return value
    raise ValueError("not a JSON object")
