"""Which machine a part of a shared folder is of: a name that the user gives, and an id, as two may have one name.

Both are in the name of its folder, so that no two machines ever write to one, whether or not they know of each other.
"""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from katod import durable
from katod.errors import KatodError
from katod.smallfile import create_small, read_small

NAME: Final = "machine"  # in katod's state
_LARGEST: Final = 1024
_BYTES: Final = 16
_IN_NAME: Final = 6  # digits of the id in the name of a folder
_ID: Final = re.compile(r"[0-9a-f]{32}")
_PRIVATE: Final = 0o600


class Machine(NamedTuple):
    """A name, as the person configured it, and an id made at random; both are empty for a folder that is not shared."""

    name: str = ""
    id: str = ""

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.name}-{self.id[:_IN_NAME]}" if self.name else ""


def this_machine(name: str, state: Path) -> Machine:
    """Return this machine, whose id is made when it is first needed; nobody if it has no name.

    Raises KatodError if the id can neither be read nor written.
    """
    if not name:
        return Machine()
    try:
        return Machine(name, _read(state) or _made(state))
    except OSError as error:
        raise KatodError(f"cannot be used: {error.strerror}", path=state / NAME) from error


def known_id(state: Path) -> str:
    """Return the id of this machine, empty if none was needed yet, or it cannot be read."""
    try:
        return _read(state)
    except OSError:
        return ""


def _read(state: Path) -> str:
    try:
        text = read_small(state / NAME, _LARGEST, own=True).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return ""
    return text if _ID.fullmatch(text) else ""


def _made(state: Path) -> str:
    durable.make_own_folder(state)
    durable.remove(state / NAME, missing_ok=True)  # a damaged one
    try:
        create_small(state / NAME, f"{os.urandom(_BYTES).hex()}\n".encode(), _PRIVATE)
    except FileExistsError:
        pass  # of another process, which needed it at the same time
    else:
        durable.sync_names(state)
    return _read(state)
