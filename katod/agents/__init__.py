"""The agents: a module or a folder for each, and the registry of all of them.

To add an agent, write a module with a `SPEC` and add it to `AGENTS`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from katod.agents import claude, codex, copilot, cursor, gemini, opencode, pi, zot
from katod.agents.spec import AgentSpec
from katod.lifecycle import Lifecycle
from katod.metadata import SessionStart
from katod.model import Cursor, SessionKey
from katod.states import AT_WORK, GONE, RUNS, SILENT_AFTER, JudgedEvents, Report, State
from katod.tail.decode import decode

# In the order in which `sniff` tries them: those with the strictest test come first.
AGENTS: Final[Mapping[str, AgentSpec]] = {
    spec.name: spec.guarded()
    for spec in (
        opencode.SPEC,
        copilot.SPEC,
        pi.SPEC,
        gemini.SPEC,
        zot.SPEC,
        cursor.SPEC,
        codex.SPEC,
        claude.SPEC,
    )
}
_HEAD_BYTES: Final = 4 * 1024 * 1024


def lifecycle_of(key: SessionKey, kept: Mapping[str, Any] | None = None) -> Lifecycle:
    """Return what follows the steps of a session, from its beginning or from what was kept."""
    return Lifecycle(key.subagent, kept, usage_ends=AGENTS[key.agent].answers.usage_is_last)


def reported(path: str, key: SessionKey, start: SessionStart) -> Report | None:
    """Return what an agent says of a session beside the file at this path; of a sub-agent, it says nothing."""
    return None if key.subagent else AGENTS[key.agent].reported(Path(path), key.id, start)


def heard(path: str, key: SessionKey, start: SessionStart, seen: JudgedEvents, silent: float) -> Report | None:
    """Return what an agent says of a session, or else whether its client runs.

    The latter is looked up only if the session is at work by its records (`seen`), and has been `silent` for so many
    seconds: whoever wrote a moment ago is there. What is kept beside the records, as in a database, says no more than
    they do: a client that is killed leaves it as it was.
    """
    report, spec = reported(path, key, start), AGENTS[key.agent]
    is_live = report is not None and (bool(spec.reports) or report.state is not State.WORKING)
    if is_live or key.subagent or seen.state not in AT_WORK or silent < SILENT_AFTER:
        return report
    runs = spec.runs(Path(path), key.id, start)
    return None if runs is None else RUNS if runs else GONE


def is_said_to_go_on(path: str, key: SessionKey) -> bool:
    """Return whether an agent says of a session that it works, or waits for its person."""
    report = reported(path, key, SessionStart())
    return report is not None and report.state is not State.IDLE


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
