"""How much an edit changes in each file."""

import pytest

from katod.formats.transcript.calls import edit_size
from katod.tables.filechanges import FileChange, file_changes

PATCH = """*** Begin Patch
*** Update File: a.py
@@
 one
-two
+2
+2.5
@@
-three
*** Add File: b.py
+new
+file
*** Delete File: c.py
*** End Patch"""


def payload(name, given):
    return {"name": name, "family": "edit", "input": given}


@pytest.mark.parametrize(
    ("name", "given", "changes"),
    [
        ("Edit", {"file_path": "a", "old_string": "1\n2\n3", "new_string": "1\n3"}, {"a": FileChange("edit", 0, 1)}),
        ("Write", {"file_path": "a", "content": "1\n2"}, {"a": FileChange("write", 2, None)}),
        (
            "MultiEdit",
            {
                "file_path": "a",
                "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "3", "new_string": "4\n5"}],
            },
            {"a": FileChange("edit", 3, 2)},
        ),
        (
            "apply_patch",
            PATCH,
            {
                "a.py": FileChange("edit", 2, 2),
                "b.py": FileChange("write", 2, None),
                "c.py": FileChange("delete", 0, None),
            },
        ),
        ("Edit", {"file_path": "a"}, {}),
        ("Edit", None, {}),
        ("never-seen", {"x": 1}, {}),
    ],
)
def test_lines_are_counted_for_each_file(name, given, changes):
    """As a transcript counts them for the call; lines that stay at both ends are no change."""
    found = payload(name, given)
    assert file_changes(found) == changes
    if changes:
        added, removed = edit_size(found)
        assert sum(change.added for change in changes.values()) == added
        assert sum(change.removed or 0 for change in changes.values()) == removed
