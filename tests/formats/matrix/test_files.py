"""What calls did to files, and to the memory of an agent."""

from katod.formats.matrix.files import changed, edits_in, is_memory, path_read
from tests.looping import each


def call(name, family, **given):
    return {"name": name, "family": family, "input": given}


@each(("made", "edits"), [
    (call("Edit", "edit", file_path="/p/a.py", old_string="a", new_string="b\nc"),
     [{"path": "/p/a.py", "change": "update", "added": 2, "removed": 1}]),
    (call("Write", "edit", file_path="/p/a.py", content="a\nb\n"), [{"path": "/p/a.py", "added": 2}]),
    (call("Delete", "delete", path="/p/a.py"), [{"path": "/p/a.py", "change": "delete"}]),
    (call("apply_patch", "edit", input="*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch"),
     [{"path": "a", "change": "add"}, {"path": "b", "change": "delete"}]),
    (call("Edit", "edit"), []), (call("Bash", "execute", command="rm a"), []),
])  # fmt: skip
def test_a_call_says_what_it_is_going_to_change(made, edits):
    """A file that is written as a whole may be new or not; the lines of a patch of several files are not told apart."""
    assert edits_in(made) == edits


def test_what_the_agent_recorded_counts_more_than_the_call():
    """A change that only the call shows is derived."""
    edits = [{"path": "/p/a.py", "change": "update", "added": 1, "removed": 1}]
    row = {"path": "/p/a.py", "change": "add", "added": 2, "removed": 0}
    [recorded] = changed({"structured": {"files": [row]}}, edits, "/p", "c", {})
    [derived] = changed({}, edits, "/p", "c", {})
    assert (recorded.content["change_type"], recorded.derived) == ("created", False)
    assert (derived.content["change_type"], derived.content["path"], derived.derived) == ("modified", "a.py", True)


@each(("path", "known"), [
    ("/p/CLAUDE.md", True), ("AGENTS.md", True), ("/home/me/.claude/projects/p/memory/style.md", True),
    ("/p/claude.py", False), ("/p/memory/x.md", False), ("", False),
])  # fmt: skip
def test_memory_files_are_known_by_name(path, known):
    """Or by the folder in which an agent keeps its own."""
    assert is_memory(path) is known
    assert path_read(call("Read", "read", file_path=path)) == (path if known else "")
