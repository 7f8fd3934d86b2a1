"""Removes sessions from an export folder: their files, their entries in the manifest, and empty folders."""

import os
from collections.abc import Callable, Container
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod.archive.folder import ExportFolder, opened
from katod.archive.indexfile import update_index
from katod.archive.manifest import INDEX, INDEX_SLOT, MANIFEST, Entry, Manifest, RecordedParts
from katod.errors import KatodError, OutputError
from katod.formatspec import split_name
from katod.model import SessionKey
from katod.smallfile import read_small
from katod.write.output import OutputPath
from katod.write.remove import remove_empty, remove_folder, remove_output

Wanted = Callable[[SessionKey], bool]
_LARGEST: Final = 256 * 1024 * 1024


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


def _of(manifest: Manifest, wanted: Wanted) -> list[Entry]:
    return [entry for (key, _), entry in manifest.entries.items() if wanted(key)]


def drop(root: Path, wanted: Wanted) -> list[Path]:
    """Delete the files of some sessions, and all that the list says of them; return the files that stay.

    A file goes also if it was changed since. One that cannot be deleted stays, and so does an index that names them if
    it was changed or cannot be written. Raises AlreadyRunning, OutputError or OSError.
    """
    left: list[Path] = []
    with opened(root) as folder:
        entries = _of(folder.manifest, wanted)
        for entry in entries:
            left += _delete(root, entry)
        for project in folder.drop(entries):
            with suppress(OutputError):
                remove_empty(OutputPath(root, (project,)))
        folder.compact()  # first: whatever becomes of the index, the list says no more of them
        left += _unlisted(folder, entries)
        with suppress(KatodError, OSError):  # what is superseded now is only about the index
            folder.compact()
    return left


def unmark(folder: ExportFolder, recorded: Container[SessionKey]) -> None:
    """Mark nothing as recorded any more but of these sessions: others were forgotten, or their transcripts are gone."""
    for entry in list(folder.manifest.entries.values()):
        if entry.recorded.parts and entry.slot[0] not in recorded:
            folder.note(entry._replace(recorded=RecordedParts()))


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


def _delete(root: Path, entry: Entry) -> list[Path]:
    """Delete the file of an entry, and the folders beside it; return the file if it stays."""
    if not entry.name:
        return []
    *above, name = entry.parts
    stem, _ = split_name(name)
    with suppress(OutputError):
        remove_output(OutputPath(root, entry.parts))
    for folder in (f"{stem}.assets", f"{stem}.agents"):
        with suppress(OutputError):
            remove_folder(OutputPath(root, (*above, folder)))
    path = root / entry.name
    return [path] if os.path.lexists(path) else []
