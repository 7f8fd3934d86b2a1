"""VS Code: whether a chat waits for the user, by the last state of a request that its journal sets.

The state comes and goes, and a journal that is read later no longer has it: so it is said beside the records.
"""

import re
from pathlib import Path
from typing import Final

from katod.metadata import SessionStart
from katod.smallfile import read_part
from katod.states import Report, State

_END: Final = 64 * 1024  # bytes at the end of a journal in which the state is looked for
_STATE: Final = re.compile(
    rb'^\{"kind":1,"k":\["requests",\d{1,9},"modelState"\],"v":\{"value":(\d{1,9})', re.MULTILINE
)
_NEEDS_INPUT: Final = b"4"  # as in VS Code's source; what for, it does not say


def reported(path: Path, _session: str, _start: SessionStart) -> Report | None:
    """Return that a chat is blocked, if the journal says so; None if the requests have to tell."""
    try:
        states = _STATE.findall(read_part(path, -_END, _END))
    except OSError:
        return None
    return Report(State.BLOCKED) if states[-1:] == [_NEEDS_INPUT] else None
