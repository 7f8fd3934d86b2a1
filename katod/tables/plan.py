"""What a run has to do: a stat of each session and each file, and nothing else. Loads neither a format nor pyarrow."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from katod.agents import AGENTS
from katod.archive.excluded import Exclusion
from katod.archive.manifest import Entry
from katod.archive.plan import Task, decide
from katod.archive.update import Result, hash_of, sources_of
from katod.discover.found import FoundSession
from katod.errors import KatodError
from katod.model import Options, SessionKey
from katod.tables.address import Partition, folder_of
from katod.tables.dataset import DataSet, is_going
from katod.tables.place import TablesPlace
from katod.tables.schema import OF_EVENTS, SESSIONS, USAGE, VERSION, TableSpec


@dataclass(slots=True)
class TablesPlan:
    """The sessions that are read, parents before their sub-agents, and what else has to be written.

    `left` are the sessions that are as they were, by their partitions: they are read if their rows are gone.
    """

    tasks: list[Task] = field(default_factory=list)
    left: dict[Partition, list[Task]] = field(default_factory=lambda: defaultdict(list))
    stale: set[Partition] = field(default_factory=set)  # some of their files are gone, changed, or half written
    without: list[Entry] = field(default_factory=list)  # of the sessions whose rows have to go
    there: set[SessionKey] = field(default_factory=set)  # the sessions whose files are there
    lacks_sessions: bool = False  # the list may not have all that are in the files
    needs_usage: bool = False  # the file of some partition alone is not as it was left

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to be done."""
        return not (self.tasks or self.stale or self.without or self.lacks_sessions or self.needs_usage)


def planned(
    data: DataSet,
    place: TablesPlace | None,
    sessions: Iterable[FoundSession],
    options: Options,
    exclusion: Exclusion,
    result: Result,
) -> TablesPlan:
    """Return what has to be done, and count the sessions of which nothing has. A bucket is not looked at."""
    plan = TablesPlan()
    _look_at_parts(data, place, plan)
    made = _Made(options)
    found = {session.key: session for session in sessions}
    plan.there |= found.keys()
    for session in sorted(found.values(), key=lambda session: _order(session, found)):
        try:
            _plan(data, session, made.of(session), exclusion, plan, result)
        except (KatodError, OSError) as error:
            result.fail(session, error)
    for entry in data.sessions():
        if entry.name and (is_going(entry) or exclusion.covers(entry.slot, entry.cwd)):
            plan.without.append(entry)
    return plan


def _look_at_parts(data: DataSet, place: TablesPlace | None, plan: TablesPlan) -> None:
    has_parts = place is not None and not data.is_complete and place.parts(folder_of(SESSIONS, data.machine.name))
    plan.lacks_sessions = data.is_damaged or bool(has_parts)
    for partition in data.partitions():
        if not all(is_left(data, place, partition, table) for table in OF_EVENTS):
            plan.stale.add(partition)
        elif not is_left(data, place, partition, USAGE):
            plan.needs_usage = True


def is_left(data: DataSet, place: TablesPlace | None, partition: Partition, table: TableSpec) -> bool:
    """Return whether a file is as katod left it, as far as is known without a place to look at it."""
    if not data.is_noted(partition, table):
        return False
    return place is None or place.stamp(data.name(partition, table)) == data.stamp(partition, table)


def _order(session: FoundSession, found: dict[SessionKey, FoundSession]) -> tuple[str, int, SessionKey]:
    """Return a key that brings together the sessions of a partition, and a sub-agent behind its parent."""
    first = found.get(session.key._replace(subagent=""), session)
    return session.key.agent, min(stat.mtime_ns for _, _, stat in first.files), session.key


def _plan(
    data: DataSet, session: FoundSession, made: str, exclusion: Exclusion, plan: TablesPlan, result: Result
) -> None:
    entry = data.known(session.key)
    task = Task(session, data.slot(session.key), sources_of(session), made, "write", entry)
    if entry is not None and exclusion.covers(task.slot, entry.cwd):
        result.count("excluded")
    elif entry is None or decide(entry, task.sources, made, "same") != "keep":
        plan.tasks.append(task)
    elif not entry.name:
        result.count("empty")
    elif (partition := Partition.named(entry.name)) in plan.stale:
        plan.tasks.append(task)
    else:
        result.count("unchanged")
        plan.left[partition].append(task)


class _Made:
    """What determines the rows of a session besides its files, as a short hash."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known: dict[str, str] = {}

    def of(self, session: FoundSession) -> str:
        """Return it. Raises AgentFailed."""
        agent = session.key.agent
        if agent not in self._known:
            shared = (AGENTS[agent].adapter.version, VERSION, self._options.redact, self._options.rules)
            self._known[agent] = hash_of(repr(shared))
        said = session.said
        return self._known[agent] if said.is_empty else hash_of(repr((self._known[agent], said.title)))
