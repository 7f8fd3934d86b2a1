"""What commands did to a Git repository, read from their output."""

from katod.formats.matrix.git import recorded, seen, shown_by
from tests.looping import each

DIFF = """diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@ def f():
 x
-y
+z
 w
diff --git "a/b c.py" "b/b c.py"
new file mode 100644
--- /dev/null
+++ "b/b c.py"
@@ -0,0 +1 @@
+--- one
\\ No newline at end of file
"""


@each(("command", "shown"), [
    ("git commit -m 'x'", "commit"), ("cd app && git add . && git commit -m x", "commit"), ("git diff", "diff:unstaged"),
    ("git diff --staged", "diff:staged"), ("git diff --cached -- a.py", "diff:staged"), ("git diff -- a.py", "diff:unstaged"),
    ("git diff main...HEAD", "diff:branch_compare"), ("git diff HEAD~1", "diff:"), ("git show", "diff:commit"),
    ("git --no-pager show ab12cd3", "diff:commit"), ("git show HEAD:a.py", "diff:"), ("cd app && git diff", "diff:unstaged"),
    ("git diff | head", ""), ("git diff > x", ""), ("git diff; ls", ""), ("git diff --stat", ""), ("git show -s HEAD", ""),
    ("git diff --name-only", ""), ("git status", ""), ("ls", ""),
])  # fmt: skip
def test_a_command_says_what_its_output_may_show(command, shown):
    """The type of a diff only as far as its words tell; no diff where not all of it is printed."""
    assert shown_by(command) == shown


def test_a_diff_has_its_files_and_lines():
    """A line of a file that looks like a header is a line."""
    [draft] = seen("diff:staged", DIFF, {})
    assert draft.content == {
        "diff_type": "staged", "files_in_diff": ["a.py", "b c.py"], "lines_added": 2, "lines_removed": 1,
    }  # fmt: skip
    assert draft.derived


@each("output", ["", "no diff", DIFF.replace("+z\n w\n", "… 3 lines left out …\n"), DIFF[: DIFF.index(" w\n")]])
def test_a_diff_that_is_not_whole_was_not_seen(output):
    """As where the client cut it."""
    assert seen("diff:staged", output, {}) == []


def test_each_commit_is_one():
    """With the counts below it; the head of a detached repository is no branch."""
    output = "[main (root-commit) ab12cd3] One\n 1 file changed, 2 insertions(+)\n[detached HEAD 1234567] Two\nrest\n"
    first, second = seen("commit", output, {"session_id": "s"})
    assert first.content == {
        "session_id": "s", "commit_hash": "ab12cd3", "message": "One", "branch": "main", "insertions": 2, "deletions": 0,
    }  # fmt: skip
    assert second.content == {"session_id": "s", "commit_hash": "1234567", "message": "Two"}
    assert first.part != second.part
    assert seen("commit", "nothing to commit", {}) == []


@each(
    "git", [{}, {"git": "x"}, {"git": {"commit": {"kind": "x"}}}, {"git": {"branch": {"ref": "x", "action": "pushed"}}}]
)
def test_what_is_not_recorded_is_not_said(git):
    """A branch needs a name and a known word, a commit its hash."""
    assert recorded(git, {}) == []
