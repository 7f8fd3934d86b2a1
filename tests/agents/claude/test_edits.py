"""Claude Code: the file that an edit changed."""

from hashlib import sha256
from typing import Any

from katod import events as ev
from katod.agents.claude.edits import structured
from tests.looping import each
from tests.support.records import Claude
from tests.support.translated import payloads, translated

HUNKS = [
    {"oldStart": 3, "oldLines": 3, "newStart": 3, "newLines": 4, "lines": [" a", "-b", "+c", "+d", " e"]},
    {
        "oldStart": 20,
        "oldLines": 1,
        "newStart": 21,
        "newLines": 1,
        "lines": ["-x", "+y", "\\ No newline at end of file"],
    },
]
CHANGED = {"path": "/p/a.py", "change": "update", "added": 3, "removed": 2, "ranges": [[4, 5], [21, 21]]}


def hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


CREATED = {
    "path": "/p/b.py",
    "change": "add",
    "added": 2,
    "removed": 0,
    "ranges": [[1, 2]],
    "after": hashed("one\ntwo\n"),
}


@each(
    ("extra", "file"),
    [
        ({"filePath": "/p/a.py", "oldString": "b", "newString": "c\nd", "structuredPatch": HUNKS}, CHANGED),
        (
            {"type": "update", "filePath": "/p/a.py", "content": "…", "structuredPatch": HUNKS},
            CHANGED | {"after": hashed("…")},
        ),
        ({"filePath": "/p/a.py", "originalFile": "a\n", "structuredPatch": HUNKS}, CHANGED | {"before": hashed("a\n")}),
        ({"filePath": "/p/a.py", "originalFile": None, "structuredPatch": HUNKS}, CHANGED),
        ({"type": "create", "filePath": "/p/b.py", "content": "one\ntwo\n", "structuredPatch": []}, CREATED),
    ],
)
def test_the_result_of_an_edit_says_what_it_changed(extra: Any, file: Any) -> None:
    """Path, kind of change, counts and places of lines are the client's own; whole files that it keeps are hashed."""
    make = Claude()
    records = make.calls("c1", "Edit", file_path="/p/a.py"), make.result("c1", "Done.", toolUseResult=extra)
    [result] = payloads(translated("claude", *records), ev.TOOL_RESULT)
    assert result["structured"] == {"files": [file]}


@each(
    "extra",
    [
        {"filePath": "/p/a.py", "structuredPatch": []},
        {"filePath": "/p/a.py", "structuredPatch": "x"},
        {"filePath": ["/p/a.py"], "structuredPatch": HUNKS},
        {"filePath": "/p/a.py", "structuredPatch": [7, {"lines": 7}, {"lines": [7, None]}]},
        {"filePath": "/p/a.py", "structuredPatch": [], "type": "create", "content": ["x"]},
        {"structuredPatch": HUNKS},
    ],
)
def test_a_result_without_a_plausible_patch_says_nothing_of_files(extra: Any) -> None:
    """Values of other types read as absent."""
    assert structured(extra) == {}


def test_a_hunk_without_a_place_has_counts_alone() -> None:
    """Lines are counted even if the patch does not say where they are."""
    hunks = [{"newStart": "3", "lines": ["+a"]}]
    row = {"path": "/p/a.py", "change": "update", "added": 1, "removed": 0}
    assert structured({"filePath": "/p/a.py", "structuredPatch": hunks}) == {"files": [row]}


def test_what_a_command_did_to_the_repository_is_in_its_result() -> None:
    """Commits and branches that the client recorded; other values read as absent."""
    done = {
        "commit": {"sha": "ab12cd3", "kind": "committed"},
        "branch": {"ref": "x", "action": 7},
        "push": {"branch": "x"},
    }
    make = Claude()
    records = (
        make.calls("c1", "Bash", command="git commit"),
        make.result("c1", "", toolUseResult={"gitOperation": done}),
    )
    [result] = payloads(translated("claude", *records), ev.TOOL_RESULT)
    assert result["structured"] == {"git": {"commit": {"sha": "ab12cd3", "kind": "committed"}, "branch": {"ref": "x"}}}
