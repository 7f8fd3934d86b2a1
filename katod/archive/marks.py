"""Removes marks: what a list of exports says was recorded, and the user has taken back since."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod.archive.excluded import Exclusion
from katod.archive.folder import ExportFolder
from katod.archive.folders import known_folders
from katod.archive.machine import known_id
from katod.archive.manifest import MANIFEST, Entry, Manifest, RecordedParts
from katod.archive.parts import candidates
from katod.archive.recordedtally import name_of
from katod.errors import KatodError
from katod.model import SessionKey
from katod.record.policy import Policy
from katod.record.untouched import UntouchedOutputs
from katod.smallfile import read_small
from katod.store.rows import OutputRow

_LARGEST: Final = 256 * 1024 * 1024
_MARK: Final = b'"recorded":'
Holds = Callable[[Entry], bool]


def holding(outputs: Iterable[tuple[SessionKey, OutputRow]]) -> Holds:
    """Return what says whether a mark holds, given the transcripts that nobody has changed, as far as is known.

    Each of those that it is of has to be among them: what is gone from one may be what it marks. A list that an earlier
    version of katod wrote does not say which they are: then the session needs one, until it is read again.
    """
    there: dict[SessionKey, set[str]] = defaultdict(set)
    for key, output in outputs:
        there[key].add(name_of(output))
    return lambda entry: bool(there[entry.slot[0]]) and there[entry.slot[0]].issuperset(entry.recorded.of)


def noted(outputs: UntouchedOutputs, manifest: Manifest, form: str) -> UntouchedOutputs:
    """Return the transcripts that make marks, and of those that cannot be read now the ones that made some.

    These add no marks, as a `RecordedTally` knows: they may have been changed before they became unreadable.
    """
    return outputs._replace(unknown=[pair for pair in outputs.unknown if _has_marked(manifest, form, *pair)])


def _has_marked(manifest: Manifest, form: str, key: SessionKey, row: OutputRow) -> bool:
    entry = manifest.entries.get((key, form))
    return entry is not None and name_of(row) in entry.recorded.of


def unmark(folder: ExportFolder, holds: Holds, policy: Policy | None = None) -> None:
    """Take the marks away that do not hold, and with a policy those of excluded projects. Raises OSError.

    Their sessions are read again, if they are there.
    """
    for entry in list(untrue(folder.manifest, holds, policy)):
        folder.note(entry._replace(recorded=RecordedParts(), made=""))


def has_untrue_marks(data: bytes, holds: Callable[[], Holds], policy: Policy) -> bool:
    """Return whether `unmark` would take a mark away from a list with this content. Raises KatodError.

    What says whether marks hold is asked for only if there are any.
    """
    return _MARK in data and any(untrue(Manifest.read(data), holds(), policy))


def untrue(manifest: Manifest, holds: Holds, policy: Policy | None) -> Iterator[Entry]:
    """Yield the entries with marks that do not hold, and with a policy those of excluded projects."""
    exclusion = Exclusion(manifest, policy) if policy is not None else None
    for entry in manifest.entries.values():
        if entry.recorded.parts and (not holds(entry) or _is_excluded(entry, exclusion)):
            yield entry


def _is_excluded(entry: Entry, exclusion: Exclusion | None) -> bool:
    if exclusion is None:
        return False
    try:
        return exclusion.covers(entry.slot, entry.cwd)
    except (KatodError, OSError):
        return True  # that is not known now: the next run marks it again


def own_lists(shared: Iterable[Path], state: Path, present: Path | None = None) -> Iterator[tuple[Path, bytes]]:
    """Yield the folders to which this machine exported, and its parts of shared ones, whatever it was called then.

    Each comes with the content of its list, which is read once; the present one does not come.
    """
    own, written = known_id(state), known_folders(state)
    parts = list[Path]()
    for folder in shared:
        with suppress(OSError):  # it is not mounted
            parts += candidates(folder)
    for root in dict.fromkeys((*written, *parts)):
        if root != present:
            with suppress(OSError, KatodError):
                data = read_small(root / MANIFEST, _LARGEST, own=True)
                name = Manifest.read(data[: data.find(b"\n") + 1]).machine.id
                if name == own if name else root in written:
                    yield root, data
