"""One saved session: a ZIP archive with its native files and what is known of them, and a transcript beside it.

`<session>.zip` has `about.json` and the files, `<session>.md` is the transcript. Both are complete when they have their
names, the archive last: what has no archive is not saved.
"""

import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from zlib import error as ZlibError  # noqa: N812 - its own name says nothing

from katod import durable
from katod.agents import AGENTS
from katod.errors import RescueError
from katod.model import SessionKey, Stat
from katod.rescue.names import PART, TRANSCRIPT, found_aside, owner_of

ABOUT: Final = "about.json"
_LEVEL: Final = 1  # more takes three times as long for a fifth less
_AT_ONCE: Final = 1024 * 1024
_LARGEST_ABOUT: Final = 16 * 1024 * 1024
_LONGEST_RECORD: Final = 64 * 1024 * 1024
_VERSION: Final = 1
# In an older archive, `projects` also has directories that tools named: no reason to delete what may be the only copy.
_PROJECTS: Final = "worked_in"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# `zipfile` raises the last two for what is encrypted, or compressed by another method.
BROKEN: Final = (
    zipfile.BadZipFile, ZlibError, EOFError, ValueError, KeyError, TypeError, RuntimeError, NotImplementedError,
)  # fmt: skip


class SavedFile(NamedTuple):
    """One native file in a copy: where it was, as what it is in the archive, its stat then, and whether it is exact."""

    path: str
    name: str
    size: int
    mtime_ns: int
    exact: bool


class About(NamedTuple):
    """What is known of a copy: its session, when it was saved, when the agent deletes it, and its files.

    Times are in UTC; `due` is when the session was saved if the agent's next start deletes it. `day` counts the days on
    which katod ran. The title is redacted. The project is the first one in which it worked, `projects` are all.
    `earlier` is what files had that were cut since: it is only in the archive, and never put back.
    """

    key: SessionKey
    saved: str
    due: str
    day: int
    title: str
    project: str
    files: tuple[SavedFile, ...]
    projects: tuple[str, ...] = ()
    earlier: tuple[SavedFile, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the copy is byte for byte what the agent had."""
        return all(file.exact for file in self.files)

    @property
    def own_files(self) -> list[SavedFile]:
        """The session's own files, not its sub-agents' and not those beside it."""
        spec = AGENTS[self.key.agent]
        named = ((file, spec.identify(Path(file.path))) for file in self.files)
        return [file for file, identity in named if identity is not None and not identity.key.subagent]

    @property
    def changed_ns(self) -> int:
        """When the session last changed before it was saved."""
        return max((file.mtime_ns for file in self.own_files), default=0)

    @property
    def size(self) -> int:
        """The bytes of its files, before they were compressed."""
        return sum(file.size for file in self.files)

    def has(self, path: str, seen: Stat) -> bool:
        """Return whether a file is in it as it is now."""
        return any((file.path, file.size, file.mtime_ns) == (path, seen.size, seen.mtime_ns) for file in self.files)


class CopyWriter:
    """An archive that is being written, without its name."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._part, self._transcript = _part_of(place), _part_of(place.with_suffix(TRANSCRIPT))
        self._has_transcript = False
        self._raw = _created(self._part)
        self._zip = zipfile.ZipFile(self._raw, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)

    @contextmanager
    def member(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file in the archive for writing."""
        with self._zip.open(name, "w", force_zip64=True) as file:  # by name: so it takes the level of the archive
            yield file

    @property
    def archive(self) -> zipfile.ZipFile:
        """What is written so far; it can be read while no file is open for writing."""
        return self._zip

    def write_transcript(self, pieces: Iterable[str]) -> None:
        """Write the transcript, which has no name yet, either; without that, an older one stays. Raises OSError."""
        self._has_transcript = True
        with _created(self._transcript) as file:
            for piece in pieces:
                file.write(piece.encode("utf-8", "replace"))
            file.flush()
            durable.sync(file.fileno())

    def finish(self, about: About) -> None:
        """Give the transcript and the archive their names, with all of both on disk. Raises OSError."""
        files, earlier = ([file._asdict() for file in listed] for listed in (about.files, about.earlier))
        row = about._asdict() | {"version": _VERSION, "key": list(about.key), "files": files, "earlier": earlier}
        row[_PROJECTS] = row.pop("projects")
        with self.member(ABOUT) as file:
            file.write(json.dumps(row).encode())  # of any name: orjson refuses one that is no UTF-8
        self._zip.close()
        self._raw.flush()
        durable.sync(self._raw.fileno())
        self._raw.close()
        if self._has_transcript:
            durable.rename(self._transcript, self._place.with_suffix(TRANSCRIPT))
        durable.rename(self._part, self._place)
        durable.sync_names(self._place.parent)

    def close(self) -> None:
        """Remove what was not finished."""
        for file in (self._zip, self._raw):
            with suppress(ValueError, OSError):  # on a full disk, what is still to be written fails once more
                file.close()
        for path in (self._part, self._transcript):
            durable.remove(path, missing_ok=True)


def _part_of(path: Path) -> Path:
    """Return where a file is until it is complete."""
    return path.with_name(f"{path.name}{PART}")


def _created(path: Path) -> IO[bytes]:
    """Create a file for its owner alone, in place of what another try may have left. Raises OSError."""
    durable.remove(path, missing_ok=True)
    return os.fdopen(durable.create(path, os.O_RDWR, 0o600), "w+b")


def read_about(place: Path) -> About:
    """Return what an archive says of itself. Raises RescueError if it is damaged, OSError."""
    with _opened(place) as archive:
        return _about(archive)


@contextmanager
def members(place: Path) -> Iterator[tuple[About, zipfile.ZipFile]]:
    """Open an archive whose files are read. Raises RescueError if it is damaged, OSError."""
    with _opened(place) as archive:
        yield _about(archive), archive


def _about(archive: zipfile.ZipFile) -> About:
    with archive.open(ABOUT) as file:
        row: dict[str, Any] = json.loads(file.read(_LARGEST_ABOUT))
    if row["version"] != _VERSION:
        raise ValueError(f"it has version {row['version']}, which a newer katod writes")
    files, earlier = (tuple(SavedFile(**file) for file in row.get(name, ())) for name in ("files", "earlier"))
    saved, due, title, project = (str(row[name]) for name in ("saved", "due", "title", "project"))
    projects = tuple(map(str, row.get(_PROJECTS, [project] if project else [])))
    return About(SessionKey(*row["key"]), saved, due, int(row["day"]), title, project, files, projects, earlier)


@contextmanager
def _opened(place: Path) -> Iterator[zipfile.ZipFile]:
    fd = os.open(place, _READ)
    with os.fdopen(fd, "rb") as raw:
        try:
            with zipfile.ZipFile(raw) as archive:
                yield archive
        except BROKEN as error:
            hint = "`katod forget` deletes it; if the agent still has the session, katod saves it again beside it"
            what = f"the saved session is damaged: {error or 'it ends early'}"
            raise RescueError(what, path=place, hint=hint) from error


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Keep every other process from putting this copy back. Raises RescueError if one does so now, OSError."""
    fd = os.open(place, _READ)
    try:
        _lock(fd, place)
        yield
    finally:
        os.close(fd)


def _lock(fd: int, place: Path) -> None:
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError as error:
        what, hint = "another `katod rescue --restore` is putting this session back", "wait until it has ended"
        raise RescueError(what, path=place, hint=hint) from error


def pieces(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """Yield a file of an archive, piece by piece; its checksum is compared at the end."""
    with archive.open(name) as file:
        while piece := file.read(_AT_ONCE):
            yield piece


def records(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """Yield the lines of a file of an archive, or a document as a whole; what is far too long is in parts."""
    with archive.open(name) as file:
        read = file.readline if name.endswith(".jsonl") else file.read
        while data := read(_LONGEST_RECORD):
            yield data


def leave_out(place: Path, about: About, key: SessionKey) -> About:
    """Take the files of a sub-agent out of an archive, if it has some; return what it says of itself then.

    Raises RescueError if it is damaged, OSError; then it is as it was.
    """
    spec = AGENTS[key.agent]
    files, earlier = (
        tuple(file for file in listed if owner_of(spec, file.path) != key) for listed in (about.files, about.earlier)
    )
    changed = about._replace(files=files, earlier=earlier)
    if changed != about:
        with members(place) as (_, archive), closing(CopyWriter(place)) as writer:
            for file in (*files, *earlier):
                with writer.member(file.name) as member:
                    for piece in pieces(archive, file.name):
                        member.write(piece)
            writer.finish(changed)
    return changed


def delete(place: Path) -> None:
    """Delete a copy with its transcript, if it is there, and what was set aside of it. Raises OSError."""
    for path in found_aside(place):
        durable.remove(path, missing_ok=True)
    transcript = place.with_suffix(TRANSCRIPT)
    with suppress(FileNotFoundError):
        durable.rename(transcript, _part_of(transcript))  # what is left by a crash goes with the next start
    for path in (place, _part_of(place), _part_of(transcript)):
        durable.remove(path, missing_ok=True)
    if place.parent.is_dir():
        durable.sync_names(place.parent)
