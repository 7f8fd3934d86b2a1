"""Session files as the agents write them: each method returns the lines of one thing that was said or done."""

import json
from datetime import UTC, datetime, timedelta

CWD = "/home/me/app"
_BEGAN = datetime(2026, 2, 10, 22, 36, tzinfo=UTC)


def _json(row):
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


class _Session:
    def __init__(self, session, root):
        self.id = session
        self.path = root.joinpath(*self.where, self.file.format(session))
        self.count = 0
        self._call = ""

    def _next(self):
        """Return the number and the time of the next record."""
        self.count += 1
        time = _BEGAN + timedelta(seconds=self.count)
        return self.count, time.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def append(self, *records):
        """Write records at the end of the session's file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write(b"".join(records))


class Claude(_Session):
    """A session of Claude Code."""

    agent = "claude"
    where = ("projects", "-home-me-app")
    file = "{}.jsonl"

    def begin(self):
        return b""

    def user(self, text):
        return self._record("user", {"role": "user", "content": text}, promptSource="typed")

    def said(self, text):
        return self._assistant({"type": "text", "text": text})

    def thought(self, text):
        return self._assistant({"type": "thinking", "thinking": text})

    def called(self, text):
        self._call = f"toolu_{self.id[:8]}_{self.count}"
        arguments = {"command": f"true {text}", "description": text}
        return self._assistant({"type": "tool_use", "id": self._call, "name": "Bash", "input": arguments})

    def result(self, text, *, failed=False):
        block = {"type": "tool_result", "tool_use_id": self._call, "content": text, "is_error": failed}
        return self._record("user", {"role": "user", "content": [block]})

    def _assistant(self, block):
        usage = {"input_tokens": 1, "output_tokens": 2}
        message = {"id": f"msg_{self.count}", "model": "claude-opus-4-6", "role": "assistant", "content": [block]}
        return self._record("assistant", message | {"stop_reason": "end_turn", "usage": usage})

    def _record(self, kind, message, **fields):
        number, time = self._next()
        envelope = {"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": CWD, "sessionId": self.id}
        envelope |= {"version": "2.1.39", "gitBranch": "main", "type": kind, "uuid": f"{self.id[:8]}-{number}"}
        return _json(envelope | fields | {"timestamp": time, "message": message})


class Codex(_Session):
    """A thread of Codex, in the paginated form."""

    agent = "codex"
    where = ("sessions", "2026", "02", "10")
    file = "rollout-2026-02-10T22-36-18-{}.jsonl"

    def begin(self):
        meta = {"session_id": self.id, "id": self.id, "cwd": CWD, "originator": "codex_exec", "cli_version": "0.169.0"}
        meta |= {"source": "exec", "thread_source": "user", "history_mode": "paginated"}
        context = {"turn_id": self.id, "cwd": CWD, "model": "gpt-5.1-codex", "effort": "medium"}
        return self._record("session_meta", meta) + self._record("turn_context", context)

    def user(self, text):
        return self._item({"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": text}]})

    def said(self, text):
        content = [{"type": "Text", "text": text}]
        return self._item({"type": "AgentMessage", "id": "a", "content": content, "phase": "commentary"})

    def thought(self, text):
        return self._item({"type": "Reasoning", "id": "r", "summary_text": [text], "raw_content": []})

    def called(self, text):
        self._call = f"call_{self.id[:8]}_{self.count}"
        arguments = json.dumps({"cmd": f"true {text}"})
        row = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": self._call}
        return self._record("response_item", row)

    def result(self, text, *, failed=False):
        output = f"Process exited with code {int(failed)}\nOutput:\n{text}\n"
        return self._record("response_item", {"type": "function_call_output", "call_id": self._call, "output": output})

    def _item(self, item):
        return self._record("event_msg", {"type": "item_completed", "turn_id": self.id, "item": item})

    def _record(self, kind, payload):
        number, time = self._next()
        return _json({"timestamp": time, "ordinal": number - 1, "type": kind, "payload": payload})
