"""How many lines an edit changes, and which."""

import pytest

from katod.formats.redact.redactor import redact
from katod.formats.transcript.calls import diff, edit_size, patched_files, shown_size
from tests.formats.conversation import MINUS
from tests.looping import each


def edit(name="Edit", **given):
    return {"name": name, "family": "edit", "input": given}


def patch(text):
    return {"name": "apply_patch", "family": "edit", "input": text}


@each(
    ("old", "new", "lines"),
    [
        ("a", "b", ["-a", "+b"]),
        ("a\nb\nc", "a\nx\nc", ["-b", "+x"]),
        ("", "a\nb", ["+a", "+b"]),
        ("a\nb", "", ["-a", "-b"]),
        ("a\nb", "a\nb", []),
        ("a", "a\na", ["+a"]),
        ("x\n\ny", "x\n\nz", ["-y", "+z"]),
    ],
)
def test_diff_shows_the_lines_that_changed(old, new, lines):
    """Lines that an edit repeats at its ends are left out; removed lines come first."""
    assert diff(edit(old_string=old, new_string=new), str) == lines


def test_diff_of_several_edits_shows_all():
    """Edits made in one call are rendered one after the other."""
    payload = edit("MultiEdit", edits=[{"old_string": "a", "new_string": "b"}, {"new_string": "c"}, "odd"])
    assert diff(payload, str) == ["-a", "+b", "+c"]
    assert edit_size(payload) == (2, 1)


@each(
    ("name", "given"),
    [
        ("Edit", {"old_string": "a", "new_string": "b"}),
        ("replace", {"old_string": "a", "new_string": "b"}),
        ("edit", {"newString": "b", "oldString": "a"}),
        ("edit", {"old_str": "a", "new_str": "b"}),
        ("edit", {"edits": [{"oldText": "a", "newText": "b"}]}),
        ("StrReplace", {"old_string": "a", "new_string": "b"}),
        ("apply_patch", {"patchText": "*** Update File: x\n@@\n-a\n+b\n"}),
        ("apply_patch", "*** Update File: x\n@@\n-a\n+b\n"),
    ],
)
def test_edits_of_every_agent_have_a_size(name, given):
    """The lines of an edit are counted and shown whatever its agent calls the arguments."""
    payload = {"name": name, "family": "edit", "input": given}
    assert edit_size(payload) == (1, 1)
    assert [line for line in diff(payload, str) if line[:2] not in ("@@", "**")] == ["-a", "+b"]


@each("name, key", [("write", "content"), ("Write", "contents"), ("create", "file_text"), ("write_file", "content")])
def test_a_written_file_has_a_size(name, key):
    """All lines of a file that a call writes count as added."""
    assert edit_size(edit(name, **{key: "a\nb\n"})) == (2, 0)


PATCH = """*** Begin Patch
*** Update File: db.sql
@@ def f
 context

--- an old comment
+-- a new comment
++++ two more
-x
*** Add File: new.sql
+y
*** End Patch"""


def test_diff_of_a_patch_shows_its_changed_lines_and_its_files():
    """Only changed lines of a patch, their files and places are shown, even if a line begins with `-` or `+` itself."""
    assert [line for line in diff(patch(PATCH), str) if not line.startswith("***")] == [
        "@@ def f", "--- an old comment", "+-- a new comment", "++++ two more", "-x", "+y",
    ]  # fmt: skip
    assert "*** Update File: db.sql" in diff(patch(PATCH), str)
    assert patched_files(PATCH) == ["db.sql", "new.sql"]


def test_size_of_a_patch_counts_its_changed_lines():
    """Every line that a patch adds or removes is counted, and no other."""
    assert edit_size(patch(PATCH)) == (3, 2)


@pytest.mark.parametrize(
    "given", [None, {}, 5, [], {"edits": 5}, {"old_string": 1, "new_string": None}, {"edits": [5]}]
)
def test_edit_of_an_unknown_shape_has_no_size(given):
    """An edit whose input has no lines raises nothing and has no size."""
    payload = {"name": "Edit", "family": "edit", "input": given}
    assert edit_size(payload) == (0, 0)
    assert diff(payload, str) == []


def test_only_edits_have_a_size():
    """A tool that is not an edit has no size, even if its input looks like an edit."""
    assert edit_size({"name": "Bash", "family": "execute", "input": {"new_string": "a"}}) == (0, 0)


def test_size_names_both_numbers_or_nothing():
    """The size has added and removed lines, with a minus sign; an edit that changes nothing has none."""
    assert (shown_size(42, 18), shown_size(0, 1), shown_size(0, 0)) == (f"(+42 {MINUS}18)", f"(+0 {MINUS}1)", "")


def private_key(letter):
    return f"-----BEGIN RSA PRIVATE KEY-----\n{chr(10).join([letter * 64] * 3)}\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("form", ["strings", "patch"])
def test_a_key_that_replaces_another_is_redacted(form):
    """Though its first and last lines are not changed, and so no part of what is shown."""
    old, new = private_key("a"), private_key("b")
    if form == "strings":
        payload = edit(old_string=f"x\n{old}", new_string=f"y\n{new}")
    else:
        begin, *_, end = old.split("\n")
        lines = [f" {begin}", *["-" + "a" * 64] * 3, *["+" + "b" * 64] * 3, f" {end}", "-x", "+y"]
        payload = patch("\n".join(["*** Begin Patch", "*** Update File: key.pem", *lines, "*** End Patch"]))
    shown = "\n".join(diff(payload, redact))
    assert "aaaa" not in shown
    assert "bbbb" not in shown
    assert "-x" in shown
    assert "+y" in shown
