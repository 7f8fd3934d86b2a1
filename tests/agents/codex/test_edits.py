"""Codex: files and lines of applied patches."""

from katod.agents.codex.edits import MOST_FILES, files_of, patch_of

CHANGES = {
    "/a/new.md": {"type": "add", "content": "one\ntwo\n"},
    "/a/old.md": {"type": "delete", "content": "gone"},
    "/a/b.ts": {
        "type": "update",
        "unified_diff": "@@ -1,2 +1,3 @@\n same\n-old\n+new\n+more\n",
        "move_path": "/a/c.ts",
    },
}


def test_each_file_has_its_counts() -> None:
    """Path, kind of change, added and removed lines, where the added ones are, and the new name are listed."""
    assert files_of(CHANGES) == [
        {"path": "/a/new.md", "change": "add", "added": 2, "removed": 0, "ranges": [[1, 2]]},
        {"path": "/a/old.md", "change": "delete", "added": 0, "removed": 1},
        {"path": "/a/b.ts", "change": "update", "added": 2, "removed": 1, "ranges": [[2, 3]], "movedTo": "/a/c.ts"},
    ]


def test_changes_read_like_a_patch() -> None:
    """The changes have the form of a patch, so that they are shown and counted like one."""
    assert patch_of(CHANGES).splitlines() == [
        "*** Add File: /a/new.md", "+one", "+two",
        "*** Delete File: /a/old.md", "-gone",
        "*** Update File: /a/b.ts", "*** Move to: /a/c.ts", "@@ -1,2 +1,3 @@", " same", "-old", "+new", "+more",
    ]  # fmt: skip


def test_what_is_remembered_is_bounded() -> None:
    """Of many files with long names, only the first ones are kept, with the beginnings of their names."""
    rows = files_of({f"{n}{'x' * 5_000}": {"type": 7} for n in range(1_000)})
    assert len(rows) == MOST_FILES
    assert max(len(row["path"]) for row in rows) < 1_000
    diff = "".join(f"@@ -{n},0 +{n},1 @@\n+x\n" for n in range(1, 400, 4))
    rows = files_of({f"{n}": {"type": "update", "unified_diff": diff} for n in range(5)})
    assert [len(row.get("ranges", ())) for row in rows] == [100, 100, 0, 0, 0]


def test_a_patch_without_line_numbers_has_no_ranges() -> None:
    """The form that the model writes does not say where its lines are."""
    [row] = files_of({"/a": {"type": "update", "unified_diff": "@@ def f\n-a\n+b\n"}})
    assert (row["added"], "ranges" in row) == (1, False)


def test_changes_of_any_shape_are_read() -> None:
    """Values of other types count as empty."""
    assert [files_of(None), files_of([1]), patch_of({"a": 1}), patch_of(None)] == [[], [], "*** Update File: a", ""]
