"""Codex: calls, outputs, and the records of executions between them."""

from typing import Any, Final

from katod import events as ev
from katod.agents.codex.builder import CodexBuilder
from katod.agents.codex.edits import MOST_FILES, patch_of
from katod.agents.codex.script import CODE_MODE
from katod.agents.codex.shell import OF_PERSON
from katod.agents.codex.tools import (
    QUESTION_TOOL,
    call_id,
    call_payload,
    finding,
    judged,
    output_payload,
    prompts,
    responses,
)
from katod.agents.fields import safe_repr, text_of
from katod.agents.toolcalls import OpenCalls, call_of
from katod.events import Event
from katod.model import LONGEST_NAME, Record

_MOST_REMEMBERED: Final = 16_384  # characters of the answers offered by one call, until it is answered


class CodexCalls:
    """Translates calls and outputs; the outcome of a call is remembered until its output arrives."""

    def __init__(self, new: CodexBuilder, calls: OpenCalls[dict[str, Any]]) -> None:
        self._new = new
        self._calls = calls

    def call(self, record: Record, row: dict[str, Any]) -> list[Event]:
        """Translate a call and the questions it asks."""
        payload = call_payload(row, self._new.now.get("cwd", ""))
        model = self._new.now.get("model", "")
        call = payload["toolCallId"]
        known: dict[str, Any] = {"name": payload["name"][:LONGEST_NAME]}
        if row.get("name") == CODE_MODE:
            known["script"] = payload["family"]
        asked = prompts(call, payload["input"]) if payload["name"] == QUESTION_TOOL else []
        labels = {q["decisionId"]: [option["label"] for option in q["options"]] for q in asked}
        if payload["name"] == QUESTION_TOOL and len(safe_repr(labels)) <= _MOST_REMEMBERED:
            known["labels"] = labels
        self._calls.replace(call, known)
        out = [self._new.event(ev.TOOL_CALL, payload, record, model=model)]
        return out + [
            self._new.event(ev.DECISION_PROMPT, q, record, f"0q{i}", model=model) for i, q in enumerate(asked)
        ]

    def output(self, record: Record, row: dict[str, Any]) -> list[Event]:
        """Translate an output and the answers in it."""
        payload = output_payload(row, self._new)
        call = payload["toolCallId"]
        known = self._calls.close(call) or {}
        out = [self._new.event(ev.TOOL_RESULT, judged(payload | known.get("found", {})), record)]
        if known.get("name") == QUESTION_TOOL:
            rows = responses(call, payload["text"], known.get("labels", {}))
            out += [self._new.event(ev.DECISION_RESPONSE, a, record, f"0a{i}") for i, a in enumerate(rows)]
        return out

    def execution(self, record: Record, row: dict[str, Any]) -> list[Event]:
        """Keep the outcome of a call for its result; one that comes after the result is an event of its own."""
        call, found = call_id(row), finding(row)
        if (known := self._calls.get(call)) is not None:
            known["found"] = found
            return []
        if not call or not found or row.get("source") == OF_PERSON:
            return []
        if "structured" in found and (script := self._script()):
            return self._edit_of(script, record, row, found)
        payload = {"text": f"{call} ended", "subtype": "late-result", "data": {"toolCallId": call} | found}
        return [self._new.event(ev.PROVIDER_INFO, payload, record)]

    def _script(self) -> dict[str, Any] | None:
        """Return the state of the latest script that is still running."""
        scripts = [known for known in self._calls.state().values() if "script" in known]
        return scripts[-1] if scripts else None

    def _edit_of(
        self, script: dict[str, Any], record: Record, row: dict[str, Any], found: dict[str, Any]
    ) -> list[Event]:
        """Translate an edit made by a script: a call of its own, unless the script itself was shown as that edit."""
        if script["script"] == "edit":
            before = script.get("found", {}).get("structured", {}).get("files", [])
            files = [*before, *found["structured"]["files"]][:MOST_FILES]
            script["found"] = {"structured": {"files": files}}
            return []
        call, cwd = call_id(row), self._new.now.get("cwd", "")
        made = call_of(call, "apply_patch", patch_of(row["changes"]), cwd)
        said = {"toolCallId": call, "text": text_of(row.get("stdout")) or text_of(row.get("stderr"))}
        return [
            self._new.event(ev.TOOL_CALL, made, record, model=self._new.now.get("model", "")),
            self._new.event(ev.TOOL_RESULT, judged(said | found), record, "0r"),
        ]
