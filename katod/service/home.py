"""Where the state belongs: the home directory and the machine it was created for, in a file beside the ledger.

A home that was moved or copied takes the state along. The ledger in it names the files of the first one: a copy would
go on recording there, and `katod forget` would delete there.
"""

import json
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from katod.smallfile import read_small, write_small

NAME: Final = "home.json"
_LARGEST: Final = 64 * 1024
ADVICE: Final = (
    "if you moved it, run `katod status --clear`; if this is a copy, delete this directory to start with an empty state"
)
_MACHINE: Final = Path("/etc/machine-id")


def note(state: Path) -> str:
    """Note whose state this is, unless that is noted; return what is different from then, empty if nothing is."""
    warning = moved(state)
    if not warning and not (state / NAME).exists():
        with suppress(OSError):  # on a full disk, katod starts nevertheless, and the next start notes it
            accept(state)
    return warning


def moved(state: Path) -> str:
    """Return why this is not the state of this home on this machine; empty if it is, or that is not known."""
    try:
        before = json.loads(read_small(state / NAME, _LARGEST, own=True))
        home, machine = before["home"], before["machine"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ""
    now = _now()
    if os.path.realpath(home) != os.path.realpath(now["home"]):
        return f"it was moved or copied here from {home}, and katod continues to use the files there"
    if machine and now["machine"] and machine != now["machine"]:
        return "it was moved or copied here from another machine"
    return ""


def accept(state: Path) -> None:
    """Note that this is the state of this home on this machine. Raises OSError."""
    write_small(state / NAME, json.dumps(_now()).encode())


def _now() -> dict[str, str]:
    """Return the home, and a hash of the machine's id, which is nobody's business; empty where there is none."""
    try:
        known = read_small(_MACHINE, _LARGEST)
    except OSError:
        known = b""
    machine = blake2b(known, digest_size=8, person=b"katod").hexdigest() if known else ""
    return {"home": str(Path.home()), "machine": machine}
