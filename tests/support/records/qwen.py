"""Qwen Code: one file per session, in a folder for the project; the files of sub-agents are beside it."""

from typing import Any

from tests.support.records.base import Maker, Record, Said, moment


class Qwen(Maker):
    """A Qwen Code session."""

    agent = "qwen"

    def place(self) -> str:
        """Return the path of the file, or of the sub-agent's."""
        project = ".qwen/projects/-home-me-app"
        name = f"subagents/{self.session}/agent-{self.subagent}" if self.subagent else f"chats/{self.session}"
        return f"{project}/{name}.jsonl"

    def record(self, kind: str, origin: str, **fields: Any) -> Record:
        """Return a record with what all have, written by `origin`; those of a sub-agent do not say by whom."""
        side = {"isSidechain": True, "agentId": self.subagent} if self.subagent else {"provenance": origin}
        return {
            "uuid": f"{self.session[:8]}-{self.subagent or '0000'}-4000-8000-{self.next():012d}", "parentUuid": None,
            "sessionId": self.session, "timestamp": moment(), "type": kind, "cwd": self.cwd, "version": "0.24.4",
            "gitBranch": "main",
        } | side | fields  # fmt: skip

    def user(self, text: str, **fields: Any) -> Record:
        """Return a typed message."""
        return self.record("user", "real_user", message={"role": "user", "parts": [{"text": text}]}, **fields)

    def says(self, *parts: Record, **fields: Any) -> Record:
        """Return an answer of the model."""
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "cachedContentTokenCount": 0, "totalTokenCount": 15}
        answer = {"model": "qwen3-coder", "message": {"role": "model", "parts": list(parts)}, "usageMetadata": usage}
        return self.record("assistant", "assistant_output", **answer | fields)

    def calls(self, call: str, name: str, **arguments: Any) -> Record:
        """Return an answer that calls a tool."""
        return self.says({"functionCall": {"id": call, "name": name, "args": arguments}})

    def result(self, call: str, name: str, response: Record, display: Any = "", status: str = "success") -> Record:
        """Return the result of a call."""
        part = {"functionResponse": {"id": call, "name": name, "response": response}}
        shown = {"callId": call, "status": status, "resultDisplay": display}
        return self.record("tool_result", "tool_result", message={"parts": [part]}, toolCallResult=shown)

    def records(self, said: Said) -> list[Record]:
        """Return one record for each item."""
        match said.what:
            case "user":
                return [self.user(said.text)]
            case "assistant":
                return [self.says({"text": said.text})]
            case "call":
                return [self.calls(said.call, "run_shell_command", command=said.text)]
            case "result":
                printed = {"type": "shell_result", "exitCode": 0, "output": said.text}
                return [self.result(said.call, "run_shell_command", {"output": f"Output: {said.text}"}, printed)]
        return [self.record("never-seen", "system", note=said.text)]

    def note(self, subtype: str, **payload: Any) -> Record:
        """Return a record of the client about the session."""
        return self.record("system", "system", subtype=subtype, systemPayload=payload)

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return the report of a sub-agent."""
        head = '<task-id>helper-1</task-id>\n<status>completed</status>\n<summary>Agent "Review" completed.</summary>'
        note = f"<task-notification>\n{head}\n<result>{text}</result>\n</task-notification>"
        shown = {"systemPayload": {"displayText": "Background agent completed."}, "subtype": "notification"}
        parts = {"message": {"role": "user", "parts": [{"text": note}]}}
        return {"report": [self.record("user", "system", **parts, **shown)]}

    def wrapped(self, text: str) -> list[Record]:
        """Return what a hook adds to a prompt, and a prompt that a timer sends."""
        hook = {"text": f"<qwen:user-prompt-submit-context>\n{text}\n</qwen:user-prompt-submit-context>"}
        timer = {"subtype": "cron", "systemPayload": {"displayText": text}}
        return [
            self.record("user", "real_user", message={"role": "user", "parts": [hook]}),
            self.record("user", "system", message={"role": "user", "parts": [{"text": text}]}, **timer),
        ]
