"""What the user has taken back of a list of exports since it was committed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from katod.archive.manifest import INDEX_SLOT, Entry, Manifest, RecordedParts, Slot
from katod.archive.marks import Holds, untrue
from katod.record.policy import Policy

_PAGE: Final = INDEX_SLOT[1]
LeftOf = Callable[[Entry], Entry | None]


class TakenBack(NamedTuple):
    """What a commit of this is made of: the list that is left of the committed one, and what becomes of its index.

    With `has_index`, the index is committed as it is now; with `drops_index`, the committed one is removed.
    """

    left: Manifest
    has_index: bool = False
    drops_index: bool = False

    @classmethod
    def of(
        cls, committed: Manifest, listed: Manifest, left_of: LeftOf, holds: Holds, policy: Policy
    ) -> "TakenBack | None":
        """Return what was taken back of a committed list, given the present one; None if nothing was.

        Those are marks that do not hold, or that the present list does not have any more, and of sessions of which it
        has no line, the files that are gone, given what is left of an entry: a line may be lost from a damaged list,
        and forgetting deletes the copies as well. Nothing else of the present list counts: it may name what was never
        to be committed.
        """
        changed = _changed(committed, listed, left_of)
        false = {entry.slot for entry in untrue(committed, holds, policy)}
        false |= {entry.slot for entry in committed.entries.values() if _is_unmarked(listed, entry)}
        if not changed and not false:
            return None
        entries = {
            slot: entry._replace(recorded=RecordedParts(), made="") if slot in false else entry
            for slot, entry in (committed.entries | changed).items()
            if entry is not None
        }
        left = replace(
            committed, machine=listed.machine, entries=entries, projects=_projects(committed, entries, listed)
        )
        names_too_much = INDEX_SLOT in entries and any(form == _PAGE for _, form in changed)
        return cls(left, *_with_index(left, listed)) if names_too_much else cls(left)


def _changed(committed: Manifest, listed: Manifest, left_of: LeftOf) -> dict[Slot, Entry | None]:
    """Return what is left of the entries of which files are gone, None where nothing is."""
    missing = committed.entries.keys() - listed.entries.keys()
    left = {slot: left_of(committed.entries[slot]) for slot in missing}
    return {slot: entry for slot, entry in left.items() if entry != committed.entries[slot]}


def _is_unmarked(listed: Manifest, entry: Entry) -> bool:
    now = listed.entries.get(entry.slot)
    return bool(entry.recorded.parts) and now is not None and not now.recorded.parts


def _projects(committed: Manifest, left: Mapping[Slot, Entry], listed: Manifest) -> dict[str, str]:
    """Return the projects of what is left: forgetting the last session of one takes it out of the present list."""
    used = {name.partition("/")[0] for entry in left.values() for name in entry.names}
    return {path: name for path, name in committed.projects.items() if path in listed.projects or name in used}


def _with_index(left: Manifest, listed: Manifest) -> tuple[bool, bool]:
    """Put the present index into what is left, unless it has more; return what becomes of that."""
    index = listed.entries.get(INDEX_SLOT)
    if index is None or index.edited or index.digest == left.entries[INDEX_SLOT].digest:
        return False, False
    pages = (entry for (_, form), entry in listed.entries.items() if form == _PAGE and entry.name)
    if all(_is_same(entry, left.entries.get(entry.slot)) for entry in pages if entry is not index):
        left.entries[INDEX_SLOT] = index
        return True, False
    del left.entries[INDEX_SLOT]
    return False, True


def _is_same(entry: Entry, other: Entry | None) -> bool:
    return other is not None and (entry.name, entry.digest) == (other.name, other.digest)
