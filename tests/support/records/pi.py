"""Pi: one file per session, whose entries form a tree."""

from typing import Any, ClassVar

from tests.support.records.base import Maker, Record, Said, moment


class Pi(Maker):
    """A Pi session."""

    agent = "pi"
    ABSENT: ClassVar[dict[str, str]] = {"sub-agent": "Pi has none", "task": "Pi has no sub-agents"}

    def place(self) -> str:
        """Return the path of the file, in the project's folder."""
        return f".pi/agent/sessions/--home-me-app--/2026-02-10T22-36-00-000Z_{self.session}.jsonl"

    def opening(self) -> list[Record]:
        """Return the header."""
        return [{"type": "session", "version": 3, "id": self.session, "timestamp": moment(), "cwd": self.cwd}]

    def entry(self, kind: str, **fields: Any) -> Record:
        """Return an entry of the tree."""
        return {"type": kind, "id": f"{self.next():08x}", "parentId": None, "timestamp": moment()} | fields

    def records(self, said: Said) -> list[Record]:
        """Return one entry for each item."""
        model = {"provider": "x", "model": "glm-5", "stopReason": "stop"}
        match said.what:
            case "user":
                return [self.entry("message", message={"role": "user", "content": said.text})]
            case "assistant":
                block, usage = {"type": "text", "text": said.text}, {"input": 10, "output": 5}
                return [
                    self.entry("message", message={"role": "assistant", "content": [block], "usage": usage} | model)
                ]
            case "call":
                block = {"type": "toolCall", "id": said.call, "name": "bash", "arguments": {"command": said.text}}
                return [self.entry("message", message={"role": "assistant", "content": [block]} | model)]
            case "result":
                row = {"role": "toolResult", "toolCallId": said.call, "toolName": "bash", "isError": False}
                return [self.entry("message", message=row | {"content": [{"type": "text", "text": said.text}]})]
        return [self.entry("never_seen", note=said.text)]

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return the summaries of a compaction and of a branch."""
        return {kind: [self.entry(kind, summary=text)] for kind in ("compaction", "branch_summary")}

    def wrapped(self, text: str) -> list[Record]:
        """Return a message from an extension."""
        return [self.entry("custom_message", customType="hint", content=text, display=True)]
