"""The oracle for Kimi Code 2: reads the wire file of one agent into the multisets."""

from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, joined_texts, records, shell_text

# Records of the client about itself, or with what another record has.
BOOKKEEPING = (
    "agent.message.", "agent.turn.", "llm.", "token_counting.", "file_history.", "tools.", "runtime.", "plugin.",
    "prompt.completed", "prompt.aborted", "turn.steer", "turn.step.", "subagent.started", "permission.record_",
    "loop/step.begin", "usage.record", "agent.switched",
)  # fmt: skip


def read(path: Path) -> Sets:
    """Read every record of the file into one of the multisets, or count it in `other`."""
    reader = _Wire()
    for _, _, row in records(path, reader.sets.other):
        reader.record(as_text(row.get("type")), row)
    return reader.sets


class _Wire:
    def __init__(self) -> None:
        self.sets = Sets()
        self.is_old = False  # before 1.4: messages as they are in the context, and no other records of them

    def record(self, kind: str, row: Record) -> None:
        if kind == "metadata":
            numbers = [int(part) for part in as_text(row.get("protocol_version")).split(".") if part.isdecimal()]
            self.is_old = bool(numbers) and numbers < [1, 4]
        if kind == "turn.prompt":
            self._prompt(row)
        elif kind == "prompt.steered":
            self.sets.user(as_text(row.get("messageId")), typed(row.get("content")))
        elif kind == "context.append_loop_event":
            self._loop(as_dict(row.get("event")))
        elif kind == "context.append_message" and _phase(row) == "input":
            self.sets.user("", shell_text(typed(as_dict(row["message"]).get("content")).split("bash-input>")[1][:-2]))
        elif kind == "context.append_message" and self.is_old:
            self._message(as_dict(row.get("message")))
        else:
            known = kind.startswith(BOOKKEEPING) or kind in ("metadata", "context.append_message")
            self.sets.other[kind if known else f"other:{kind or 'untyped'}"] += 1

    def _prompt(self, row: Record) -> None:
        origin = as_text(as_dict(row.get("origin")).get("kind"))
        if origin in ("user", "system_trigger"):  # of a sub-agent, the task that it was given
            text = typed(row.get("input"))
            if origin == "system_trigger" and text.startswith("<git-context>") and "</git-context>" in text:
                text = text.partition("</git-context>")[2].strip()
            self.sets.user(as_text(row.get("promptId")), text)
        else:
            self.sets.other[f"other:turn.prompt/{origin}"] += 1

    def _loop(self, event: Record) -> None:
        kind, part = as_text(event.get("type")), as_dict(event.get("part"))
        if kind == "content.part" and as_text(part.get("text")).strip():
            self.sets.assistant(as_text(event.get("uuid")), as_text(part.get("text")))
        elif kind == "tool.call":
            self.sets.call(as_text(event.get("toolCallId")), as_text(event.get("name")), event.get("args") or {})
        elif kind == "tool.result":
            result = as_dict(event.get("result"))
            self.sets.result(as_text(event.get("toolCallId")), joined_texts(result.get("output", result.get("error"))))
        elif kind == "step.end" and (counts := as_dict(event.get("usage"))):
            self.sets.usage(as_text(event.get("uuid")), counts, ("inputOther", "output"))
        else:
            name = f"loop/{kind}" + (f"/{as_text(part.get('type'))}" if part else "")
            self.sets.other[name if name.startswith(BOOKKEEPING) else f"other:{name}"] += 1

    def _message(self, message: Record) -> None:
        role, text = as_text(message.get("role")), typed(message.get("content"))
        if role == "user":
            self.sets.user("", text)
        elif role == "assistant":
            self.sets.assistant("", text)
        else:
            self.sets.other[f"other:context.append_message/{role}"] += 1


def _phase(row: Record) -> str:
    """Return which part of a command that the person ran with `!` a message is, empty if none."""
    origin = as_dict(as_dict(row.get("message")).get("origin"))
    return as_text(origin.get("phase")) if origin.get("kind") == "shell_command" else ""


def typed(content: Any) -> str:
    """Return the texts of a prompt, which may have images between them."""
    return joined_texts([block for block in content or [] if as_dict(block).get("type") == "text"])
