"""Which lines an agent wrote."""

from katod.formats.attribution import Attribution


def changed(*results, cwd="/home/me/app"):
    """Return the attribution after these results: (path, change, ranges)."""
    made = Attribution()
    for path, change, ranges in results:
        made.take({"structured": {"files": [{"path": path, "change": change, "ranges": ranges}]}}, "m")
    return made.record(cwd)


def ranges(path, *spans):
    rows = [{"start-line": first, "end-line": last} for first, last in spans]
    return {"path": path, "conversations": [{"contributor": {"type": "ai", "model-id": "m"}, "ranges": rows}]}


def test_each_change_adds_the_lines_that_it_wrote():
    """Paths are relative to the session's directory, others are as they are."""
    made = changed(("/home/me/app/a.py", "update", [[3, 4], [9, 9]]), ("/home/me/app/a.py", "update", [[1, 1]]),
                   ("/etc/x", "update", [[2, 2]]), ("b.py", "update", [[5, 6]]))  # fmt: skip
    assert made == {"files": [ranges("a.py", (3, 4), (9, 9), (1, 1)), ranges("/etc/x", (2, 2)), ranges("b.py", (5, 6))]}


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


def test_models_are_told_apart_and_may_be_unknown():
    """Each has a conversation of its own in the file."""
    made = Attribution()
    for model, first in (("m", 1), ("", 2), ("m", 3)):
        made.take({"structured": {"files": [{"path": "a", "change": "update", "ranges": [[first, first]]}]}}, model)
    [file] = made.record("")["files"]
    assert [row["contributor"] for row in file["conversations"]] == [{"type": "ai", "model-id": "m"}, {"type": "ai"}]
    assert [len(row["ranges"]) for row in file["conversations"]] == [2, 1]


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
