"""Which sessions are saved now: those that their agents delete soon, from what a sweep found. Opens no session."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents.spec import AgentSpec, Retention
from katod.discover.roots import Root
from katod.discover.source import Source
from katod.model import SessionKey, Stat, changed_ns, signed
from katod.rescue.copyfile import About, SavedFile
from katod.rescue.due import DAY_NS, Deletable, age_left, days_left
from katod.rescue.folder import MOST_FILES
from katod.rescue.keeping import KeptFile, Move
from katod.rescue.names import owner_of
from katod.rescue.recorded import RecordedSessions
from katod.rescue.saving import NativeFile, Subject

SOON_DAYS: Final = 2.0
_FAR: Final = 3650.0  # days, where an agent deletes nothing


@dataclass(frozen=True, slots=True)
class Family:
    """A session in one root with its sub-agents, as the last sweep found them."""

    key: SessionKey
    main: list[Source] = field(default_factory=list)
    subagents: list[Source] = field(default_factory=list)

    @property
    def deletable(self) -> Deletable:
        """The session as its agent deletes it."""
        last = max(self.main, key=lambda source: source.seen.mtime_ns)
        return Deletable(self.key.id, os.path.dirname(last.path), last.seen.mtime_ns, len(self.main))


def families(root: Root, sources: Iterable[Source]) -> dict[SessionKey, Family]:
    """Return the sessions in a root whose own files are there, by their keys."""
    found: dict[SessionKey, Family] = {}
    for source in sources:
        key = source.identity.key
        if key.agent == root.agent and not source.gone and source.path.startswith(root.prefix):
            whole = key._replace(subagent="")
            family = found.setdefault(whole, Family(whole))
            (family.subagents if key.subagent else family.main).append(source)
    return {key: family for key, family in found.items() if family.main}


class RescueLook(NamedTuple):
    """What a look at a root goes by.

    `forgotten` says of a session, or a sub-agent, whether it was; `recorded` are those of which nothing is lost.
    """

    root: Root
    retention: Retention
    now_ns: int
    forgotten: Callable[[SessionKey], bool]
    recorded: RecordedSessions

    def leaves_out(self, path: str) -> bool:
        """Return whether a file is that of a session that was forgotten."""
        key = owner_of(self.root.spec, path)
        return key is not None and self.forgotten(key)

    def is_recorded(self, files: Iterable[NativeFile]) -> bool:
        """Return whether nothing is lost with these files: each is of a session, or a sub-agent, that is recorded."""
        spec = self.root.spec
        return self.recorded.has_all(
            file.identity.key if file.identity else owner_of(spec, file.path) for file in files
        )


def to_save(
    look: RescueLook, found: Mapping[SessionKey, Family], saved: Mapping[SessionKey, About]
) -> Iterator[Subject | None]:
    """Yield the sessions of a root that are due and not saved as they are now, those that are deleted first first.

    For each other one, None is yielded: whoever asks may stop in between. Those that were forgotten are left out,
    whatever was said since: what was forgotten is in their files.
    """
    deletable = (family.deletable for family in found.values())
    left = dict(days_left(deletable, look.retention, look.now_ns))
    for key in sorted(found, key=lambda key: left.get(key.id, _FAR)):
        if not look.forgotten(key):
            yield _subject(look, found[key], saved.get(key), left.get(key.id, _FAR))


def _subject(look: RescueLook, family: Family, about: About | None, days: float) -> Subject | None:
    """Return a session as it is to be saved, None if nothing of it is due that was not saved, or all is recorded."""
    retention = look.retention
    if days > SOON_DAYS and not retention.ages_beside:
        return None
    files = [*_files(look, family)]
    wanted = files if days <= SOON_DAYS else [*_aged(files, retention, look.now_ns)]
    if all(about is not None and about.has(file.path, file.seen) for file in wanted):
        return None
    if look.is_recorded(files):
        return None
    due = due_time(days, look.now_ns)
    by_events = retention.days if retention.by_events else None
    if about is None:
        return Subject(family.key, due, tuple(files), by_events)
    kept = partial(_kept, look, about, files)
    return Subject(family.key, due, tuple(files), by_events, about.projects, tuple(_moves(look, about, files)), kept)


def due_time(days: float, now_ns: int) -> str:
    """Return when an agent deletes something, given the days left; now if its next start does."""
    due_ns = now_ns + min(max(days, 0.0), _FAR) * DAY_NS
    return datetime.fromtimestamp(due_ns / 1e9, UTC).isoformat(timespec="seconds")


def _files(look: RescueLook, family: Family) -> Iterator[NativeFile]:
    """Yield the files of a session: its own, its sub-agents', and what is in its folders besides.

    A sub-agent that was forgotten by itself is left out: while nothing is said in it, it is no source any more.
    """
    known: set[str] = set()
    for source in (*family.main, *family.subagents):
        known.add(source.path)
        if not look.forgotten(source.identity.key):
            yield NativeFile(source.path, _name(source.path), source.seen, source.identity)
    for path, seen in files_beside(look.root.spec, (source.path for source in family.main)):
        if path not in known and not look.leaves_out(path):
            yield NativeFile(path, _name(path), seen)


def files_beside(spec: AgentSpec, own: Iterable[str]) -> Iterator[tuple[str, Stat]]:
    """Yield what is in the folders of a session, given its own files: also the files of its sub-agents."""
    for folder in dict.fromkeys(folder for path in own for folder in spec.beside(path)):
        yield from _in_folder(folder)


def _name(path: str) -> str:
    """Return the name of a file in an archive: with its whole path, as one session may be in two roots."""
    return f"files/{path.lstrip('/')}".encode("utf-8", "backslashreplace").decode()


def _in_folder(folder: str) -> Iterator[tuple[str, Stat]]:
    """Yield the regular files in a folder and below, until they are too many to be saved; links are not followed."""
    pending, count = [] if os.path.islink(folder) else [folder], 0
    while pending and count <= MOST_FILES:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    count += 1
                    status = entry.stat(follow_symlinks=False)
                    yield (
                        entry.path,
                        Stat(status.st_size, changed_ns(status), signed(status.st_dev), signed(status.st_ino)),
                    )


def _aged(files: Iterable[NativeFile], retention: Retention, now_ns: int) -> Iterator[NativeFile]:
    """Yield the files of a session that are deleted soon although it stays: sub-agents, results, and older ones."""
    if (days := retention.days) is not None:
        yield from (file for file in files if age_left(file.seen.mtime_ns, days, now_ns) <= SOON_DAYS)


def _kept(
    look: RescueLook, about: About, files: Collection[NativeFile], moved: Mapping[str, str]
) -> Iterator[KeptFile]:
    """Yield what of an older copy belongs into the new one: files that are gone, and what others had that were cut.

    `moved` has the new names of folders that were renamed. What is beside a session is taken to have only grown, unless
    it is found in a new place: there, it may be another file of that name.
    """
    here = {file.path: (file.seen.size, file.seen.mtime_ns) for file in files}
    taken = {file.name for file in about.earlier}
    for file in about.files:
        if look.leaves_out(file.path):
            continue
        path = _path_now(file.path, moved)
        was_moved = path != file.path
        if (seen := here.get(path)) is None:
            here[path] = file.size, file.mtime_ns
            yield KeptFile(file.name, file._replace(path=path, name=_name(path)), is_earlier=False)
        elif (was_moved or look.root.spec.identify(Path(path))) and _may_lack(seen, file, was_moved=was_moved):
            yield KeptFile(file.name, file._replace(name=_name_of_earlier(file, taken)), is_earlier=True)
    yield from (KeptFile(file.name, file, is_earlier=True) for file in about.earlier if not look.leaves_out(file.path))


def _moves(look: RescueLook, about: About, files: Iterable[NativeFile]) -> Iterator[Move]:
    """Yield the folders above a session's own files that may have been renamed, such as that of its project.

    A file that is gone may also have been deleted, while the session went on in another folder. So one that is in the
    copy by itself is never the new place of another one, and of the rest, `moved_folders` finds out by what they have.
    """
    saved = {file.path for file in about.files}
    own = (file for file in files if file.identity and not file.identity.key.subagent)
    new = [(Path(file.path), file.name) for file in own if file.path not in saved]
    for file in about.own_files:
        old = Path(file.path)
        for path, name in new:
            if path.name == old.name and not os.path.lexists(old):
                ends = zip(reversed(old.parts), reversed(path.parts), strict=False)
                same = len(list(takewhile(lambda pair: pair[0] == pair[1], ends)))
                yield _move(look, old.parents[same - 1], path.parents[same - 1], (file.name, name))


def _move(look: RescueLook, old: Path, new: Path, names: tuple[str, str]) -> Move:
    """Return the move of a folder, which may be that of a whole root."""
    changes_root = not str(old).startswith(look.root.prefix)
    return Move(str(old), str(new), *names, not os.path.lexists(old), changes_root)


def _path_now(path: str, moved: Mapping[str, str]) -> str:
    """Return the path of a file that may have been moved with a folder above it."""
    above = next((old for old in moved if path.startswith(f"{old}/")), None)
    return path if above is None or os.path.lexists(path) else f"{moved[above]}{path.removeprefix(above)}"


def _may_lack(seen: tuple[int, int], saved: SavedFile, *, was_moved: bool) -> bool:
    """Return whether a file may have less than was saved of it. One that was not moved is taken to have only grown."""
    return seen != (saved.size, saved.mtime_ns) if was_moved else seen[0] < saved.size


def _name_of_earlier(file: SavedFile, taken: Collection[str]) -> str:
    """Return the name in an archive for what a file had before it was cut."""
    path = _name(file.path).removeprefix("files/")
    return next(name for number in count(1) if (name := f"earlier/{number}/{path}") not in taken)


def is_deleted_by_agent(
    about: About, changed_ns: int, retention: Retention, found: Mapping[SessionKey, Family], now_ns: int
) -> bool:
    """Return whether an agent may have deleted a saved session that is gone: for its age, or beyond a count.

    `changed_ns` is when it last changed if it went on after it was saved, else 0.
    """
    if retention.problem or (not changed_ns and due_time(0.0, now_ns) >= about.due):
        return True
    folder = next((os.path.dirname(file.path) for file in about.own_files), "")
    beside = [family.deletable for family in found.values() if family.deletable.folder == folder]
    gone = Deletable(about.key.id, folder, changed_ns or about.changed_ns)
    return any(name == gone.name and days <= 0 for name, days in days_left([*beside, gone], retention, now_ns))
