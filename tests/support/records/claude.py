"""Claude Code: one file per session, one record per line."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.records.base import Maker, Record, Said

_BEGAN = datetime(2026, 2, 10, 22, 36, 18, tzinfo=UTC)


class Claude(Maker):
    """A Claude Code session, with one minute between records."""

    agent = "claude"

    def place(self, folder: str = "-home-me-app") -> str:
        """Return the path of the session, or of its sub-agent."""
        base = f".claude/projects/{folder}/{self.session}"
        return f"{base}/subagents/agent-{self.subagent}.jsonl" if self.subagent else f"{base}.jsonl"

    def record(self, kind: str, **fields: Any) -> Record:
        """Return a record with the common envelope."""
        number = self.next()
        time = _BEGAN + timedelta(minutes=number)
        return {
            "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.1.39", "gitBranch": "main", "type": kind,
            "uuid": f"{self.session[:8]}-0000-4000-8000-{number:012d}",
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        } | fields  # fmt: skip

    def user(self, text: Any, **fields: Any) -> Record:
        """Return a typed message, or one with a list of blocks."""
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def typed(self, text: str) -> Record:
        """Return a message that is explicitly marked as typed, whatever it begins with."""
        return self.user(text, promptSource="typed")

    def says(self, *blocks: Any, **fields: Any) -> Record:
        """Return an assistant message of texts or blocks."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {
            "id": f"msg_{self.count + 1}", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
            "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5},
        }  # fmt: skip
        return self.record("assistant", message=message | fields.pop("message", {}), **fields)

    def thinks(self, text: str) -> Record:
        """Return a thinking block of the assistant."""
        return self.says({"type": "thinking", "thinking": text})

    def calls(self, call: str, name: str, **arguments: Any) -> Record:
        """Return a tool call."""
        return self.says({"type": "tool_use", "id": call, "name": name, "input": arguments})

    def runs(self, call: str, command: str) -> Record:
        """Return the call of a shell command."""
        return self.calls(call, "Bash", command=command)

    def result(self, call: str, content: Any, *, error: bool = False, **fields: Any) -> Record:
        """Return the result of a tool call."""
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.user([block | ({"is_error": True} if error else {})], **({"toolUseResult": content} | fields))

    def records(self, said: Said) -> list[Record]:
        """Return one record for each item."""
        side = {"isSidechain": True, "agentId": self.subagent} if self.subagent else {}
        match said.what:
            case "user":
                return [self.user(said.text, **side)]
            case "assistant":
                return [self.says(said.text, **side)]
            case "call":
                return [self.runs(said.call, said.text)]
            case "result":
                return [self.result(said.call, said.text)]
        return [self.record("never-seen", note=said.text)]

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return messages of teammates, in records of two kinds, a report, a summary, and a message of a peer."""
        one = (
            f'<teammate-message teammate_id="reviewer" color="blue" summary="It is done">\n{text}\n</teammate-message>'
        )
        two = f"{one}\n\n{one.replace('reviewer', 'tester')}"
        queued = {"type": "queued_command", "commandMode": "prompt", "prompt": two}
        peer = {"type": "queued_command", "commandMode": "prompt", "prompt": text}
        note = f'<summary>Agent "Review" finished</summary>\n<result>{text}</result>'
        task = f"<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n{note}\n</task-notification>"
        return {
            "teammates": [self.user(two)],
            "queued": [self.record("attachment", attachment=queued)],
            "report": [self.user(task, promptSource="system", origin={"kind": "task-notification"})],
            "summary": [self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)],
            "peer": [self.record("attachment", attachment=peer | {"origin": {"kind": "peer", "from": "worker"}})],
        }

    def wrapped(self, text: str) -> list[Record]:
        """Return the output of a local command."""
        return [self.user(f"<local-command-stdout>\n{text}\n</local-command-stdout>")]
