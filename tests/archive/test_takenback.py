"""What was taken back since a list was committed, and nothing else that the present list says."""

from typing import Any, Final

import pytest

from katod.archive.manifest import INDEX_SLOT, Entry, Manifest, RecordedParts
from katod.archive.takenback import TakenBack
from katod.config import Settings
from katod.model import SessionKey
from katod.record.policy import Policy

MARK: Final = RecordedParts((("a", "b"),), of=("1",))


def entry(number: int, **fields: Any) -> Entry:
    slot = (SessionKey("claude", str(number)), "html")
    return Entry(slot, "made", name=f"{number}/page.html", digest="d", cwd=f"/home/me/{number}")._replace(**fields)


def index(digest: str, **fields: Any) -> Entry:
    return Entry(INDEX_SLOT, "made", name="index.html", digest=digest)._replace(**fields)


def manifest(*entries: Entry) -> Manifest:
    projects = {one.cwd: one.names[0].partition("/")[0] for one in entries if one.cwd}
    return Manifest(entries={one.slot: one for one in entries}, projects=projects)


def taken(committed: Manifest, listed: Manifest, *left: Entry, holds: bool = True) -> TakenBack | None:
    """Return what was taken back, given what is left of entries, and whether marks hold."""
    there = {one.slot: one for one in left}
    return TakenBack.of(committed, listed, lambda one: there.get(one.slot), lambda _: holds, Policy.of(Settings(), ()))


def test_what_was_only_added_is_nothing_to_commit() -> None:
    """Neither new sessions, nor what was added to known ones, nor new marks."""
    now = manifest(entry(1, digest="e", recorded=MARK), entry(2))
    assert taken(manifest(entry(1)), now) is None


@pytest.mark.parametrize(("holds", "mark"), [(False, MARK), (True, RecordedParts())])
def test_marks_go_that_do_not_hold_or_that_the_present_list_does_not_have(holds: bool, mark: RecordedParts) -> None:
    """All else stays as it was committed."""
    found = taken(manifest(entry(1, recorded=MARK)), manifest(entry(1, digest="e", recorded=mark)), holds=holds)
    assert found == TakenBack(manifest(entry(1, made="")))


def test_a_session_is_forgotten_if_neither_its_line_nor_a_copy_is_left() -> None:
    """A line may be lost from a list that was damaged: then its copy is still there."""
    before, now = manifest(entry(1), entry(2)), manifest(entry(1))
    assert taken(before, now) == TakenBack(now)
    assert taken(before, now, entry(2)) is None


def test_of_a_session_without_a_line_only_the_files_stay_that_are_left() -> None:
    """The index goes with any page that it may name."""
    before, now = manifest(entry(1), entry(2, earlier=(("2/old.html", "c"),)), index("i")), manifest(entry(1))
    older = Entry(entry(2).slot, cwd=entry(2).cwd, earlier=(("2/old.html", "c"),))
    left = manifest(entry(1), older, index("i"))
    assert taken(before, manifest(entry(1), index("j")), older) == TakenBack(
        manifest(entry(1), older, index("j")), has_index=True
    )
    assert taken(before, now, older, index("i")) == TakenBack(left)


@pytest.mark.parametrize(
    ("others", "has_index", "drops_index"),
    [((), True, False), ((entry(3),), False, True), ((entry(1, digest="e"),), False, True)],
)
def test_the_index_is_committed_unless_it_has_more(others: Any, has_index: bool, drops_index: bool) -> None:
    """One that names a session which was not committed is left out; the committed one, which names too much, goes."""
    found = taken(manifest(entry(1), entry(2), index("i")), manifest(entry(1), *others, index("j")))
    left = manifest(entry(1), index("j")) if has_index else manifest(entry(1))
    assert found == TakenBack(left, has_index, drops_index)


def test_an_index_that_was_changed_stays_as_it_was_committed() -> None:
    """As any file that its person changed."""
    found = taken(manifest(entry(1), entry(2), index("i")), manifest(entry(1), index("i", edited=True)))
    assert found == TakenBack(manifest(entry(1), index("i")))
