"""Copilot CLI: one folder per session, one event per line."""

from typing import ClassVar

from tests.support.records.base import Maker, Record, Said, moment


class Copilot(Maker):
    """A Copilot CLI session."""

    agent = "copilot"
    ABSENT: ClassVar[dict[str, str]] = {
        "sub-agent": "what a sub-agent says is in the session's own file",
        "task": "a sub-agent has no file of its own",
    }

    def place(self) -> str:
        """Return the file in the folder of the session."""
        return f".copilot/session-state/{self.session}/events.jsonl"

    def opening(self) -> list[Record]:
        """Return the start event."""
        data = {"sessionId": self.session, "copilotVersion": "1.0.70", "context": {"cwd": self.cwd, "branch": "main"}}
        return [self.envelope("session.start", data)]

    def envelope(self, kind: str, data: Record) -> Record:
        """Return a record with its envelope."""
        return {
            "type": kind,
            "data": data,
            "id": f"e{self.next()}",
            "timestamp": moment(),
            "parentId": None,
        }

    def records(self, said: Said) -> list[Record]:
        """Return the events of one item."""
        model = "claude-sonnet-4.6"
        match said.what:
            case "user":
                doubled = {"content": said.text, "transformedContent": f"<now>…</now>\n{said.text}", "attachments": []}
                return [self.envelope("user.message", doubled)]
            case "assistant":
                data = {"messageId": f"m{self.count}", "model": model, "content": said.text, "toolRequests": []}
                return [self.envelope("assistant.message", data | {"outputTokens": 5})]
            case "call":
                asked = {"toolCallId": said.call, "name": "bash", "arguments": {"command": said.text}}
                data = {"messageId": f"m{self.count}", "model": model, "content": "", "toolRequests": [asked]}
                begun = {"toolCallId": said.call, "toolName": "bash", "arguments": {"command": said.text}}
                return [self.envelope("assistant.message", data), self.envelope("tool.execution_start", begun)]
            case "result":
                data = {"toolCallId": said.call, "success": True, "result": {"content": said.text}}
                return [self.envelope("tool.execution_complete", data)]
        return [self.envelope("never.seen", {"note": said.text})]

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a message of another session's agent, and a summary."""
        return {
            "message": [self.envelope("user.message", {"content": text, "source": f"agent-{self.session}"})],
            "summary": [self.envelope("session.compaction_complete", {"success": True, "summaryContent": text})],
        }

    def wrapped(self, text: str) -> list[Record]:
        """Return instructions that the client discovered."""
        return [self.envelope("user.message", {"content": text, "source": "instruction-discovery"})]
