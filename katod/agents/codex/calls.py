"""Codex: calls, outputs, and the records of executions between them."""

from typing import Any, Final

from katod import events as ev
from katod.agents.codex.builder import CodexBuilder
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
from katod.agents.fields import safe_repr
from katod.agents.toolcalls import OpenCalls
from katod.events import Event
from katod.model import LONGEST_NAME, Record

_MOST_REMEMBERED: Final = 16_384  # characters of the answers offered by one call, until it is answered


class Calls:
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
        if not call or not found:
            return []
        payload = {"text": f"{call} ended", "subtype": "late-result", "data": {"toolCallId": call} | found}
        return [self._new.event(ev.PROVIDER_INFO, payload, record)]
