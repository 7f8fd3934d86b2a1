"""All examinations, one after the other; a failure of one is a finding, and the others still run."""

from collections.abc import Callable, Iterator
from typing import Final

from katod.doctor import agents, daemon, ledger, machine, matrix, otlp, outputs, projects
from katod.doctor.case import Case
from katod.doctor.findings import Finding, problem
from katod.errors import KatodError
from katod.store.integrity import DatabaseError, safe_database_message

Examination = Callable[[Case], Iterator[Finding]]
_ALL: Final[dict[str, Examination]] = {
    "configuration": projects.examine,
    "daemon": daemon.examine,
    "agents": agents.examine,
    "output": outputs.examine,
    "watching": machine.examine_watching,
    "clock": machine.examine_clock,
    "ledger": ledger.examine_state,
    "matrix": matrix.examine,
    "otlp": otlp.examine,
    "errors": ledger.examine_errors,
}


def examine(case: Case) -> Iterator[Finding]:
    """Yield the findings of all areas."""
    for area, examination in _ALL.items():
        yield from _guarded(area, examination, case)


def _guarded(area: str, examination: Examination, case: Case) -> Iterator[Finding]:
    try:
        yield from examination(case)
    except (KatodError, OSError) as error:
        yield _failed(area, str(error))
    except DatabaseError as error:
        yield _failed(area, safe_database_message(error))


def _failed(area: str, reason: str) -> Finding:
    return problem(f"{area}.failed", f"the check failed: {reason}", "run `katod doctor` again")
