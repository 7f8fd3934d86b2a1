"""Which files a diff changes, and by how many lines, in the forms that clients write."""

from hypothesis import given
from hypothesis import strategies as st

from katod.agents.diffs import created, ranges_of, structured
from tests.examples import examples
from tests.looping import each

INDEX = """Index: /p/note.txt
===================================================================
--- /p/note.txt
+++ /p/note.txt
@@ -1,2 +1,3 @@
 same
-a note
+an edited note
+a second line
"""
GIT = """
diff --git a/home/me/made.py b/home/me/made.py
create file mode 100644
index 0000000..0000000
--- a/dev/null
+++ b/home/me/made.py
@@ -1,0 +1,2 @@
+def made():
+    return 42
diff --git a/home/me/db.sql b/home/me/db.sql
--- a/home/me/db.sql
+++ b/home/me/db.sql
@@ -3 +3 @@ def f
--- an old comment
+++ a new comment
\\ No newline at end of file
@@ -9,1 +9,0 @@
-gone
"""


def row(
    path: str, added: int, removed: int, change: str = "update", ranges: list[list[int]] | None = None
) -> dict[str, object]:
    found: dict[str, object] = {"path": path, "change": change, "added": added, "removed": removed}
    return found | ({"ranges": ranges} if ranges else {})


@each(
    ("diff", "files"),
    [
        (INDEX, [row("/p/note.txt", 2, 1, ranges=[[2, 3]])]),
        (GIT, [row("home/me/made.py", 2, 0, "add", [[1, 2]]), row("home/me/db.sql", 1, 2, ranges=[[3, 3]])]),
        ("--- a.py\tCurrent\n+++ a.py\tProposed\n@@ -0,0 +1,1 @@\n+x", [row("a.py", 1, 0, ranges=[[1, 1]])]),
        ("--- old.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", [row("old.py", 0, 2, "delete")]),
    ],
)
def test_a_diff_names_its_files_and_counts_their_lines(diff: str, files: list[dict[str, object]]) -> None:
    """Each file has the numbers of its added and removed lines; lines that look like headers are lines of their hunk."""
    assert structured(diff) == {"structured": {"files": files}}


def test_what_is_known_of_a_file_replaces_what_its_diff_says() -> None:
    """Some clients write only the file's name into the diff, and its path, or that it is new, beside it."""
    known = structured(INDEX, path="/p/src/note.txt", change="add")
    assert known == {"structured": {"files": [row("/p/src/note.txt", 2, 1, "add", [[2, 3]])]}}
    assert structured(INDEX, path="", change="") == structured(INDEX)
    files = structured(GIT, path="/p/note.txt")["structured"]["files"]
    assert [file["path"] for file in files] == ["home/me/made.py", "home/me/db.sql"]


@each("text", ["", "no diff", "@@ -1 +1 @@\n-a\n+b", "+++ b/x\n+y", "--- a\n+++ b\n@@ -1,x +1 @@\n+y"])
def test_a_text_without_hunks_has_no_counts(text: str) -> None:
    """What is no diff, or one without a file, gives nothing."""
    assert structured(text) == {}


def test_each_run_of_added_lines_is_a_range_in_the_changed_file() -> None:
    """Runs are told apart by the lines between them; a removed line is no place in the changed file."""
    hunks = "@@ -10,4 +20,6 @@\n a\n+b\n c\n+d\n-e\n+f\n g\n@@ -30,0 +41,2 @@\n+x\n+y\n"
    assert ranges_of(hunks) == {"ranges": [[21, 21], [23, 24], [41, 42]]}
    assert ranges_of("@@ -1,2 +1,1 @@\n a\n-b\n") == {}


def test_a_file_has_at_most_200_ranges() -> None:
    """Later ones are left out; the counts are of all lines."""
    diff = "--- a\n+++ a\n" + "".join(f"@@ -{n},0 +{n},1 @@\n+x\n" for n in range(1, 1_000, 2))
    [found] = structured(diff)["structured"]["files"]
    assert (found["added"], len(found["ranges"]), found["ranges"][-1]) == (500, 200, [399, 399])


@each(("content", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\r\nb", 2), ("a\fb", 1)])
def test_a_created_file_is_one_range(content: str, lines: int) -> None:
    """All lines of a new file were added; an empty one has none."""
    ranges = [[1, lines]] if lines else None
    assert created("/p/a", content) == row("/p/a", lines, 0, "add", ranges)


LINES = st.sampled_from(
    ["--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", "@@ -1 +1 @@", "@@", "+", "-", " ", "\\", "+++ ", "x"]
)


@examples(3, 1_000)
@given(st.lists(LINES).map("\n".join))
def test_no_diff_raises_or_counts_more_than_its_lines(diff: str) -> None:
    """Any text is read without an error, and no more lines are counted than it has."""
    files = structured(diff).get("structured", {}).get("files", [])
    assert sum(file["added"] + file["removed"] for file in files) <= len(diff.split("\n"))
    for file in files:
        ranges = file.get("ranges", [])
        assert sum(last - first + 1 for first, last in ranges) == file["added"]
