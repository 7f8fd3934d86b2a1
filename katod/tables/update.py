"""Brings a data set up to date. Loads neither a format nor pyarrow unless something has to be written."""

from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from katod.archive.excluded import Exclusion
from katod.archive.plan import Task
from katod.archive.update import Progress, Result, line_of
from katod.discover.found import FoundSession
from katod.errors import KatodError, TablesError, with_extra
from katod.model import Options
from katod.record.policy import Policy
from katod.tables.address import BucketAddress
from katod.tables.dataset import DataSet, forget_asked, is_forgotten
from katod.tables.place import DirectoryPlace, TablesPlace
from katod.tables.plan import TablesPlan, planned

if TYPE_CHECKING:
    from katod.tables.staging import StagedRows

_MUCH: Final = 4_000_000  # bytes of sessions that take longer than other processes take to begin
Where = Path | BucketAddress


class TablesRun(NamedTuple):
    """What a run depends on, besides the data set: the rules of the user, and where the state of all katod is."""

    policy: Policy
    options: Options
    zone: str  # of the days in `usage`
    state: Path


def bring_up_to_date(
    data: DataSet, where: Where, sessions: Iterable[FoundSession], run: TablesRun, progress: Progress
) -> Result:
    """Write what is new or has changed. Raises TablesError or OutputError if nothing more can be written.

    It may end at any moment, and goes on where it was the next time.
    """
    exclusion, found = Exclusion(data.folder.manifest, run.policy), list(sessions)
    result = Result(excluded=exclusion.found)
    near = DirectoryPlace(where, data.machine) if isinstance(where, Path) else None
    plan = planned(data, near, found, run.options, exclusion, result)
    if not plan.is_empty:
        require_extra()
        _write(_Work(data, where, found, run, exclusion, plan), result, progress)
    _forget_meanwhile(data, where, result)
    data.save()
    return result


class _Work(NamedTuple):
    """What has to be written, and where."""

    data: DataSet
    where: Where
    found: list[FoundSession]
    run: TablesRun
    exclusion: Exclusion
    plan: TablesPlan


def _write(work: _Work, result: Result, progress: Progress) -> None:
    """Do what is planned. Other processes begin before pyarrow is loaded, as it has threads."""
    from katod.processes import done_elsewhere  # noqa: PLC0415 - not needed if nothing is to be done
    from katod.tables.counted import CountedRows, counted_usage  # noqa: PLC0415 - loads formats
    from katod.usage.overall import forgotten_sessions  # noqa: PLC0415 - likewise

    data, hide = work.data, work.run.options.redact
    tasks = work.plan.tasks
    used = counted_usage(data, work.found, work.run.state, work.run.zone)
    result.notes.extend(f"{path}: {what}" for path, what in used.problems.items())
    sizes, held = [task.found.size for task in tasks], data.folder.descriptors
    with done_elsewhere(lambda number: _staged(tasks[number], hide=hide), sizes, _MUCH, held) as read:
        from katod.tables.writer import TablesWriter  # noqa: PLC0415 - loads pyarrow

        place = place_of(work.where, data)
        forgotten = partial(forgotten_sessions, work.run.state)
        writer = TablesWriter(data, place, work.plan, work.exclusion, result, hide=hide, forgotten=forgotten)
        writer.write(enumerate(progress(tasks)), read)
    rows = CountedRows(data, used, work.exclusion, hide=hide)
    writer.write_usage(rows.rows(), rows.known)


def _forget_meanwhile(data: DataSet, where: Where, result: Result) -> None:
    """Take out the rows of sessions that were asked to be forgotten since this run began: it alone may do so now."""
    try:
        while forget_asked(data):
            if any(map(is_forgotten, data.sessions())):
                require_extra()
                from katod.tables.partitions import PartitionWriter  # noqa: PLC0415 - loads pyarrow

                PartitionWriter(data, place_of(where, data)).drop_forgotten()
    except (KatodError, OSError) as error:
        result.failures.append(line_of(error))  # the next run does it


def _staged(task: Task, *, hide: bool) -> "StagedRows":
    from katod.tables.staging import staged  # noqa: PLC0415 - loads pyarrow

    return staged(task, hide=hide)


def require_extra() -> None:
    """Raise TablesError if the extra `tables` is not installed."""
    if find_spec("pyarrow") is None:
        raise TablesError("-f parquet needs the package pyarrow, which is not installed", hint=with_extra("tables"))


def place_of(where: Where, data: DataSet) -> TablesPlace:
    """Return where the files are. Raises TablesError if a bucket does not answer."""
    if isinstance(where, Path):
        place = DirectoryPlace(where, data.machine)
        place.tidy()  # before anything is read there
        return place
    from katod.tables.bucket import connected  # noqa: PLC0415 - an extra, and slow to load

    return connected(where, environ)
