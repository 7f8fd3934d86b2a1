"""Saves one session, slice by slice: its transcript first, which shows whose project it is, then its native files."""

import os
import re
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from katod.errors import RescueError, SourceError
from katod.events import Event
from katod.formatspec import open_format
from katod.log import EventLog
from katod.metadata import Replay, SessionMetadata
from katod.model import Identity, Line, Mark, SessionKey, Stat, changed_ns
from katod.project.allowed import may_exclude
from katod.record.export import Begun, FileSpool, Stretch, for_export, look_ahead, render_begun, replay
from katod.record.policy import Policy
from katod.rescue.cleaning import (
    LONG,
    Cleaning,
    cleaned_line,
    cleaned_long_line,
    cleaned_long_text,
    cleaned_text,
)
from katod.rescue.copyfile import About, CopyWriter, SavedFile
from katod.rescue.folder import LARGEST, MOST_FILES, RescueFolder
from katod.rescue.keeping import KeptFile, Move, keep_files, moved_folders
from katod.rescue.names import place_of
from katod.smallfile import open_regular
from katod.tail.decode import decode, frame, loads

_AT_ONCE: Final = 256 * 1024
_WHOLE: Final = 64 * 1024 * 1024  # bytes of a file that is no list of lines and is cleaned as a whole
_FORMAT: Final = "markdown"
_CWD: Final = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*+")')
SavingSlices = Generator[None, None, About | None]


class NativeFile(NamedTuple):
    """A file of a session: its path, the name in the archive, the stat of the last sweep; what it is, if a source."""

    path: str
    name: str
    seen: Stat
    identity: Identity | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A session to be saved with all its files.

    Of its older copy, `moves` are the folders that may have been renamed since, and `kept` returns what is taken over,
    given the new names of those that were.
    """

    key: SessionKey
    due: str  # see `About`
    files: tuple[NativeFile, ...]
    days: float | None = None  # after its last event it is deleted, if that counts, not the time of its file
    projects: tuple[str, ...] = ()  # in which it worked, as far as that is known from the older copy
    moves: tuple[Move, ...] = ()
    kept: Callable[[Mapping[str, str]], Iterable[KeptFile]] = lambda _moved: ()

    def stretches(self) -> list[Stretch]:
        """Return its own sources, oldest first."""
        own = [file for file in self.files if file.identity and not file.identity.key.subagent]
        own.sort(key=lambda file: (file.seen.mtime_ns, file.path))
        return [Stretch(file.path, file.identity) for file in own if file.identity]


class SavingTerms(NamedTuple):
    """Under which conditions sessions are saved: the settings, the time, the day's number, whether secrets go."""

    policy: Policy
    now: str
    day: int
    redacts: bool


def save(subject: Subject, folder: RescueFolder, terms: SavingTerms, log: EventLog) -> SavingSlices:
    """Save a session in slices; return (as a generator does) what was saved, None if its project is excluded.

    Raises RescueError, SourceError, OSError; then nothing of it is left, and an older copy is unchanged.
    """
    _require_bounded(subject)
    with closing(FileSpool()) as spool:
        projects = _SeenProjects(terms.policy)
        metadata = yield from _write_transcript(subject, spool, projects, terms, log)
        if projects.is_left_out(metadata):
            return None
        place = place_of(folder.path, subject.key)
        folder.make(subject.key.agent, _outputs(terms.policy))
        folder.set_aside(subject.key)
        with closing(CopyWriter(place)) as writer:
            files = yield from _write_files(subject, writer, projects, terms)
            if projects.is_left_out(metadata):
                return None
            moved = yield from moved_folders(subject.moves, place, writer)
            kept = yield from keep_files([*subject.kept(moved)], place, writer)
            files += [one.file for one in kept.files if not one.is_earlier]
            earlier = tuple(one.file for one in kept.files if one.is_earlier)
            title, cwd = (metadata.title, metadata.cwd) if metadata else ("", "")
            due = _due(subject, projects.last)
            names = tuple(dict.fromkeys((*projects.names, *subject.projects)))
            about = About(subject.key, terms.now, due, terms.day, title, cwd, tuple(files), names, earlier)
            writer.write_transcript(spool.pieces())
            if not kept.is_whole:
                folder.keep_aside(subject.key)
            writer.finish(about)
    folder.note(about)
    return about


def _require_bounded(subject: Subject) -> None:
    if sum(file.seen.size for file in subject.files) > LARGEST or len(subject.files) > MOST_FILES:
        what = f"it has more than {LARGEST / 1024**3:.1f} GB, or more than {MOST_FILES:,} files"
        raise RescueError(what, hint="copy it yourself")


def _due(subject: Subject, last: str) -> str:
    """Return when the agent deletes a session whose last event has a time."""
    with suppress(ValueError, OverflowError):
        if subject.days is not None:
            end = datetime.fromisoformat(last).astimezone(UTC) + timedelta(days=subject.days)
            return min(subject.due, end.isoformat(timespec="seconds"))
    return subject.due


def _outputs(policy: Policy) -> list[Path]:
    return [policy.output_directory, *(Path(path).expanduser() for path in policy.settings.output.allowed_roots)]


class _SeenProjects:
    """Notes in which projects a session works, whether one of them is excluded, and why its rest cannot be read."""

    def __init__(self, policy: Policy) -> None:
        self.unreadable = ""
        self.last = ""  # when the last event was
        self._policy = policy
        self._seen: dict[str, bool] = {}
        self._may_be_excluded = False

    def pass_through(self, events: Replay) -> Iterator[tuple[Event, SessionMetadata]]:
        """Yield events up to the first one in an excluded project, or that cannot be read."""
        try:
            for event, metadata in events:
                self._note(metadata.cwd)
                if self.has_excluded:
                    return
                self.last = event.time or self.last
                yield event, metadata
        except SourceError as error:  # its files are saved all the same
            self.unreadable = error.what

    def note_named(self, data: bytes, file: NativeFile) -> None:
        """Note the directories that native records name: a session, or its sub-agent, may go from one to another.

        What is in a file beside them may be what a tool returned: a line of it counts only as a whole. If that
        names an excluded directory, the session is not saved, but no copy is deleted for it later.
        """
        for cwd in _named(data, self._seen, of_records=_has_lines(file)):
            if file.identity is not None:
                self._note(cwd)
            else:
                self._may_be_excluded = self._may_be_excluded or self._excludes(cwd)

    def _note(self, cwd: str) -> None:
        if cwd and cwd not in self._seen:
            self._seen[cwd] = self._excludes(cwd)

    def _excludes(self, cwd: str) -> bool:
        return self._policy.in_project(cwd).excludes(cwd)

    @property
    def names(self) -> tuple[str, ...]:
        """The directories of all of them."""
        return tuple(self._seen)

    @property
    def has_excluded(self) -> bool:
        """Whether one of them is excluded, or may be."""
        return self._may_be_excluded or any(self._seen.values())

    def is_left_out(self, metadata: SessionMetadata | None) -> bool:
        """Return whether the session is not saved: an excluded one, or one in which there is nothing.

        Raises RescueError if it is not known whether its project is excluded.
        """
        if self.has_excluded or (metadata is None and not self.unreadable):
            return True
        if not self._seen and (self._policy.settings.recording.exclude or self._may_exclude()):
            raise RescueError("its project is not known, and projects are excluded")
        return False

    def _may_exclude(self) -> bool:
        return self._policy.allowed is not None and may_exclude(self._policy.allowed)


def _named(data: bytes, known: Container[str], *, of_records: bool) -> list[str]:
    """Return the directories that records name themselves, if others than the known ones are named at all.

    They may also be named in what a tool was given or returned: a session does not work there for that.
    """
    new = {found for found in set(_CWD.findall(data)) if not _is_known(found, known)}
    lines = frame(b"%b\n" % data, 0) if new else []
    rows = (
        row
        for line in lines
        if not new.isdisjoint(_CWD.findall(line.data))
        for row in _rows_of(line, of_records=of_records)
    )
    return list(dict.fromkeys(cwd for row in rows if isinstance(cwd := row.get("cwd"), str) and cwd))


def _is_known(found: bytes, known: Container[str]) -> bool:
    """Return whether a string of JSON is known, or none that can be read."""
    with suppress(ValueError):
        return loads(found) in known
    return True


def _rows_of(line: Line, *, of_records: bool) -> list[dict[str, Any]]:
    """Return the objects of a line; of one with records, also those behind a torn one."""
    if of_records:
        return [record.value for record in decode(line) if record.value]
    with suppress(ValueError):
        return [row] if isinstance(row := loads(line.data), dict) else []
    return []


def _write_transcript(
    subject: Subject, spool: FileSpool, projects: _SeenProjects, terms: SavingTerms, log: EventLog
) -> Generator[None, None, SessionMetadata | None]:
    """Write the transcript; return the session's metadata, None if nothing is in it."""
    begun = look_ahead(projects.pass_through(replay(subject.key, subject.stretches(), log)))
    if begun is not None:
        for text in _rendered(begun, terms):
            spool.write(text)
            yield
    if projects.unreadable:
        spool.write(f"\nThe rest of this session cannot be read: {projects.unreadable}\n")
    return begun.metadata if begun else None


def _rendered(begun: Begun, terms: SavingTerms) -> Iterator[str]:
    """Yield the text of a transcript, with a mark that says what it is."""
    options = terms.policy.export_options(_FORMAT)
    options = replace(options, attachments="name", redact=options.redact or terms.redacts)
    printer = open_format(_FORMAT, for_export(options, _FORMAT, ""))
    texts = render_begun(begun, printer)
    yield next(texts) + printer.mark(Mark("rescued", terms.now))
    yield from texts
    yield printer.pause() + printer.end()


def _write_files(
    subject: Subject, writer: CopyWriter, projects: _SeenProjects, terms: SavingTerms
) -> Generator[None, None, list[SavedFile]]:
    """Write the native files, up to one that names an excluded project; return what was written."""
    saved: list[SavedFile] = []
    for file in subject.files:
        if projects.has_excluded:
            break
        with writer.member(file.name) as member:
            exact = yield from _write_file(file, member, projects, cleans=terms.redacts)
        saved.append(SavedFile(file.path, file.name, file.seen.size, file.seen.mtime_ns, exact))
    return saved


def _write_file(
    file: NativeFile, member: IO[bytes], projects: _SeenProjects, *, cleans: bool
) -> Generator[None, None, bool]:
    """Write one file as it was last seen; return whether nothing of it was changed. Raises RescueError, OSError."""
    exact = True
    with os.fdopen(open_regular(file.path), "rb") as source:
        for data in _units(source, file, cleans=cleans):
            projects.note_named(data, file)
            done = (yield from _cleaned(file, data)) if cleans else data
            exact &= done is data
            member.write(done)
            yield
        status = os.fstat(source.fileno())
    if (status.st_size, changed_ns(status)) != (file.seen.size, file.seen.mtime_ns):
        raise RescueError("it changed while it was saved", path=file.path, hint="katod tries again")
    return exact


def _units(source: IO[bytes], file: NativeFile, *, cleans: bool) -> Iterator[bytes]:
    """Yield the parts of a file that are written at a time: whole lines of records, which name their projects."""
    if _has_lines(file) or (cleans and file.seen.size > _WHOLE):
        yield from _lines(source)
    elif cleans:
        yield source.read()
    else:
        while data := source.read(_AT_ONCE):
            yield data


def _lines(source: IO[bytes]) -> Iterator[bytes]:
    """Yield whole lines, some at a time; one that is far too long is cut where a character ends."""
    held: list[bytes] = []
    while piece := source.read(_AT_ONCE):
        end = piece.rfind(b"\n") + 1
        held.append(piece[:end] if end else piece)
        if end:
            yield b"".join(held)
            held = [piece[end:]]
        elif len(held) * _AT_ONCE > _WHOLE:
            data = b"".join(held)
            end = _last_character_end(data)
            yield data[:end]
            held = [data[end:]]
    if rest := b"".join(held):
        yield rest


def _last_character_end(data: bytes) -> int:
    """Return where the last character of UTF-8 that is there as a whole may end."""
    lead = next((at for at in range(len(data) - 1, len(data) - 5, -1) if data[at] & 0xC0 != 0x80), len(data))
    return lead if lead < len(data) and data[lead] >= 0xC0 else len(data)


def _has_lines(file: NativeFile) -> bool:
    return file.path.endswith(".jsonl")


def _cleaned(file: NativeFile, data: bytes) -> Cleaning:
    """Return what is written of a part of a file: without secrets, the same object if there are none."""
    if not _has_lines(file):
        if len(data) > LONG:
            return (yield from (cleaned_long_line(data) if file.path.endswith(".json") else cleaned_long_text(data)))
        return cleaned_line(data) if file.path.endswith(".json") else cleaned_text(data)
    done: list[bytes] = []
    for line in data.splitlines(keepends=True):
        cleaned = (yield from cleaned_long_line(line)) if len(line) > LONG else cleaned_line(line)
        done.append(cleaned)
    joined = b"".join(done)
    return data if joined == data else joined
