"""Which lines an agent wrote."""

import json
from hashlib import sha256

import pytest

from katod import events as ev
from katod.formats.records.attribution import Attribution
from tests.formats.records.test_agentrecord import event
from tests.looping import each
from tests.support.rendering import rendered


def changed(*results, cwd="/home/me/app"):
    """Return the attribution after these results: (path, change, ranges)."""
    made = Attribution()
    for path, change, ranges in results:
        made.take({"structured": {"files": [{"path": path, "change": change, "ranges": ranges}]}}, "m")
    return made.record(cwd)


def ranges(path, *spans):
    rows = [{"start-line": first, "end-line": last} for first, last in spans]
    return {"path": path, "conversations": [{"contributor": {"type": "ai", "model-id": "m"}, "ranges": rows}]}


def test_the_lines_of_a_file_are_those_of_its_last_change():
    """Ranges of different versions cannot be compared with one file. Other files keep theirs."""
    made = changed(("/etc/x", "update", [[2, 2]]), ("a.py", "update", [[3, 4], [9, 9]]), ("b.py", "update", [[5, 6]]),
                   ("a.py", "update", [[1, 1], [7, 8]]))  # fmt: skip
    assert made == {"files": [ranges("/etc/x", (2, 2)), ranges("b.py", (5, 6)), ranges("a.py", (1, 1), (7, 8))]}


def test_a_change_of_which_the_lines_are_not_known_leaves_none():
    """It may have moved those that were known, or removed them."""
    assert changed(("a.py", "update", [[3, 4]]), ("a.py", "update", None)) == {}


def test_a_file_without_a_name_is_left_out():
    """No record may name it so."""
    assert changed(("", "add", [[1, 1]]), ("a.py", "add", [[1, 1]])) == {"files": [ranges("a.py", (1, 1))]}


@each("cwd, path, shown", [
    ("/home/me/app", "/home/me/app/src/a.py", "src/a.py"), ("/home/me/app", "/home/me/apple/a.py", "/home/me/apple/a.py"),
    ("C:\\Users\\me\\app", "C:\\Users\\me\\app\\src\\a.py", "src/a.py"),
    ("C:\\Users\\me\\app\\", "c:/users/me/app/src/a.py", "src/a.py"), ("C:\\Users\\me\\app", "src\\a.py", "src/a.py"),
    ("C:\\Users\\me\\app", "C:\\Users\\me\\apple\\a.py", "C:\\Users\\me\\apple\\a.py"),
    ("\\\\host\\share\\app", "\\\\host\\share\\app\\a.py", "a.py"), ("/home/me/app", "odd\\name.py", "odd\\name.py"),
    ("", "/home/me/a.py", "/home/me/a.py"),
])  # fmt: skip
def test_paths_are_relative_to_the_directory_of_the_session(cwd, path, shown):
    """On Windows, too, with slashes; others are as they are."""
    [file] = changed((path, "update", [[1, 1]]), cwd=cwd)["files"]
    assert file["path"] == shown


def test_a_file_that_is_written_anew_has_only_its_new_lines():
    """A deleted one has none."""
    a, b = "/home/me/app/a.py", "/home/me/app/b.py"
    made = changed((a, "update", [[9, 9]]), (b, "update", [[1, 1]]), (a, "add", [[1, 3]]), (b, "delete", None))
    assert made == {"files": [ranges("a.py", (1, 3))]}


def test_a_failed_call_and_a_change_without_lines_attribute_nothing():
    """What is not known is not said."""
    made = Attribution()
    made.take({"isError": True, "structured": {"files": [{"path": "a", "change": "update", "ranges": [[1, 1]]}]}}, "m")
    made.take({"structured": {"files": [{"path": "a", "change": "update", "added": 3}]}}, "m")
    made.take({"structured": {"files": "none"}}, "m")
    made.take({"structured": {"files": ["a", {"path": 3}]}}, "m")
    assert made.record("/") == {}


def test_the_model_is_that_of_the_last_change_and_may_be_unknown():
    """Of a file that several models changed, the last one wrote what is known."""
    made = Attribution()
    for path, model in (("a", "m"), ("a", "n"), ("b", "m"), ("b", "")):
        made.take({"structured": {"files": [{"path": path, "change": "update", "ranges": [[1, 1]]}]}}, model)
    found = [[row["contributor"] for row in file["conversations"]] for file in made.record("")["files"]]
    assert found == [[{"type": "ai", "model-id": "n"}], [{"type": "ai"}]]


# -- hashes ----------------------------------------------------------------------------------------------


def hashes(name, given, *spans, path="/p/a.py"):
    """Return the texts of which the ranges have the hashes, None for a range without one."""
    made = Attribution()
    made.call({"toolCallId": "t", "name": name, "family": "edit", "input": given})
    made.take(
        {"toolCallId": "t", "structured": {"files": [{"path": path, "change": "update", "ranges": [*spans]}]}}, "m"
    )
    [file] = made.record("/p")["files"]
    rows = file["conversations"][0]["ranges"]
    known = {sha256(text.encode()).hexdigest(): text for text in TEXTS}
    return [known[row["content-hash"]] if "content-hash" in row else None for row in rows]


TEXTS = ("one\ntwo\nthree", "two", "three", "ä", "new\nlines")


def test_the_lines_of_a_file_that_is_written_have_hashes():
    """Each range that of its own lines, in UTF-8, without the last line end."""
    given = {"file_path": "/p/a.py", "content": "one\ntwo\nthree\n"}
    assert hashes("Write", given, [1, 3]) == ["one\ntwo\nthree"]
    assert hashes("Write", given, [2, 2], [3, 3]) == ["two", "three"]
    assert hashes("Write", {"file_path": "/p/a.py", "content": "ä"}, [1, 1]) == ["ä"]
    assert hashes("Write", given, [3, 4]) == [None], "that is not what was written"
    assert hashes("Write", given, [1, 3], path="/p/b.py") == [None]
    patch = "*** Begin Patch\n*** Add File: a.py\n+one\n+two\n+three\n*** Update File: b.py\n@@\n a\n+x\n*** End Patch"
    assert hashes("apply_patch", patch, [1, 3]) == ["one\ntwo\nthree"]
    assert hashes("apply_patch", patch, [2, 2], path="/p/b.py") == [None]


@each("old, new, known", [
    ("a\nold\nb", "a\nnew\nlines\nb", ["new\nlines"]), ("a\nb", "a\nnew\nlines\nb", ["new\nlines"]),
    ("old", "new\nlines", [None]), ("a\nold", "a\nnew\nlines", [None]),
    ("a\nlines\nb", "a\nnew\nlines\nb", [None]), ("lines\nb", "lines\nnew\nlines\nb", [None]), ("a\nnew", "a\nnew\nlines\nnew", [None]),
])  # fmt: skip
def test_lines_that_are_replaced_have_a_hash_if_a_diff_can_show_them_in_one_way(old, new, known):
    """Whole lines, between lines that stay, none of which could be taken for one of those that are added."""
    assert hashes("Edit", {"file_path": "/p/a.py", "old_string": old, "new_string": new}, [7, 8]) == known


def test_no_hash_tells_whether_a_guess_of_a_secret_is_right():
    """Where something is redacted in the record, there is no hash of the lines that it was in."""

    def record(text):
        payload = {"toolCallId": "t", "name": "Write", "family": "edit", "input": {"file_path": "a", "content": text}}
        result = {
            "toolCallId": "t",
            "text": "",
            "structured": {"files": [{"path": "a", "change": "add", "ranges": [[1, 1]]}]},
        }
        made = rendered("agent-record", [event(1, ev.TOOL_CALL, payload), event(2, ev.TOOL_RESULT, result)])
        return json.loads(made)["file-attribution"]["files"][0]["conversations"][0]["ranges"]

    assert "content-hash" in record("hello")[0]
    assert "content-hash" not in record("token = ghp_" + "x9Yz" * 9)[0]


@pytest.mark.slow
def test_what_is_remembered_is_bounded():
    """However many lines and files a session changes."""
    made = Attribution()
    for number in range(30):
        file = {"path": f"{number}", "change": "add", "ranges": [[1, 1]] * 1500}
        made.take({"structured": {"files": [file]}}, "m")
    assert sum(len(row["ranges"]) for file in made.record("")["files"] for row in file["conversations"]) == 20_000
    made.take({"structured": {"files": [file | {"path": "0"}]}}, "m")
    made.take({"structured": {"files": [file | {"path": "new", "ranges": [[2, 2]]}]}}, "m")
    assert len(made.record("")["files"]) == 14, "what is written anew makes room, and takes it"
