"""Which agent's session is in a given file."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from katod.agents import AGENTS
from katod.agents.spec import AgentSpec
from katod.errors import AgentFailed
from katod.model import Cursor
from katod.tail.decode import decode
from katod.tail.reader import SourceFile

_HEAD_BYTES: Final = 4 * 1024 * 1024


def sniff(path: Path) -> AgentSpec | None:
    """Return the agent whose session a file contains, judged by its first records; None if none. Raises SourceError.

    The file is opened in each way that some agent opens its own: how it is read determines what its records are. An
    agent whose code fails recognises nothing, unless no other agent does: then its failure is raised.
    """
    failures: list[AgentFailed] = []
    for opener in dict.fromkeys(spec.open for spec in AGENTS.values()):
        try:
            values = list(_first_values(opener, path))
        except AgentFailed as error:
            failures.append(error)
            continue
        for value in values:
            for spec in AGENTS.values():
                if _recognises(spec, path, value, failures):
                    return spec
    if failures:
        raise failures[0]
    return None


def _recognises(spec: AgentSpec, path: Path, value: dict[str, Any], failures: list[AgentFailed]) -> bool:
    try:
        return spec.adapter.recognises(path, value)
    except AgentFailed as error:
        failures.append(error)
        return False


def _first_values(opener: Callable[[str], AbstractContextManager[SourceFile]], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the first records of a file that are JSON."""
    with opener(str(path)) as file:
        rest = file.rest(0)
        lines = file.read(Cursor(), _HEAD_BYTES).lines or ([rest] if rest else [])
    yield from (record.value for line in lines for record in decode(line) if record.value is not None)
