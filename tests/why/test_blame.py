"""Edits over the versions of a file, in the order of time."""

from katod.edits.edits import Cause
from katod.model import SessionKey
from katod.why.blame import Run, blame, runs
from katod.why.target import file_on_disk
from tests.why.history import HASHER, edit
from tests.why.test_git import folder, git

__all__ = ["folder"]


def made(number, time, old, new):
    """Return an edit of a time."""
    return edit(number, (old, new))._replace(cause=Cause(SessionKey("claude", "s"), str(number), "", "", time))


def test_an_edit_is_between_the_versions_of_its_time(folder):
    """What is on the disk is newer than all of them."""
    before = made(1, "2026-01-01T12:00:00Z", "and a third", "and a fourth")
    after = made(2, "2026-01-03T00:00:00Z", "and another", "and one more")
    path = folder / "src" / "größe.py"
    path.write_text("one line\nand one more\nand a fourth\nmine and mine alone\n")
    rows = blame(file_on_disk(path), [after, before], HASHER)
    found = list(runs(rows, range(1, 5)))
    assert [(run.first, run.last, run.origin and run.origin.cause.call) for run in found] == [
        (1, 1, None), (2, 2, "2"), (3, 3, "1"), (4, 4, None),
    ]  # fmt: skip
    assert list(runs(rows, [1, 4])) == [Run(1, 1, None), Run(4, 4, None)]


def test_clocks_that_differ_do_not_reorder_commits(folder):
    """A commit of a machine whose clock is behind is after the one that it follows."""
    path = folder / "src" / "größe.py"
    path.write_text("one line\nand another\nand a fifth\n")
    git(folder, "commit", "-qam", "third", day=1)
    edits = [made(1, "2026-01-02T12:00:00Z", "and a fourth", "and a fifth")]
    assert blame(file_on_disk(path), edits, HASHER)[2].cause is None  # it was made after what it wrote was committed
    edits = [made(1, "2026-01-01T12:00:00Z", "and a third", "and a fourth")]
    assert blame(file_on_disk(path), edits, HASHER)[2].cause is None


def test_an_edit_within_the_second_of_a_commit_is_before_it(folder):
    """As where a hook commits after each edit: git knows no parts of seconds."""
    path = folder / "src" / "größe.py"
    much = "".join(f"line number {number} of the edit\n" for number in range(3))
    path.write_text(f"one line\nand another\n{much}")
    git(folder, "commit", "-qam", "third", day=3)
    for time in ("00", "00.400"):
        [edit] = [made(1, f"2026-01-03T00:00:{time}Z", "and a fourth", much)]
        assert [row.cause and row.cause.call for row in blame(file_on_disk(path), [edit], HASHER)] == [
            None,
            None,
            "1",
            "1",
            "1",
        ]


def test_what_was_written_in_a_folder_that_may_be_another_one_is_not_exact(folder):
    """Only its name is known."""
    edit = made(1, "2026-01-01T12:00:00Z", "and a third", "and a fourth")
    file = file_on_disk(folder / "src" / "größe.py")
    found = [blame(file, [edit._replace(is_certain=sure)], HASHER)[2].origin.status for sure in (True, False)]
    assert found == ["exact", "followed"]


def test_a_file_without_edits_is_not_looked_up(folder, monkeypatch):
    """Its versions say nothing then."""
    file = file_on_disk(folder / "src" / "größe.py")
    monkeypatch.setattr(type(file.repository), "contents", lambda *_: 1 / 0)
    assert [row.cause for row in blame(file, [], HASHER)] == [None] * 3
