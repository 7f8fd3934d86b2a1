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
from katod.archive.machine import Machine, known_id
from katod.archive.manifest import INDEX_SLOT, MANIFEST, WHOLE, Entry, Manifest, RecordedParts
from katod.discover.found import FoundSession
from katod.errors import KatodError, OutputUnreadable
from katod.formatspec import FORMATS, MARKDOWN
from katod.model import Identity, SessionKey, Stat
from katod.text import is_plain_name
from katod.write.output import OutputPath
from katod.write.reading import open_plain

JSONL: Final = FORMATS["jsonl"].name
_HTML: Final = FORMATS["html"].name
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
            path = self.root / entry.name
            self.files = [(str(path), Identity(self.key), Stat(entry.size, entry.mtime_ns, 0, 0))]

    @property
    def exported(self) -> Callable[[], BufferedReader] | None:
        """What opens its events, if they can be read."""
        return self.open if self.has_events else None

    @property
    def changed_ns(self) -> int:
        """When the last of its files was written (ns)."""
        return max(entry.mtime_ns for entry in self._entries.values())

    @property
    def has_events(self) -> bool:
        """Whether its events can be read; else there is only its text."""
        return JSONL in self._entries

    @property
    def cwd(self) -> str:
        """The directory in which the agent worked, on its machine."""
        return next((entry.cwd for entry in self._entries.values() if entry.cwd), "")

    @property
    def path(self) -> Path:
        """The file that shows it best: with its events, else as text."""
        return self.root / self._best.name

    @property
    def form(self) -> str:
        """The format of that file."""
        return self._best.slot[1]

    @property
    def file_size(self) -> int:
        """The size of that file, in bytes."""
        return self._best.size

    @property
    def recorded(self) -> RecordedParts:
        """Which parts of its events were recorded; without events, the whole if all of it was."""
        recorded = self._best.recorded
        return recorded if self.has_events or recorded == WHOLE else ()

    def open(self) -> BufferedReader:
        """Return that file, open for reading. Raises OutputUnreadable."""
        return open_plain(OutputPath(self.root, self._best.parts))

    @property
    def _best(self) -> Entry:
        order = (JSONL, MARKDOWN, _HTML, *self._entries)
        return next(self._entries[form] for form in order if form in self._entries)


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
            if entry.name and slot != INDEX_SLOT and slot[0].agent in AGENTS:
                part._session(slot[0]).add(entry)
        return part

    @property
    def name(self) -> str:
        """What people call the machine: a folder that names none is called by its own name."""
        return self.machine.name or self.root.name

    def _session(self, key: SessionKey) -> ArchivedSession:
        if key not in self.sessions:
            self.sessions[key] = ArchivedSession(key, self.name, self.root)
        return self.sessions[key]


class SharedFolders:
    """The parts in some folders. What cannot be read is noted in `problems`, by its path.

    `own` is the id of this machine, whose part is one of them, too: it may have what an agent has deleted here.
    """

    def __init__(self, folders: Iterable[Path], own: str) -> None:
        self.problems: dict[str, str] = {}
        self._own = own
        self.parts = [part for folder in folders for part in self._parts(folder)]
        self._note_twins()

    @property
    def others(self) -> list[SharedPart]:
        """The parts of other machines."""
        return [part for part in self.parts if not self._own or part.machine.id != self._own]

    def sessions(self, without: Container[SessionKey] = (), *, others: bool = False) -> list[ArchivedSession]:
        """Return the sessions of all parts, or of `others` alone, each once, as it was written last; `without` some."""
        newest: dict[SessionKey, ArchivedSession] = {}
        for part in self.others if others else self.parts:
            for key, found in part.sessions.items():
                if key not in without and (key not in newest or newest[key].changed_ns < found.changed_ns):
                    newest[key] = found
        return list(newest.values())

    def _parts(self, folder: Path) -> Iterator[SharedPart]:
        try:
            roots = list(_roots(folder))
        except OSError as error:
            self.problems[str(folder)] = f"cannot be read: {error.strerror}"
            return
        for root in roots:
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
        """Note two machines that have one name: their sessions are read, but nobody can tell which is which."""
        ids: dict[str, str] = {}
        for part in self.parts:
            machine = part.machine
            if machine.name and ids.setdefault(machine.name, machine.id) != machine.id:
                self.problems[str(part.root)] = f"is of another machine that is also called {machine.name}"


def shared_folders(folders: Iterable[str], state: Path) -> SharedFolders:
    """Return the parts in the folders of the configuration."""
    paths = [Path(os.path.realpath(os.path.expanduser(folder))) for folder in folders]
    return SharedFolders(paths, known_id(state) if paths else "")


def _roots(folder: Path) -> Iterator[Path]:
    """Yield a folder and those right below it that have a list of exports. Raises OSError."""
    with os.scandir(folder) as entries:
        found = [entry.name for entry in entries if is_plain_name(entry.name) and entry.is_dir(follow_symlinks=False)]
    yield from filter(_has_list, (folder, *(folder / name for name in sorted(found)[:_MOST])))


def _has_list(folder: Path) -> bool:
    return os.path.lexists(folder / MANIFEST)
