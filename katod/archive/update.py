"""Brings a folder of exports up to date: one stat of each session and each file, and work only where they differ."""

import errno
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from katod.agents import AGENTS
from katod.archive.excluded import Exclusion
from katod.archive.folder import ExportFolder
from katod.archive.indexfile import update_index
from katod.archive.manifest import INDEX, INDEX_SLOT, Entry, Sources
from katod.archive.plan import Outcome, Task, decide, is_current, is_known_empty
from katod.discover.found import FoundSession
from katod.errors import KatodError, OutputError, SourceGone
from katod.formatspec import FORMATS
from katod.model import Options
from katod.record.policy import Policy

_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_MUCH: Final = 4_000_000  # bytes of sessions that take longer than other processes take to begin
Progress = Callable[[list[Task]], Iterable[Task]]


@dataclass(slots=True)
class Result:
    """What became of the sessions: how many of each outcome, the files left alone, what failed, what else to say."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    index: Outcome | None = None  # what became of the index of HTML transcripts
    excluded: Mapping[str, str] = field(default_factory=dict)  # the projects of sessions, by their names

    def count(self, outcome: Outcome, name: str = "") -> None:
        """Note what became of a session, of which there is a file with this name."""
        self.counts[outcome] += 1
        if outcome == "left alone":
            self.left.append(name)

    def fail(self, found: FoundSession, error: KatodError | OSError) -> None:
        """Note that a session could not be exported. Raises OutputError if no other one could be, either."""
        require_disk(error)
        self.counts["failed"] += 1
        self.failures.append(f"{found.key}: {line_of(error)}")


def bring_up_to_date(
    folder: ExportFolder,
    sessions: Iterable[FoundSession],
    policy: Policy,
    form: str,
    options: Options,
    progress: Progress,
) -> Result:
    """Export what is new or has changed, in one format. Raises OutputError if nothing more can be written.

    It may end at any moment, and goes on where it was the next time.
    """
    exclusion = Exclusion(folder.manifest, policy)
    result = Result(excluded=exclusion.found)
    tasks = _tasks(folder, sessions, form, options, exclusion, result)
    if tasks:
        from katod.archive.writer import Writer  # noqa: PLC0415 - loads the formats, which takes longer than all else
        from katod.processes import done_elsewhere  # noqa: PLC0415 - likewise

        writer = Writer(folder, policy, exclusion, form, options, tasks)
        sizes = [task.found.size for task in tasks] if writer.can_read_ahead else []
        with done_elsewhere(lambda n: writer.read_ahead(tasks[n]), sizes, _MUCH, folder.descriptors) as read:
            for number, task in enumerate(progress(tasks)):
                try:
                    result.count(writer.write(task, read(number)), task.name)
                except SourceGone:
                    continue  # its agent has deleted it since it was found
                except (KatodError, OSError) as error:
                    result.fail(task.found, error)
        result.notes += writer.notes
    if form == INDEX_SLOT[1]:
        _index(folder, result)
    try:
        folder.compact()
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=folder.root) from error
    return result


def _index(folder: ExportFolder, result: Result) -> None:
    """Bring the index up to date. Raises OutputError if nothing more can be written."""
    try:
        result.index = update_index(folder)
    except (KatodError, OSError) as error:
        require_disk(error)
        result.index = "failed"
        result.failures.append(f"{INDEX}: {line_of(error)}")
    if result.index != "left alone":
        return
    if INDEX_SLOT in folder.manifest.entries:
        result.count(result.index, INDEX)
        return
    result.counts[result.index] += 1
    result.notes.append(f"{folder.root / INDEX} is not katod's and was left alone: rename it to get an index")


def line_of(error: KatodError | OSError) -> str:
    """Return what to say of an error, on one line."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return f"{error} ({error.hint})" if error.hint else str(error)


def require_disk(error: KatodError | OSError) -> None:
    """Raise OutputError for an error that all other sessions would meet, too."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno in _DISK:
        what = f"the export cannot continue: {cause.strerror}"
        hint = "run it again when the disk is writable: it continues where it stopped"
        raise OutputError(what, path=cause.filename, hint=hint) from error


def _tasks(
    folder: ExportFolder,
    sessions: Iterable[FoundSession],
    form: str,
    options: Options,
    exclusion: Exclusion,
    result: Result,
) -> list[Task]:
    """Return what has to be written, parents before their sub-agents; count the other sessions."""
    tasks = []
    made: dict[str, str] = {}
    for found in sorted(sessions, key=lambda found: found.key):
        try:
            if (agent := found.key.agent) not in made:
                made[agent] = _made(agent, form, options)
            task = _task(folder, found, form, made[agent], exclusion)
        except (KatodError, OSError) as error:
            result.fail(found, error)
            continue
        if task.step == "keep":
            result.count("unchanged" if task.name else "empty")
        elif task.step == "leave":
            result.count("left alone", task.name)
        elif task.step == "exclude":
            result.count("excluded")
        else:
            tasks.append(task)
    return tasks


def _task(folder: ExportFolder, found: FoundSession, form: str, made: str, exclusion: Exclusion) -> Task:
    slot, sources = (found.key, form), sources_of(found)
    entry = folder.manifest.entries.get(slot)
    made = _made_of(found, made, entry, sources)
    if entry is not None and exclusion.covers(slot, entry.cwd):
        return Task(found, slot, sources, made, "exclude", entry)
    if entry is None or not entry.name:
        is_known = entry is not None and is_known_empty(entry, sources, made)
        return Task(found, slot, sources, made, "keep" if is_known else "write", entry)
    look = folder.look(entry)  # which may correct the entry
    step = decide(entry, sources, made, look.state)
    return Task(found, slot, sources, made, step, folder.manifest.entries[slot], look)


def sources_of(found: FoundSession) -> Sources:
    """Return the files of a session, so that they differ if any of them changed.

    The number of a disk may change with a restart; in a container, the last two numbers count instead.
    """
    spec = AGENTS[found.key.agent]
    return [
        [path, stat.size, stat.mtime_ns, stat.ino, stat.dev if spec.is_contained(path) else 0]
        for path, _, stat in found.files
    ]


def _made_of(found: FoundSession, made: str, entry: Entry | None, sources: Sources) -> str:
    """Return a short hash of what determines an export besides the files of its session.

    One whose recordings cannot all be read is made again once they can be, unless it was made before with all of them.
    """
    if found.said.is_empty and not found.outputs:
        return made
    whole = hash_of(repr((made, found.said, *(output.ranges for output in found.outputs))))
    if not found.unread or (entry is not None and is_current(entry, sources, whole)):
        return whole
    return hash_of(repr((whole, sorted(found.unread))))


def _made(agent: str, form: str, options: Options) -> str:
    """Return a short hash of what determines all exports of an agent's sessions."""
    return hash_of(repr((AGENTS[agent].adapter.version, FORMATS[form].version, options)))


def hash_of(what: str) -> str:
    """Return a short hash of a text."""
    return blake2b(what.encode("utf-8", "replace"), digest_size=8).hexdigest()
