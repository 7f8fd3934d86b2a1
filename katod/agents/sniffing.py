"""Which agent's session is in a file that somebody names."""

from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.agents.spec import AgentSpec
from katod.model import Cursor
from katod.tail.decode import decode

_HEAD_BYTES: Final = 4 * 1024 * 1024


def sniff(path: Path) -> AgentSpec | None:
    """Return the agent whose session a file contains, judged by its first records; None if none. Raises SourceError.

    The file is opened in each way that some agent opens its own: how it is read determines what its records are.
    """
    for opener in dict.fromkeys(spec.open for spec in AGENTS.values()):
        with opener(str(path)) as file:
            rest = file.rest(0)
            lines = file.read(Cursor(), _HEAD_BYTES).lines or ([rest] if rest else [])
        values = (record.value for line in lines for record in decode(line) if record.value is not None)
        found = (spec for value in values for spec in AGENTS.values() if spec.adapter.recognises(path, value))
        if spec := next(found, None):
            return spec
    return None
