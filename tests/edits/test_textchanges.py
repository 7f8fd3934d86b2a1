"""Which text a call replaces by which."""

import pytest

from katod.edits.textchanges import TextChange, text_changes


@pytest.mark.parametrize(("name", "given", "changes"), [
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, {"a": [TextChange("x", "y")]}),
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "", "replace_all": True}, {"a": [TextChange("x", "", True)]}),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "", "new_string": "z"}]},
     {"a": [TextChange("x", "y")]}),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "", "new_string": "x"}, {"old_string": "x", "new_string": "z", "replace_all": True}]},
     {"a": [TextChange(None, "x"), TextChange("x", "z", True)]}),
    ("multi_replace_string_in_file", {"explanation": "rename", "replacements": [
        {"filePath": "a", "oldString": "x", "newString": "y"}, {"filePath": "b", "oldString": "x", "newString": "z"}, {"oldString": "q", "newString": "r"}]},
     {"a": [TextChange("x", "y")], "b": [TextChange("x", "z")]}),
    ("Write", {"file_path": "a", "content": "all\nof it\n"}, {"a": [TextChange(None, "all\nof it\n")]}),
    ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, {"a": [TextChange("x", "y")]}),
    ("Edit", {"old_string": "x"}, {}),
    ("Edit", "no object", {}),
    ("insert_edit_into_file", {"filePath": "a", "explanation": "adds", "code": "// ...\nx"}, {}),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, {}),
    ("editor", {"path": "a", "new_text": "x", "insert_line": 0}, {}),
    ("editor", {"path": "a", "new_text": "x"}, {"a": [TextChange(None, "x")]}),
    ("mcp__files__put", {"path": "a", "text": "x"}, {}),
])  # fmt: skip
def test_an_edit_names_old_and_new_text(name, given, changes):
    """Without old text, the file is written as a whole; a part of it without a place, or no path, says nothing."""
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
