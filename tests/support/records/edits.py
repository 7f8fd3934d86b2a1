"""An edit of a file in the form of each agent, and how it can end: made, or in one of the ways that change nothing.

The edit replaces the only line of a file. Where an agent keeps a diff beside a result, it is in all of them.
"""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tests.support.records.antigravity import Antigravity
from tests.support.records.base import Maker, Record, milliseconds, moment
from tests.support.records.claude import Claude
from tests.support.records.cline import Cline
from tests.support.records.codex import Codex, CodexFlat, CodexLegacy
from tests.support.records.copilot import Copilot
from tests.support.records.gemini import Gemini, GeminiDocument
from tests.support.records.kimi import Kimi
from tests.support.records.opencode import OpenCode, OpenCode2
from tests.support.records.pi import Pi
from tests.support.records.qwen import Qwen
from tests.support.records.vscode import VSCode
from tests.support.records.zot import Zot

PATH: Final = "/home/me/app/note.txt"
OLD, NEW = "a note", "an edited note"
DIFF: Final = f"--- {PATH}\n+++ {PATH}\n@@ -1,1 +1,1 @@\n-{OLD}\n+{NEW}\n"
_PATCH: Final = f"*** Begin Patch\n*** Update File: {PATH}\n@@\n-{OLD}\n+{NEW}\n*** End Patch"
_MODEL: Final = "glm-5"


class Edit(NamedTuple):
    """The records of the call, those of the result when it was made, and those of each other end by its name."""

    call: list[Record]
    made: list[Record]
    unmade: dict[str, list[Record]]


def edit_by(maker: Maker, call: str) -> Edit:
    """Return an edit in the form of the maker's agent. One that is never answered has no further record."""
    write = next(_EDITS[kind] for kind in type(maker).__mro__ if kind in _EDITS)
    edit = write(maker, call)
    return edit._replace(unmade=edit.unmade | {"missing": []})


def _antigravity(maker: Any, call: str) -> Edit:
    def ended(text: str, status: str = "DONE") -> list[Record]:
        return [maker.step("MODEL", "CODE_ACTION", f"Created At: now\n{text}", status=status)]

    shown = f"The following changes were made:\n[diff_block_start]\n{DIFF}[diff_block_end]"
    given = {"TargetFile": PATH, "TargetContent": OLD, "ReplacementContent": NEW}
    return Edit(
        [maker.calls("replace_file_content", **given)],
        ended(shown),
        {"failed": ended("target content not found", "ERROR")},
    )


def _claude(maker: Any, call: str) -> Edit:
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{OLD}", f"+{NEW}"]}
    known = {"filePath": PATH, "structuredPatch": [hunk]}
    rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected."

    def result(text: str, *, error: bool = False, **more: Any) -> list[Record]:
        return [maker.result(call, text, error=error, toolUseResult=known | more)]

    return Edit(
        [maker.calls(call, "Edit", file_path=PATH, old_string=OLD, new_string=NEW)],
        result("The file has been updated."),
        {
            "failed": result("<tool_use_error>File has been modified.</tool_use_error>", error=True),
            "declined": result(rejected, error=True),
            "cancelled": result("", interrupted=True),
        },
    )


def _cline(maker: Any, call: str) -> Edit:
    def ended(*, success: bool, **answer: str) -> list[Record]:
        return [maker.result(call, "editor", json.dumps({"query": f"edit:{PATH}", "success": success} | answer))]

    shown = f"Edited {PATH}\n```diff\n-1: {OLD}\n+1: {NEW}\n```"
    return Edit(
        [maker.calls(call, "editor", path=PATH, old_text=OLD, new_text=NEW)],
        ended(success=True, result=shown),
        {"failed": ended(success=False, result="", error="No match found")},
    )


def _codex(maker: Any, call: str) -> Edit:
    given = {"type": "custom_tool_call", "name": "apply_patch", "call_id": call, "input": _PATCH}
    success = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM note.txt\n"

    def output(text: str) -> Record:
        return maker.record("response_item", {"type": "custom_tool_call_output", "call_id": call, "output": text})

    def applied(**how: Any) -> list[Record]:
        if isinstance(maker, CodexFlat):  # only outputs are recorded
            return []
        changes = {PATH: {"type": "update", "unified_diff": DIFF, "move_path": None}}
        ended = {"type": "patch_apply_end", "call_id": call, "changes": changes}
        return [maker.record("event_msg", ended | how)]

    return Edit(
        [maker.record("response_item", given)],
        [*applied(success=True, status="completed"), output(success)],
        {
            "failed": [*applied(success=False, status="failed"), output("Exit code: 1\nOutput:\nFailed to write\n")],
            "not applicable": [output("apply_patch verification failed: Failed to find expected lines in note.txt")],
            "declined": [output("patch rejected by user")],
            "cancelled": [output("aborted by user after 3.1s")],
        },
    )


def _copilot(maker: Any, call: str) -> Edit:
    given = {"toolCallId": call, "arguments": {"path": PATH, "old_str": OLD, "new_str": NEW}}
    message = {"messageId": f"m-{call}", "model": _MODEL, "content": "", "toolRequests": [given | {"name": "edit"}]}
    asked = {"requestId": f"r-{call}", "permissionRequest": {"kind": "write", "toolCallId": call}}

    def decided(kind: str, **more: Any) -> Record:
        answer = {"requestId": f"r-{call}", "toolCallId": call, "result": {"kind": kind} | more}
        return maker.envelope("permission.completed", answer)

    def ended(**how: Any) -> Record:
        shown = {
            "content": "File updated.",
            "detailedContent": f"diff --git a{PATH} b{PATH}\n--- a{PATH}\n+++ b{PATH}\n",
        }
        shown["detailedContent"] += DIFF.split("\n", 2)[2]
        return maker.envelope("tool.execution_complete", {"toolCallId": call, "result": shown} | how)

    rejected = {"message": "The user rejected this tool call.", "code": "denied"}
    return Edit(
        [
            maker.envelope("assistant.message", message),
            maker.envelope("tool.execution_start", given | {"toolName": "edit"}),
            maker.envelope("permission.requested", asked),
        ],
        [decided("approved"), ended(success=True)],
        {
            "failed": [decided("approved"), ended(success=False, error={"message": "No match found"})],
            "declined": [decided("denied-interactively-by-user"), ended(success=False, error=rejected)],
            "cancelled": [decided("cancelled", reason="Session aborted"), maker.envelope("abort", {"reason": "user"})],
        },
    )


def _gemini(maker: Any, call: str) -> Edit:
    row: Record = {"id": f"m{maker.next()}", "timestamp": moment(), "type": "gemini", "content": "", "model": _MODEL}
    given = {"file_path": PATH, "old_string": OLD, "new_string": NEW}
    shown = {"fileDiff": DIFF, "fileName": "note.txt", "filePath": PATH}

    def ended(status: str, **response: str) -> list[Record]:
        answer = {"functionResponse": {"id": call, "name": "replace", "response": response}}
        told = {"id": call, "name": "replace", "args": given, "result": [answer], "status": status}
        return [row | {"toolCalls": [told | {"timestamp": moment(), "resultDisplay": shown}]}]

    return Edit(
        [row],
        ended("success", output="Successfully modified file."),
        {
            "failed": ended("error", error="Failed to edit, 0 occurrences found"),
            "declined": ended("cancelled", error="[Operation Cancelled] Reason: User denied execution."),
            "cancelled": ended("cancelled", error="[Operation Cancelled] Reason: User cancelled the operation."),
            "pending": ended("awaiting_approval"),
        },
    )


def _kimi(maker: Any, call: str) -> Edit:
    asked = maker.record("interaction.request", id=f"approval_{call}", kind="approval", toolCallId=call)

    def decided(decision: str) -> Record:
        return maker.record("interaction.resolved", id=f"approval_{call}", response={"decision": decision})

    def ended(output: str, *, failed: bool) -> list[Record]:
        return [maker.result(call, output=output, **({"isError": True} if failed else {}))]

    refused = 'Tool "Edit" was not run because the user rejected the approval request.'
    return Edit(
        [maker.calls(call, "Edit", path=PATH, old_string=OLD, new_string=NEW)],
        [asked, decided("approved"), *ended("Replaced 1 occurrence.", failed=False)],
        {
            "failed": ended("old_string was not found", failed=True),
            "declined": [asked, decided("rejected"), *ended(refused, failed=True)],
            "cancelled": ended("Interrupted by user", failed=True),
        },
    )


def _opencode(maker: Any, call: str) -> Edit:
    row = maker.message("assistant", parentID=maker.prompt, modelID=_MODEL, finish="tool-calls")
    given = {"filePath": PATH, "oldString": OLD, "newString": NEW}
    kept = {"metadata": {"diff": DIFF, "filediff": {"file": PATH, "patch": DIFF, "additions": 1, "deletions": 1}}}
    running = {"status": "running", "input": given}
    part = maker.part(row, type="tool", tool="edit", callID=call, state=running)
    closed = row | {"data": row["data"] | {"time": {"created": 1, "completed": milliseconds()}}}

    def ended(**state: Any) -> list[Record]:
        return [part | {"data": part["data"] | {"state": running | kept | state}}, closed]

    return Edit(
        [row, part],
        ended(status="completed", output="Edit applied successfully."),
        {
            "failed": ended(status="error", error="oldString not found in content"),
            "declined": ended(status="error", error="The user rejected permission to use this specific tool call."),
            "cancelled": ended(),
        },
    )


def _opencode2(maker: Any, call: str) -> Edit:
    row = maker.row("assistant", agent="build", model={"id": _MODEL, "providerID": "z"}, content=[])
    state: Record = {"status": "running", "input": {"filePath": PATH, "oldString": OLD, "newString": NEW}}
    tool = {"type": "tool", "id": call, "name": "edit"}

    def changed(**more: Any) -> list[Record]:
        return [maker.changed(row, content=[tool | {"state": state | more}], finish="tool-calls")]

    return Edit(
        [row, maker.changed(row, content=[tool | {"state": state}])],
        changed(status="completed", content=[{"type": "text", "text": "Edit applied successfully."}]),
        {"failed": changed(status="error", error={"message": "oldString not found in content"})},
    )


def _pi(maker: Any, call: str) -> Edit:
    given = {"path": PATH, "oldText": OLD, "newText": NEW}
    block = {"type": "toolCall", "id": call, "name": "edit", "arguments": given}
    model = {"provider": "x", "model": _MODEL, "stopReason": "toolUse"}
    row = {"role": "toolResult", "toolCallId": call, "toolName": "edit", "details": {"patch": DIFF}}

    def result(text: str, *, failed: bool) -> list[Record]:
        return [maker.entry("message", message=row | {"content": [{"type": "text", "text": text}], "isError": failed})]

    return Edit(
        [maker.entry("message", message={"role": "assistant", "content": [block]} | model)],
        result("Successfully replaced 1 block.", failed=False),
        {"failed": result("Could not find the text.", failed=True), "cancelled": result("Aborted", failed=True)},
    )


def _qwen(maker: Any, call: str) -> Edit:
    shown = {"fileDiff": DIFF, "fileName": "note.txt", "filePath": PATH, "originalContent": OLD, "newContent": NEW}

    def ended(status: str, **response: str) -> list[Record]:
        return [maker.result(call, "edit", response, shown, status)]

    return Edit(
        [maker.calls(call, "edit", file_path=PATH, old_string=OLD, new_string=NEW)],
        ended("success", output="The file has been updated."),
        {
            "failed": ended("error", error="Failed to edit, 0 occurrences found"),
            "declined": ended("cancelled", error="[Operation Cancelled] Reason: User did not allow tool call"),
            "cancelled": ended("cancelled", error="[Operation Cancelled] Reason: User intentionally cancelled."),
        },
    )


def _vscode(maker: Any, call: str) -> Edit:
    given = {"filePath": PATH, "oldString": OLD, "newString": NEW}
    row = {"id": call, "name": "replace_string_in_file", "arguments": json.dumps(given)}
    asked = maker.request("Edit it.")
    metadata: Record = {"toolCallRounds": [{"response": "", "toolCalls": [row]}], "toolCallResults": {}}

    def ended(text: str) -> list[Record]:
        results = {"toolCallResults": {call: {"content": [{"value": text}]}}}
        return [asked | {"modelState": {"value": 1}, "result": {"metadata": metadata | results}}]

    return Edit(
        [asked | {"modelState": {"value": 1}, "result": {"metadata": metadata}}], ended("The file was edited."), {}
    )


def _zot(maker: Any, call: str) -> Edit:
    def row(role: str, block: Record) -> list[Record]:
        return [{"type": "message", "message": {"role": role, "content": [block], "time": moment()}}]

    def result(text: str, *, failed: bool) -> list[Record]:
        return row("tool", {"call_id": call, "content": [{"text": text}], "is_error": failed})

    return Edit(
        row("assistant", {"id": call, "name": "write", "arguments": {"path": PATH, "content": NEW}}),
        result("wrote the file", failed=False),
        {"failed": result("no such folder", failed=True)},
    )


_EDITS: Final[dict[type[Maker], Callable[[Maker, str], Edit]]] = {
    Antigravity: _antigravity, Claude: _claude, Cline: _cline, Codex: _codex, CodexLegacy: _codex, CodexFlat: _codex, Copilot: _copilot, Gemini: _gemini,
    GeminiDocument: _gemini, Kimi: _kimi, OpenCode: _opencode, OpenCode2: _opencode2, Pi: _pi, Qwen: _qwen,
    VSCode: _vscode, Zot: _zot,
}  # fmt: skip
