"""Whether katod's state is intact, and what went wrong lately."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from katod.archive.folders import ASIDE, damaged_list
from katod.doctor.case import Case
from katod.doctor.findings import Finding, count, ok, problem, warning
from katod.errors import LedgerError
from katod.log import EventLog
from katod.record.formatdrift import not_understood
from katod.record.restore import count_missing
from katod.shell import pasted
from katod.store.integrity import DatabaseError, is_damage, quarantined, safe_database_message
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import OutputRow, SourceRow
from katod.store.statefolder import trouble_with

_MOST: Final = 5  # that are listed of each kind


def open_ledger(state: Path) -> tuple[Ledger | None, list[Finding]]:
    """Check the ledger and open it for reading; return it, None if it cannot be used, and what was found.

    Nothing is, where that only comes of what `doctor/state.py` finds.
    """
    path = state / LEDGER_NAME
    try:
        ledger = Ledger.examine(state)
    except LedgerError as error:
        cause = error.__cause__
        if isinstance(cause, OSError | DatabaseError) and not is_damage(cause) and trouble_with(state) is not None:
            return None, []
        advice = f"{error.hint or 'see `katod status`'}; transcripts are not affected"
        return None, [problem("ledger.intact", str(error), advice, path=str(path))]
    except DatabaseError as error:  # busy, most of all
        return None, [warning("ledger.intact", f"{path}: {safe_database_message(error)}", "try again", path=str(path))]
    if ledger is None:
        return None, [ok("ledger.intact", f"there is no ledger in {state} yet: katod has never run", path=str(path))]
    return ledger, [ok("ledger.intact", f"{path} is intact", path=str(path), bytes=os.path.getsize(path))]


def examine_state(case: Case) -> Iterator[Finding]:
    """Yield the ledgers that were quarantined, and a damaged list of the directories that have copies."""
    for path in quarantined(case.state, LEDGER_NAME):
        what = f"{path} was quarantined when katod could not use it, and all recordings ended"
        yield warning("ledger.quarantined", what, f"type ::start again, then rm {pasted(str(path))}", path=str(path))
    if trouble_with(case.state) is None and (damaged := damaged_list(case.state)):
        what = f"{damaged} is damaged: `katod forget --outputs` does not know of all copies of `katod export --all`"
        advice = f"export to each of your directories once more, then rm {pasted(str(damaged.with_name(ASIDE)))}"
        yield warning("archives.damaged", what, advice, path=str(damaged))


def examine_errors(case: Case) -> Iterator[Finding]:
    """Yield what the ledger says of outputs, sources and commands."""
    if case.ledger is None:
        return
    found = [*_outputs(case.ledger), *_sources(case.ledger), *_refusals(case.ledger)]
    yield from found
    if not found:
        yield ok("errors.none", "no recent errors")


def _outputs(ledger: Ledger) -> Iterator[Finding]:
    parked = [row for row in ledger.outputs() if row.problem]
    yield from _listed(parked, _parked, "parked recording", "errors.parked")
    for row in ledger.outputs():
        if missing := _missing(row, ledger):
            lacks = "its latest events" if missing < 0 else count(missing, "event")
            yield problem(
                "errors.missing", f"{row.path} lacks {lacks}: it was overwritten with an older copy",
                f"run `katod verify --append-missing {row.id}`", output=str(row.path), id=row.id,
            )  # fmt: skip


def _missing(row: OutputRow, ledger: Ledger) -> int:
    """Return how many events an output lacks, -1 if that is not known."""
    number = count_missing(row, ledger, EventLog())
    return -1 if number is None else number


def _parked(row: OutputRow) -> Finding:
    advice = "nothing is lost: katod retries until it can write there"
    return problem("errors.parked", f"{row.path}: {row.problem}", advice, output=str(row.path), id=row.id)


def _sources(ledger: Ledger) -> Iterator[Finding]:
    broken = [row for row in ledger.sources() if row.problem and not row.gone]
    yield from _listed(broken, _source, "session file", "errors.source")
    for sample, what in not_understood(ledger.samples.all()):
        advice = "upgrade katod; records that it does not understand are kept unchanged in JSONL"
        yield problem("errors.strange", what, advice, agent=sample.agent, version=sample.version, path=sample.path)


def _source(row: SourceRow) -> Finding:
    advice = "katod retries when the file changes, and then continues a recording of it"
    return problem("errors.source", f"{row.path}: {row.problem}", advice, path=row.path)


def _refusals(ledger: Ledger) -> Iterator[Finding]:
    refused = ledger.refusals()
    if refused:
        latest = refused[0]
        what = f"the latest refused command: ::{latest.word} in {latest.session}: {latest.reason}"
        yield ok("errors.refused", what, "`katod status` lists refused commands", time=latest.time)


def _listed(rows: list[Any], show: Callable[[Any], Finding], what: str, check: str) -> Iterator[Finding]:
    yield from map(show, rows[:_MOST])
    if (more := len(rows) - _MOST) > 0:
        yield problem(check, f"and {count(more, f'other {what}')} with a problem", "see `katod status`", more=more)
