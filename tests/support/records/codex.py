"""Codex: one file per rollout, paginated or, before records were numbered, legacy."""

import json
from typing import Any, ClassVar

from tests.support.records.base import THREAD, Maker, Record, Said


class Codex(Maker):
    """A Codex thread, with one second between records."""

    agent = "codex"
    SESSION = THREAD
    paginated: ClassVar[bool] = True
    ABSENT: ClassVar[dict[str, str]] = {"sub-agent": "a thread of its own says so in its first record, not by its path"}
    parent: str = ""

    def place(self, folder: str = "2026/02/10", rollout: str = "") -> str:
        """Return the path of the thread, or of another rollout of it."""
        name = f"rollout-2026-02-10T23-36-18-{self.session}{f'_{rollout}' if rollout else ''}.jsonl"
        return f".codex/sessions/{folder}/{name}"

    def record(self, kind: str, payload: Record) -> Record:
        """Return a record with its envelope."""
        row: Record = {"timestamp": f"2026-02-10T22:{36 + self.count // 60:02d}:{self.count % 60:02d}.000Z"}
        if self.paginated:
            row["ordinal"] = self.count
        self.count += 1
        return row | {"type": kind, "payload": payload}

    def meta(self, **fields: Any) -> Record:
        """Return the first record of a rollout."""
        payload = {
            "id": self.session, "timestamp": "2026-02-10T22:36:00.000Z", "cwd": self.cwd, "originator": "codex-tui",
            "cli_version": "0.169.0", "source": "cli", "thread_source": "user",
        }  # fmt: skip
        mode = {"history_mode": "paginated"} if self.paginated else {}
        return self.record("session_meta", payload | mode | fields)

    def opening(self) -> list[Record]:
        """Return the first record of a rollout."""
        spawned = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": self.parent}}}}
        return [self.meta(**(spawned | {"thread_source": "subagent"} if self.parent else {}))]

    def child(self) -> "Codex":
        """Return a thread that this one starts."""
        thread = type(self)(self.world, "01a1f8a0-eea5-7302-86e3-f8e0f705330b")
        thread.parent = self.session
        return thread

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a message of another agent, a task of another thread's agent, and a summary."""
        head = "Message Type: MESSAGE\nTask name: /root\nSender: /root/tests\nPayload:\n"
        content = [{"type": "input_text", "text": f"{head}{text}"}]
        message = {"type": "agent_message", "author": "/root/tests", "recipient": "/root", "content": content}
        return {
            "message": [self.record("response_item", message)],
            "delegated": [self.user(f"<codex_delegation>\n  <input>{text}</input>\n</codex_delegation>")],
            "summary": [self.record("compacted", {"message": text})],
        }

    def user(self, text: str) -> Record:
        """Return a typed message, in the form that katod reads."""
        if not self.paginated:
            return self.record("event_msg", {"type": "user_message", "message": text})
        return self._item("UserMessage", content=[{"type": "text", "text": text}])

    typed = user

    def says(self, text: str) -> Record:
        """Return an assistant message, in the form that katod reads."""
        if not self.paginated:
            block = {"type": "output_text", "text": text}
            return self.record("response_item", {"type": "message", "role": "assistant", "content": [block]})
        return self._item("AgentMessage", content=[{"type": "Text", "text": text}])

    def thinks(self, text: str) -> Record:
        """Return the assistant's thinking (paginated rollouts only)."""
        return self._item("Reasoning", summary_text=[text], raw_content=[])

    def runs(self, call: str, command: str) -> Record:
        """Return the call of a shell command."""
        given = {"type": "function_call", "name": "exec_command", "call_id": call}
        return self.record("response_item", given | {"arguments": json.dumps({"cmd": command})})

    def result(self, call: str, text: str, *, error: bool = False) -> Record:
        """Return the result of a command."""
        output = f"Process exited with code 1\nOutput:\n{text}" if error else text
        return self.record("response_item", {"type": "function_call_output", "call_id": call, "output": output})

    def _item(self, kind: str, **fields: Any) -> Record:
        item = {"type": kind, "id": f"item-{self.count}"} | fields
        return self.record("event_msg", {"type": "item_completed", "thread_id": self.session, "item": item})

    def records(self, said: Said) -> list[Record]:
        """Return the record of an item that katod reads."""
        match said.what:
            case "user":
                return [self.user(said.text)]
            case "assistant":
                return [self.says(said.text)]
            case "call":
                return [self.runs(said.call, said.text)]
            case "result":
                return [self.result(said.call, said.text)]
        return [self.record("never_seen", {"note": said.text})]

    def wrapped(self, text: str) -> list[Record]:
        """Return the client's description of the environment."""
        return [self.user(f"<environment_context>\n{text}\n</environment_context>")]


class CodexLegacy(Codex):
    """A Codex thread from before records were numbered."""

    paginated = False


class CodexFlat(CodexLegacy):
    """A Codex thread of 2025: bare items without times; only the client's first text names the directory."""

    ABSENT: ClassVar[dict[str, str]] = Codex.ABSENT | {
        "task": "its head does not say that a thread was started by another"
    }

    def record(self, kind: str, payload: Record) -> Record:
        """Return a bare item."""
        self.count += 1
        return payload if "type" in payload else {"type": kind} | payload

    def meta(self, **fields: Any) -> Record:
        """Return the first record of a rollout."""
        given = {"id": self.session, "timestamp": "2026-02-10T22:36:00.000Z", "instructions": None, "git": None}
        return given | fields

    def opening(self) -> list[Record]:
        """Return what the client writes before the first message."""
        context = self.user(f"<environment_context>\n  <cwd>{self.cwd}</cwd>\n</environment_context>")
        return [self.meta(), {"record_type": "state"}, context]

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a task of another thread's agent."""
        return {"delegated": super().between(text)["delegated"]}

    def user(self, text: str) -> Record:
        """Return a typed message."""
        block = {"type": "input_text", "text": text}
        return self.record("message", {"type": "message", "id": None, "role": "user", "content": [block]})
