"""Reads what agents keep beside their records: small JSON files, and the folders that these name."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from katod.agents.fields import dict_of, text_of
from katod.smallfile import read_small
from katod.tail.decode import loads

_LARGEST: Final = 1024 * 1024
_LOCAL: Final = "file://"


def object_in(path: Path, largest: int = _LARGEST) -> dict[str, Any]:
    """Return the object in a JSON file of at most so many bytes, empty if there is none that can be read.

    Half a character in it, as in a title that was cut, hides nothing else: it may say in which project a session is.
    """
    try:
        return dict_of(loads(read_small(path, largest)))
    except (OSError, ValueError):
        return {}


def folder_of_uri(uri: Any) -> str:
    """Return the path that a `file:///` URI names, empty for any other value: it may be on another machine."""
    place = text_of(uri)
    return unquote(place.removeprefix(_LOCAL)) if place.startswith(f"{_LOCAL}/") else ""
