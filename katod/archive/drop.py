"""Removes sessions from an export folder: their files, their entries in the manifest, and empty folders."""

import os
import re
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from katod.agents import AGENTS
from katod.archive.folder import ExportFolder, lists_aside, opened
from katod.archive.folders import known_folders
from katod.archive.indexfile import update_index
from katod.archive.manifest import BEGIN, INDEX, INDEX_SLOT, MANIFEST, Entry, Manifest
from katod.errors import KatodError, OutputError, TargetRefused
from katod.formatspec import FORMATS, MARKDOWN, split_name
from katod.model import SessionKey
from katod.record.ownership import is_of, names_its_session, parent_in
from katod.smallfile import read_small
from katod.write.output import OutputPath
from katod.write.remove import remove_empty, remove_folder, remove_output
from katod.write.safe import open_parent
from katod.write.whole import digest_at, ends_at, head_at

Wanted = Callable[[SessionKey], bool]
_LARGEST: Final = 256 * 1024 * 1024
NO_COPY: Final = "it is not a copy of this session that katod wrote"
_ASSETS: Final = ".assets"
_AGENTS: Final = ".agents"
_ID: Final = re.compile(r"[0-9A-Fa-f]{8}[0-9A-Fa-f-]*")  # a UUID or a hash


class ListedFile(NamedTuple):
    """A file that the list of a folder names as the copy of a session."""

    root: Path
    name: str
    form: str
    key: SessionKey
    digests: Sequence[str]  # of the contents that katod gave it

    @classmethod
    def of(cls, root: Path, entry: Entry) -> "list[ListedFile]":
        """Return the files of an entry: the present one first, then older ones."""
        now = [(entry.name, entry.digest, entry.before)] if entry.name else []
        key, form = entry.slot
        return [cls(root, name, form, key, digests) for name, *digests in (*now, *entry.earlier)]

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.root / self.name

    @property
    def place(self) -> OutputPath:
        """Where it is, below the folder."""
        return OutputPath(self.root, tuple(self.name.split("/")))

    @property
    def assets(self) -> OutputPath | None:
        """The folder of its pictures; None in a format that saves none beside it."""
        return self._beside(_ASSETS) if self.form == MARKDOWN else None

    @property
    def agents(self) -> OutputPath:
        """The folder of its sub-agents."""
        return self._beside(_AGENTS)

    def _beside(self, suffix: str) -> OutputPath:
        *above, name = self.place.parts
        return OutputPath(self.root, (*above, f"{split_name(name)[0]}{suffix}"))

    def why_it_stays(self, others: Container[str]) -> str:
        """Return why it cannot be deleted, an empty string if it can. Raises OSError if it cannot be read.

        The list may come from elsewhere, and name any file in the folder: only what begins as katod begins one and says
        that it is of this session is its copy, whatever its person changed below that. Of a format that does not say
        it, what has the content that was noted is; not if it is among the `others`, the names that the list has for
        what is kept.
        """
        parts = self.place.parts
        try:
            head, tail = ends_at(self.root, parts)
            if names_its_session(self.form, head):
                is_its_own = is_of(self.form, self.key, head, tail)
            else:
                is_its_own = self.name not in others and digest_at(self.root, parts) in self.digests
        except TargetRefused as error:
            return error.what
        is_katods = is_its_own and self.form in FORMATS and FORMATS[self.form].is_printed(head)
        return "" if is_katods else NO_COPY

    def is_there(self, others: Container[str], *, may_be_newer: bool) -> bool:
        """Return whether its copy is there, or may be. Raises OSError if that cannot be read.

        It may be newer than what the list says of it: then any file that katod printed may be the copy, in a format
        that does not say of which session one is.
        """
        if self.name == INDEX:
            return os.path.lexists(self.path)
        try:
            head, _ = ends_at(self.root, self.place.parts)
        except TargetRefused:
            return False
        if names_its_session(self.form, head) or not may_be_newer:
            return not self.why_it_stays(others)
        return self.name not in others and self.form in FORMATS and FORMATS[self.form].is_printed(head)

    def parent(self, others: Container[str]) -> str:
        """Return the id of the session from which the copy says that its own was started, empty if it says none."""
        try:
            is_copy = not self.why_it_stays(others)
            return parent_in(self.form, head_at(self.root, self.place.parts)) if is_copy else ""
        except (OSError, TargetRefused):
            return ""


def listed_copies(state: Path) -> dict[Path, list[Entry]]:
    """Return what the lists in all known folders say of sessions. Nothing is changed."""
    return {root: copies_in(root, lambda key: key.agent in AGENTS) for root in known_folders(state)}


def copies_in(root: Path, wanted: Wanted) -> list[Entry]:
    """Return what the list in a folder says of some sessions, nothing if it cannot be read. Nothing is changed."""
    try:
        manifest = Manifest.read(read_small(root / MANIFEST, _LARGEST, own=True))
    except (OSError, KatodError):
        return []
    return _of(manifest, wanted)


def is_damaged(root: Path) -> bool:
    """Return whether the list in a folder is missing, damaged or cannot be read. Nothing is changed."""
    try:
        return Manifest.read(read_small(root / MANIFEST, _LARGEST, own=True)).damaged > 0
    except (OSError, KatodError):
        return True


def has_lost_lines(root: Path) -> bool:
    """Return whether a list in a folder is or was damaged, so that it may not name all files. Nothing is changed."""
    return bool(lists_aside(root)) or is_damaged(root)


def left_in(folder: ExportFolder) -> Callable[[Entry], Entry | None]:
    """Return what says of an entry, which the list in a folder does not have, what is left of it; None if nothing is.

    That are the files that are there and are its copies, or cannot be read. If lines of the list were lost, one may
    have been about a newer copy.
    """
    others, has_lost = folder.manifest.names(), bool(lists_aside(folder.root))  # a damaged list is one of those by now

    def left(entry: Entry) -> Entry | None:
        files = ListedFile.of(folder.root, entry)
        return _with_names(entry, {file.name for file in files if _is_there(file, others, may_be_newer=has_lost)})

    return left


def _is_there(file: ListedFile, others: Container[str], *, may_be_newer: bool) -> bool:
    try:
        return file.is_there(others, may_be_newer=may_be_newer)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _with_names(entry: Entry, names: Container[str]) -> Entry | None:
    """Return an entry with only those of its files that have these names, None without any."""
    earlier = tuple(file for file in entry.earlier if file[0] in names)
    if entry.name in names:
        return entry._replace(earlier=earlier)
    return Entry(entry.slot, cwd=entry.cwd, earlier=earlier, parent=entry.parent) if earlier else None


def names_of_others(entries: Iterable[Entry], wanted: Wanted) -> set[str]:
    """Return the names that entries have for files of other sessions, and that of the index."""
    return {INDEX, *(name for entry in entries if not wanted(entry.slot[0]) for name in entry.names)}


def _of(manifest: Manifest, wanted: Wanted) -> list[Entry]:
    return [entry for (key, _), entry in manifest.entries.items() if wanted(key)]


def drop(root: Path, wanted: Wanted, ids: Collection[str] = ()) -> list[Path]:
    """Delete the files of some sessions, and all that the list says of them; return the files that stay.

    The draft of an export that was interrupted goes, too: nothing says of which session it is. So do the lines that
    name the sessions, or have one of their `ids`, in damaged lists that were set aside.

    A file that is no copy of them stays, and so does an index that names them if it was changed or cannot be
    written. What cannot be deleted now stays in the list as well, so that it can be tried again. Raises AlreadyRunning,
    OutputError or OSError.
    """
    with opened(root) as folder:
        entries = _of(folder.manifest, wanted)
        files = [file for entry in entries for file in ListedFile.of(root, entry)]
        others = names_of_others(folder.manifest.entries.values(), wanted)
        there = _still_there(files)
        failed = {file.name for file in files if not _delete(file, others)}
        gone = [entry for entry in entries if failed.isdisjoint(entry.names)]
        projects = folder.drop(gone) if gone else []
        left = [file.path for file in _still_there(files)]
        left += _delete_beside(files, there, folder)
        for project in projects:
            with suppress(OutputError):
                remove_empty(OutputPath(root, (project,)))
        folder.compact()  # first: whatever becomes of the index, the list says no more of them
        left += _cleaned_aside(folder, wanted, ids)
        left += _unlisted(folder, gone)
        with suppress(KatodError, OSError):  # what is superseded now is only about the index
            folder.compact()
    return left


def _cleaned_aside(folder: ExportFolder, wanted: Wanted, ids: Collection[str]) -> list[Path]:
    """Take sessions out of damaged lists that were set aside; return those that stay as they are."""
    left = []
    for path in lists_aside(folder.root):
        try:
            data = read_small(path, _LARGEST, own=True)
            kept = _without(data, folder.manifest, wanted, ids)
            if kept == data:
                continue
            if all(not line or line.startswith(BEGIN) for line in kept.split(b"\n")):
                remove_output(OutputPath(folder.root, (path.name,)))
            else:
                folder.write_aside(path.name, kept)
        except (KatodError, OSError):
            left.append(path)
    return left


def _without(data: bytes, listed: Manifest, wanted: Wanted, ids: Collection[str]) -> bytes:
    """Return a damaged list without the lines that name some sessions, their files or their projects.

    A project stays if `listed`, which has all that could be read of it, has it as well. Raises KatodError for a list of
    a later version.
    """
    there = Manifest.read(data)
    gone, places = _of(there, wanted), {entry.cwd for entry in listed.entries.values()} | listed.projects.keys()
    names = {name for entry in gone for name in (*entry.names, entry.slot[0].subagent or entry.slot[0].id)}
    names |= ({entry.cwd for entry in gone} | there.projects.keys()) - places
    words = [_in_line(name) for name in filter(None, names.union(ids))]
    named = re.compile(b"|".join(words) or rb"(?!)")
    return b"\n".join(line for line in data.split(b"\n") if not named.search(line))


def _in_line(name: str) -> bytes:
    """Return how a line has a name: a whole string, or anywhere if it is an id that is in no other name by chance."""
    if _ID.fullmatch(name):
        return rb"(?<![0-9A-Za-z])%b(?![0-9A-Za-z])" % name.encode()
    return re.escape(orjson.dumps(name.encode("utf-8", "replace").decode()))


def _unlisted(folder: ExportFolder, entries: list[Entry]) -> list[Path]:
    """Take transcripts out of the index; return it if it stays as it is."""
    is_listed = any(entry.name and entry.slot[1] == INDEX_SLOT[1] for entry in entries)
    if not is_listed or INDEX_SLOT not in folder.manifest.entries:
        return []
    try:
        stays = update_index(folder) == "left alone"
    except (KatodError, OSError):
        stays = True
    return [folder.root / INDEX] if stays else []


def _delete(file: ListedFile, others: Container[str]) -> bool:
    """Delete a file if it is katod's; return whether there is nothing to try again: only a failure of the disk is."""
    try:
        if not file.why_it_stays(others):
            remove_output(file.place)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    except OutputError as error:
        return not isinstance(error.__cause__, OSError)
    return True


def _still_there(files: list[ListedFile]) -> list[ListedFile]:
    return [file for file in files if os.path.lexists(file.path)]


def _delete_beside(files: list[ListedFile], there: Container[ListedFile], folder: ExportFolder) -> list[Path]:
    """Delete the pictures beside files that are gone, and folders that are empty then; return what stays of pictures.

    Those beside a file that stays, or that another one in the list has, stay. So do those beside a name of which no
    file was `there` before, if another file is called like it: they may be of that one.
    """
    used = _used_assets(files, there, folder)
    assets = {file.assets for file in files if file.assets}
    for place in assets - used:
        with suppress(OutputError):
            remove_folder(place)
    for place in sorted({file.agents for file in files}, reverse=True):  # those within others first
        with suppress(OutputError):
            remove_empty(place)
    return sorted(place.path for place in assets & used if os.path.lexists(place.path))


def _used_assets(files: list[ListedFile], there: Container[ListedFile], folder: ExportFolder) -> set[OutputPath | None]:
    others = (file for entry in folder.manifest.entries.values() for file in ListedFile.of(folder.root, entry))
    perhaps = (file for file in files if file not in there and _has_namesake(file))
    return {file.assets for file in (*_still_there(files), *others, *perhaps)}


def _has_namesake(file: ListedFile) -> bool:
    """Return whether there may be another file beside a name that differs only after its stem."""
    *_, name = parts = file.place.parts
    stem = split_name(name)[0]
    try:
        with open_parent(file.root, parts, make=False) as parent:
            names = os.listdir(parent)
    except (OSError, TargetRefused):
        return True
    return any(split_name(other)[0] == stem for other in {*names} - {name, f"{stem}{_ASSETS}", f"{stem}{_AGENTS}"})
