"""Which text a call replaces by which."""

import pytest

from katod.edits.textchanges import TextChange, text_changes


@pytest.mark.parametrize(("name", "given", "changes"), [
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, {"a": [TextChange("x", "y")]}),
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "", "replace_all": True}, {"a": [TextChange("x", "", True)]}),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "", "new_string": "z"}]},
     {"a": [TextChange("x", "y"), TextChange(None, "z")]}),
    ("Write", {"file_path": "a", "content": "all\nof it\n"}, {"a": [TextChange(None, "all\nof it\n")]}),
    ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, {"a": [TextChange("x", "y")]}),
    ("Edit", {"old_string": "x"}, {}),
    ("Edit", "no object", {}),
])  # fmt: skip
def test_an_edit_names_old_and_new_text(name, given, changes):
    """Without old text, the file is written as a whole; without a path, nothing is known."""
    assert text_changes({"name": name, "input": given}) == changes


def test_a_patch_has_hunks_of_several_files():
    """Each with the lines around it; a file that is added is written as a whole, and a moved one is edited where it is."""
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n one\n-two\n+three\n@@\n-four\n*** Update File: old.py\n"
        "*** Move to: new.py\n@@\n-x\n+y\n*** Add File: b.py\n+all\n+\n*** Delete File: c.py\n*** End Patch"
    )
    assert text_changes({"name": "apply_patch", "input": patch}) == {
        "a.py": [TextChange("one\ntwo", "one\nthree"), TextChange("four", "")],
        "new.py": [TextChange("x", "y")],
        "b.py": [TextChange(None, "all\n")],
        "c.py": [TextChange(None, "")],
    }
