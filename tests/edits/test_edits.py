"""Edits, with the paths of their files."""

from katod.edits.edits import edits_of, ends_of, whole_path
from katod.edits.lines import LineHasher
from katod.edits.tracker import EditingCall
from katod.events import TOOL_CALL, Event, SessionRef
from katod.model import SessionKey
from tests.looping import each


@each("path, cwd, whole", [
    ("a.py", "/home/me/app", "/home/me/app/a.py"), ("/x/../y/a.py", "/home/me/app", "/y/a.py"),
    ("src\\a.py", "C:\\app", "C:/app/src/a.py"), ("D:\\b.py", "C:\\app", "D:/b.py"), ("./a.py", "", "a.py"),
])  # fmt: skip
def test_a_path_is_below_the_directory_of_its_session(path, cwd, whole):
    """By the rules of the session's machine, with slashes."""
    assert whole_path(path, cwd) == whole


def test_the_ends_of_a_path_begin_with_names():
    """So that a file is found in a folder of the same name on another machine."""
    assert list(ends_of("/home/app/a.py")) == ["/home/app/a.py", "home/app/a.py", "app/a.py", "a.py"]


def test_a_call_edits_each_of_its_files():
    """All for the same reason."""
    given = "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: /b\n+y\n*** End Patch"
    payload = {"toolCallId": "1", "name": "apply_patch", "family": "edit", "input": given}
    event = Event("e", TOOL_CALL, SessionRef("codex", "s"), payload, {}, "2026-01-01T00:00:00Z")
    found = dict(edits_of(EditingCall(event, "p", "w", "/c", event.time), SessionKey("codex", "s"), LineHasher(hash)))
    assert found.keys() == {"/c/a", "/b"}
    assert {edit.cause for edit in found.values()} == {
        (SessionKey("codex", "s"), "e", "p", "w", "2026-01-01T00:00:00Z", "")
    }
