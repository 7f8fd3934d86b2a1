"""What other machines put into folders that they share: the sessions of their parts, read and never changed.

A part is a folder with a list of exports. It comes from elsewhere, so it is opened as outputs are: no link is followed,
and only regular files of this user are read, below the folder. What stands in it is the text of others.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.archive.folders import known_folders
from katod.archive.machine import Machine, known_id
from katod.archive.manifest import INDEX_SLOT, MANIFEST, Entry, Manifest, RecordedParts
from katod.discover.found import FoundSession
from katod.errors import KatodError, OutputUnreadable
from katod.formatspec import FORMATS, MARKDOWN
from katod.model import Identity, SessionKey, Stat, changed_ns
from katod.record.spawned import with_started
from katod.write.output import OutputPath
from katod.write.reading import open_plain

JSONL: Final = FORMATS["jsonl"].name
_LARGEST: Final = 256 * 1024 * 1024  # bytes of a list
_MOST: Final = 1000  # machines in a folder


class ArchivedSession(FoundSession):
    """A session as a part has it: one file of each format. It has `files` only if its events can be read."""

    def __init__(self, key: SessionKey, machine: str, root: Path) -> None:
        super().__init__(key)
        self.machine = machine
        self.root = root
        self._entries: dict[str, Entry] = {}

    def add(self, entry: Entry) -> None:
        """Take up what the list says of one of its files."""
        form = entry.slot[1]
        self._entries[form] = entry
        if form == JSONL:
            path = str(self.root / entry.name)
            self.files = [(path, Identity(self.key), _stat(path))]

    @property
    def exported(self) -> Callable[[], BufferedReader] | None:
        """What opens its events, if they can be read."""
        return self.open_events if self.has_events else None

    @property
    def changed_ns(self) -> int:
        """When it changed on its machine, as far as that was exported (ns)."""
        return max(map(_changed, self._entries.values())) or self.exported_ns

    @property
    def exported_ns(self) -> int:
        """When the last of its files was written (ns)."""
        return max(entry.mtime_ns for entry in self._entries.values())

    @property
    def completeness(self) -> tuple[int, int, int]:
        """What is greater the more a machine has of a session that another one has, too."""
        return self.changed_ns, max(entry.said_length for entry in self._entries.values()), self.exported_ns

    @property
    def has_events(self) -> bool:
        """Whether its events can be read; else there is only its text."""
        return JSONL in self._entries

    @property
    def cwd(self) -> str:
        """The directory in which the agent worked, on its machine."""
        return next((entry.cwd for entry in self._entries.values() if entry.cwd), "")

    @property
    def parent(self) -> str:
        """The id of the session whose agent started it, if it has an id of its own."""
        return next((entry.parent for entry in self._entries.values() if entry.parent), "")

    @property
    def recorded(self) -> RecordedParts:
        """Which parts of its events were recorded."""
        return self._entries[JSONL].recorded if self.has_events else RecordedParts()

    @property
    def events_path(self) -> Path:
        """The file with its events. Only of a session that has events."""
        return self.root / self._entries[JSONL].name

    @property
    def digest(self) -> str:
        """The hash of that file, as its list says."""
        return self._entries[JSONL].digest

    def open_events(self) -> BufferedReader:
        """Return that file, open for reading. Raises OutputUnreadable."""
        return open_plain(OutputPath(self.root, self._entries[JSONL].parts))

    @property
    def path(self) -> Path:
        """The file that shows it best: its events, unless another one has more of it."""
        return self.root / self._best.name

    @property
    def form(self) -> str:
        """The format of the file that shows it best."""
        return self._best.slot[1]

    def open(self) -> BufferedReader:
        """Return the file that shows it best, open for reading. Raises OutputUnreadable."""
        return open_plain(OutputPath(self.root, self._best.parts))

    @property
    def _best(self) -> Entry:
        newest = max(self._entries.values(), key=lambda entry: entry.mtime_ns)
        as_new = {form: entry for form, entry in self._entries.items() if entry.sources == newest.sources}
        return next((as_new[form] for form in (JSONL, MARKDOWN) if form in as_new), newest)


def _changed(entry: Entry) -> int:
    """Return when a session changed that was exported; 0 if the list does not say that."""
    times = [source[2] for source in entry.sources if isinstance(source, list) and len(source) > 2]
    return max((time for time in times if isinstance(time, int)), default=0)


def _stat(path: str) -> Stat:
    """Return what changes with a file; of one that is not there, nothing."""
    try:
        status = os.lstat(path)
    except OSError:
        return Stat(0, 0, 0, 0)
    return Stat(status.st_size, changed_ns(status), 0, 0)


class SharedPart:
    """One machine's part of a shared folder."""

    def __init__(self, root: Path, machine: Machine, damaged: int) -> None:
        self.root = root
        self.machine = machine
        self.damaged = damaged  # lines of its list
        self.sessions: dict[SessionKey, ArchivedSession] = {}

    @classmethod
    def read(cls, root: Path) -> "SharedPart":
        """Return the part in a folder. Raises OutputUnreadable, KatodError if its list cannot be read."""
        place = OutputPath(root, (MANIFEST,))
        with open_plain(place) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                raise OutputUnreadable("is too large for a list of exports", path=place.path)
            manifest = Manifest.read(file.read(_LARGEST))
        part = cls(root, manifest.machine, manifest.damaged)
        for slot, entry in manifest.entries.items():
            if entry.name and slot != INDEX_SLOT and slot[0].agent in AGENTS and slot[1] in FORMATS:
                part._take(slot[0], entry)
        return part

    @property
    def name(self) -> str:
        """What people call the machine: a folder that names none is called by its own name."""
        return self.machine.name or self.root.name

    def forgotten(self, is_forgotten: Callable[[SessionKey], bool]) -> set[SessionKey]:
        """Return the sessions that were forgotten, and those that their agents started, as far as its list says so."""
        parents = {key: found.parent for key, found in self.sessions.items()}
        starters = (SessionKey(key.agent, parent) for key, parent in parents.items() if parent)
        return with_started(filter(is_forgotten, {*parents, *starters}), parents)

    def _take(self, key: SessionKey, entry: Entry) -> None:
        if not str(key).isprintable():
            self.damaged += 1
            return
        if key not in self.sessions:
            self.sessions[key] = ArchivedSession(key, self.name, self.root)
        self.sessions[key].add(entry)


class SharedFolders:
    """The parts in some folders. What cannot be read is noted in `problems`, by its path."""

    def __init__(self, folders: Iterable[Path], is_own: Callable[["SharedPart"], bool] = lambda _: False) -> None:
        """`is_own` says whether a part is this machine's: it may have what an agent has deleted here."""
        self.problems: dict[str, str] = {}
        self.parts = [part for folder in folders for part in self._parts(folder)]
        self.others = [part for part in self.parts if not is_own(part)]
        self._note_twins()

    def sessions(
        self,
        without: Container[SessionKey] = (),
        *,
        others: bool = False,
        recorded: bool = False,
        is_forgotten: Callable[[SessionKey], bool] = lambda _: False,
    ) -> list[ArchivedSession]:
        """Return the sessions of all parts, or of `others` alone, each once, as it changed last; `without` some.

        With `recorded`, only those of which something was recorded. What was forgotten here is not among them, nor what
        its agent started.
        """
        newest: dict[SessionKey, ArchivedSession] = {}
        for part in self.others if others else self.parts:
            forgotten = part.forgotten(is_forgotten)
            for key, found in part.sessions.items():
                is_out = key in without or key in forgotten or (recorded and not found.recorded.parts)
                if not is_out and (key not in newest or newest[key].completeness < found.completeness):
                    newest[key] = found
        return list(newest.values())

    def _parts(self, folder: Path) -> Iterator[SharedPart]:
        try:
            roots = list(candidates(folder))
        except OSError as error:
            self.problems[str(folder)] = f"cannot be read: {error.strerror}"
            return
        if len(roots) > _MOST:
            self.problems[str(folder)] = f"has more than {_MOST:,} machines: the others are not read"
        for root in roots[:_MOST]:
            try:
                part = SharedPart.read(root)
            except KatodError as error:
                self.problems[str(root / MANIFEST)] = error.what
            else:
                self._note_damage(part)
                if part.sessions or part.machine.name:  # else nothing was ever exported to it
                    yield part

    def _note_damage(self, part: SharedPart) -> None:
        if part.damaged:
            lines = "1 line of the list is" if part.damaged == 1 else f"{part.damaged:,} lines of the list are"
            self.problems[str(part.root / MANIFEST)] = f"{lines} damaged: these sessions are not read"

    def _note_twins(self) -> None:
        """Note two machines that have one name: their sessions are read, but people cannot tell which is which."""
        ids: dict[str, str] = {}
        for part in self.parts:
            machine = part.machine
            if machine.name and ids.setdefault(machine.name, machine.id) != machine.id:
                self.problems[str(part.root)] = f"is of another machine that is also called {machine.name}"


def shared_folders(folders: Iterable[str], state: Path) -> SharedFolders:
    """Return the parts in the folders of the configuration."""
    paths = [real_path(folder) for folder in folders]
    own, written = known_id(state) if paths else "", known_folders(state) if paths else []
    return SharedFolders(paths, lambda part: part.machine.id == own if part.machine.id else part.root in written)


def real_path(folder: str) -> Path:
    """Return where a folder of the configuration is."""
    return Path(os.path.realpath(os.path.expanduser(folder)))


def candidates(folder: Path) -> Iterator[Path]:
    """Yield a folder and those right below it that have a list of exports. Raises OSError."""
    with os.scandir(folder) as entries:
        found = [entry.name for entry in entries if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)]
    below = (folder / name for name in sorted(found) if name.isprintable())
    yield from (root for root in (folder, *below) if os.path.lexists(root / MANIFEST))
