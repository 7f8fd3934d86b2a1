"""The index of the HTML transcripts in a folder of exports, `index.html`: written again whenever they have changed.

In the list of exports it is an entry without a session, so that it is replaced as safely as they are.
"""

from collections import defaultdict
from hashlib import blake2b
from typing import Final

from katod.archive.folder import ExportFolder
from katod.archive.manifest import INDEX, INDEX_SLOT, Entry
from katod.archive.plan import FileLook, Outcome
from katod.errors import KatodError
from katod.formats.transcript.exportindex import VERSION, IndexRow, index_page, row_of
from katod.formatspec import FORMATS
from katod.write.output import OutputPath
from katod.write.remove import remove_output
from katod.write.whole import FileStamp

_FORM: Final = INDEX_SLOT[1]
Present = list[tuple[Entry, FileStamp]]


def update_index(folder: ExportFolder) -> Outcome:
    """Bring the index up to date with the transcripts that are there; without any, there is none.

    A file of this name that katod did not write, or that was changed since, is left alone. Raises KatodError or
    OSError.
    """
    present = _present(folder)
    entry, there = folder.manifest.entries.get(INDEX_SLOT), folder.stamp(INDEX)
    look = folder.look(entry) if entry else FileLook("gone", there)
    entry = folder.manifest.entries.get(INDEX_SLOT)  # which the look may have corrected
    if look.state == "edited":
        return "left alone"
    made = _made(present)
    if entry is not None and look.state == "same" and entry.made == made:
        return "unchanged"
    if not present:
        return _removed(folder, entry, look)
    data, is_whole = index_of(folder, present)
    return _written(folder, made if is_whole else "", data, entry, look)


def index_of(folder: ExportFolder, present: Present) -> tuple[bytes, bool]:
    """Return the index of some transcripts; those of sub-agents are below their parents'.

    A transcript that cannot be read is listed by its name; return also whether there is none of these.
    """
    names = {entry.slot[0]: entry.name for entry, _ in present}
    rows: list[IndexRow] = []
    parts: dict[str, list[IndexRow]] = defaultdict(list)
    is_whole = True
    for entry, _ in present:
        key = entry.slot[0]
        parent = names.get(key._replace(subagent="")) if key.subagent else None
        head = _head(folder, entry)
        is_whole = is_whole and head is not None
        (rows if parent is None else parts[parent]).append(row_of(entry.name, head or ""))
    return index_page(rows, parts).encode("utf-8", "replace"), is_whole


def _head(folder: ExportFolder, entry: Entry) -> str | None:
    """Return the beginning of a transcript, None if it cannot be read."""
    try:
        return folder.head(entry.parts).decode("utf-8", "replace")
    except KatodError:
        return None


def _present(folder: ExportFolder) -> Present:
    """Return the transcripts in HTML that are there, in the order of their names."""
    found = (entry for slot, entry in folder.manifest.entries.items() if slot[1] == _FORM and slot != INDEX_SLOT)
    stamped = ((entry, folder.stamp(entry.name)) for entry in found if entry.name)
    return sorted(((entry, stamp) for entry, stamp in stamped if stamp), key=lambda one: one[0].name)


def _made(present: Present) -> str:
    """Return a short hash of what determines an index: no file has to be opened to see that nothing has changed."""
    what = repr((VERSION, FORMATS[_FORM].version, [(entry.name, *stamp) for entry, stamp in present]))
    return blake2b(what.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _written(folder: ExportFolder, made: str, data: bytes, entry: Entry | None, look: FileLook) -> Outcome:
    """Write an index, unless what is there is the same, or is not katod's."""
    there = look.stamp
    present = folder.digest((INDEX,)) if there is not None else ""
    with folder.draft() as draft:
        draft.write(data)
        if there is not None and present == draft.digest:
            folder.note(Entry(INDEX_SLOT, made, [], INDEX, *there, present))
            return "unchanged"
        if there is not None and (entry is None or present not in (entry.digest, entry.before)):
            return "left alone"
        renewed = Entry(INDEX_SLOT, made, [], INDEX, *draft.complete(), draft.digest, before=present)
        folder.publish(draft, renewed, there)
    return "updated" if there else "wrote"


def _removed(folder: ExportFolder, entry: Entry | None, look: FileLook) -> Outcome:
    """Remove the index of nothing, if it is katod's."""
    if entry is None:
        return "unchanged"
    if look.stamp is None:
        folder.drop([entry])
        return "unchanged"
    if folder.digest((INDEX,)) not in (entry.digest, entry.before):
        return "left alone"
    remove_output(OutputPath(folder.root, (INDEX,)))
    folder.drop([entry])
    return "removed"
