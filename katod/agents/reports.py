"""What agents report about a session outside its records, and whether their clients run."""

from pathlib import Path

from katod.agents import AGENTS
from katod.metadata import SessionStart
from katod.model import SessionKey
from katod.states import AT_WORK, GONE, RUNS, SILENT_AFTER, JudgedEvents, Report, State


def reported(path: str, key: SessionKey, start: SessionStart) -> Report | None:
    """Return an agent's own report about the session in a file; None for a sub-agent."""
    return None if key.subagent else AGENTS[key.agent].reported(Path(path), key.id, start)


def heard(path: str, key: SessionKey, start: SessionStart, seen: JudgedEvents, silent: float) -> Report | None:
    """Return an agent's report about a session, or else whether its client runs.

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
    """Return whether an agent says of a session that it works, or waits for the user."""
    report = reported(path, key, SessionStart())
    return report is not None and report.state is not State.IDLE
