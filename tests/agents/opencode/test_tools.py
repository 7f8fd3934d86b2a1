"""OpenCode: which files an edit changed, and sub-agents."""

from typing import Any

from katod import events as ev
from tests.formats.conversation import call_line
from tests.looping import each
from tests.support.translated import Row, payloads, translated

MINUS = "\N{MINUS SIGN}"
DIFF = "Index: /p/a.py\n===\n--- /p/a.py\n+++ /p/a.py\n@@ -1,1 +1,2 @@\n-a\n+b\n+c\n"
TWO = DIFF + DIFF.replace("a.py", "b.py")
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n+c\n*** Update File: b.py\n@@\n-a\n+b\n+c\n*** End Patch"


def document(tool: str, given: Row, metadata: Row, status: str = "completed") -> Row:
    """Return a session with one call."""
    state = {"status": status, "input": given, "output": "Done.", "metadata": metadata}
    part = {"id": "prt_2", "type": "tool", "tool": tool, "callID": "c1", "state": state}
    asked = {"info": {"id": "msg_1", "role": "user"}, "parts": [{"id": "prt_1", "type": "text", "text": "Do it."}]}
    info = {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "finish": "stop", "time": {"completed": 2}}
    return {
        "info": {"id": "ses_1", "directory": "/p"},
        "messages": [asked, {"info": info, "parts": [part]}],
    }


def row(path: str, added: int, removed: int, **more: Any) -> Row:
    return {"path": path, "change": "update", "added": added, "removed": removed} | more


@each(
    ("tool", "given", "metadata", "shown", "files"),
    [
        (
            "edit",
            {"newString": "b\nc", "oldString": "a", "filePath": "/p/a.py"},
            {"diff": DIFF, "filediff": {"file": "/p/a.py", "additions": 4, "deletions": 2}},
            f"**edit** `a.py` (+2 {MINUS}1)",
            [row("/p/a.py", 4, 2)],  # `replaceAll`: the call has one of the two places
        ),
        (
            "edit",
            {"filePath": "/p/a.py", "oldString": "a", "newString": "b\nc"},
            {"diff": DIFF},
            f"**edit** `a.py` (+2 {MINUS}1)",
            [row("/p/a.py", 2, 1, ranges=[[1, 2]])],
        ),
        (
            "edit",
            {"filePath": "/p/a.py", "oldString": "a", "newString": "b\nc"},
            {"filediff": {"file": "/p/a.py", "additions": 2, "deletions": 1, "patch": DIFF}},
            f"**edit** `a.py` (+2 {MINUS}1)",
            [row("/p/a.py", 2, 1, ranges=[[1, 2]])],
        ),
        (
            "apply_patch",
            {"patchText": PATCH},
            {"diff": TWO, "files": []},
            f"**apply_patch** `a.py` `b.py` (+4 {MINUS}2)",
            [row("/p/a.py", 2, 1, ranges=[[1, 2]]), row("/p/b.py", 2, 1, ranges=[[1, 2]])],
        ),
        (
            "write",
            {"content": "x\ny\n", "filePath": "/p/a.py"},
            {"exists": False, "filepath": "/p/a.py"},
            f"**write** `a.py` (+2 {MINUS}0)",
            [row("/p/a.py", 2, 0, change="add", ranges=[[1, 2]])],
        ),
        (
            "write",
            {"content": "x\ny\n", "filePath": "/p/a.py"},
            {"exists": True, "filepath": "/p/a.py"},
            f"**write** `a.py` (+2 {MINUS}0)",
            None,  # what it replaced is not recorded
        ),
        ("edit", {"filePath": "/p/a.py"}, {"filediff": {"additions": "x"}, "diff": 5}, "**edit** `a.py`", None),
        *(
            (
                "edit",
                {"filePath": "/p/a.py", "oldString": "a", "newString": "b\nc"},
                {"filediff": {"file": "/p/a.py", one: 9}, "diff": DIFF},  # one count says nothing without the other
                f"**edit** `a.py` (+2 {MINUS}1)",
                [row("/p/a.py", 2, 1, ranges=[[1, 2]])],
            )
            for one in ("additions", "deletions")
        ),
    ],
)
def test_an_edit_names_its_file_and_its_lines(tool: str, given: Row, metadata: Row, shown: str, files: Any) -> None:
    """The call shows the path and the lines that it has; the result has those that were really changed."""
    events = translated("opencode", document(tool, given, metadata))
    assert [call_line(payload, "/p") for payload in payloads(events, ev.TOOL_CALL)] == [shown]
    assert [payload.get("structured", {}).get("files") for payload in payloads(events, ev.TOOL_RESULT)] == [files]


@each("status", ["completed", "error"])
def test_a_session_notes_the_end_of_its_sub_agent(status: str) -> None:
    """The call of a sub-agent names its session, and says how it ended."""
    given = {"description": "Look", "prompt": "Look around.", "subagent_type": "explore"}
    events = translated("opencode", document("task", given, {"sessionId": "ses_2"}, status))
    assert payloads(events, ev.AGENT_END) == [{"subagent": "ses_2", "status": status}]


def test_what_follows_a_call_that_has_not_ended_waits_for_its_result() -> None:
    """Parts are shown in their order, so the result of a later call does not come before it."""
    found = document("bash", {"command": "make"}, {}, status="running")
    answer = found["messages"][1]
    answer["info"] = {key: value for key, value in answer["info"].items() if key not in ("finish", "time")}
    ended = {"status": "completed", "input": {"command": "ls"}, "output": "a.py"}
    answer["parts"].append({"id": "prt_3", "type": "tool", "tool": "bash", "callID": "c2", "state": ended})
    events = translated("opencode", found)
    assert [one.payload["toolCallId"] for one in events if one.kind == ev.TOOL_CALL] == ["c1"]
    assert not any(one.kind == ev.TOOL_RESULT for one in events)
