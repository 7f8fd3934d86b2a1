"""The oracle for Copilot CLI: reads one event file into four multisets."""

from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, records, shell_text

# Events about the program itself, or with less detail than another event.
BOOKKEEPING = (
    "hook.", "permission.", "external_tool.", "session.usage", "session.resume", "session.shutdown", "system.message",
    "model.", "subagent.configured", "session.compaction_start", "session.task_complete",
)  # fmt: skip


def read(path: Path) -> Sets:
    """Read every event of the file into one of the four multisets, or count it in `other`."""
    session = _Session()
    for _, _, row in records(path, session.sets.other):
        session.event(as_text(row.get("type")), as_dict(row.get("data")), as_text(row.get("id")))
    return session.sets


class _Session:
    def __init__(self) -> None:
        self.sets = Sets()
        self.calls: set[str] = set()

    def event(self, kind: str, data: Record, native: str) -> None:
        if kind == "user.message":
            self._user(data, native)
        elif kind == "assistant.message":
            self._assistant(data, native)
        elif kind == "tool.execution_start":
            self._call(as_text(data.get("toolCallId")), as_text(data.get("toolName")), data.get("arguments"))
        elif kind == "tool.user_requested":
            self.sets.user(native, shell_text(as_text(as_dict(data.get("arguments")).get("command"))))
        elif kind == "tool.execution_complete" and data.get("isUserRequested"):
            self.sets.other["other:shell-output"] += 1
        elif kind == "tool.execution_complete":
            self.sets.result(as_text(data.get("toolCallId")), result_text(data))
        elif kind == "permission.completed" and as_dict(data.get("result")).get("kind") == "cancelled":
            self.sets.result(as_text(data.get("toolCallId")), as_text(data["result"].get("reason")))  # it has no end
        elif kind == "session.model_change" and not data.get("previousModel"):
            self.sets.other["session.model_change/first"] += 1
        elif kind.startswith(BOOKKEEPING):
            self.sets.other[kind] += 1
        else:
            self.sets.other[f"other:{kind or 'untyped'}"] += 1

    def _user(self, data: Record, native: str) -> None:
        """Read a user message; one that names its source was inserted by the client."""
        if data.get("source"):
            self.sets.other["other:user.message/source"] += 1
        else:
            self.sets.user(native, as_text(data.get("content")))

    def _assistant(self, data: Record, native: str) -> None:
        text = as_text(data.get("content"))
        if text.strip():
            self.sets.assistant(native, text)
        else:
            self.sets.other["assistant.message/empty-text"] += 1
        if as_text(data.get("reasoningText")):
            self.sets.other["other:assistant.message/reasoning"] += 1
        for request in map(as_dict, data.get("toolRequests") or []):
            self._call(as_text(request.get("toolCallId")), as_text(request.get("name")), request.get("arguments"))

    def _call(self, call_id: str, name: str, value: Any) -> None:
        """Count a call once, although it is both requested and started."""
        if call_id in self.calls:
            self.sets.other["call/repeated"] += 1
        else:
            self.calls.add(call_id)
            self.sets.call(call_id, name, free_input(value) or {})


def free_input(value: Any) -> Any:
    """Return the input of a free-text tool without an object around it."""
    inner = value.get("input") if isinstance(value, dict) and len(value) == 1 else None
    return inner if isinstance(inner, str) else value


def result_text(data: Record) -> str:
    """Return what the model received, or the error message if there is no result."""
    result = as_dict(data.get("result"))
    return as_text(result.get("content")) if result else as_text(as_dict(data.get("error")).get("message"))
