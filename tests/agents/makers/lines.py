"""Makers of the agents that append lines."""

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

from tests.agents.makers.base import CWD, Maker, Record, Said, moment
from tests.world import Claude as ClaudeRecords
from tests.world import Codex as CodexRecords


class Claude(Maker):
    """Claude Code."""

    agent = "claude"

    def place(self) -> str:
        """A file a session."""
        self.make = ClaudeRecords(self.session)
        folder = ".claude/projects/-home-me-app"
        if self.subagent:
            return f"{folder}/{self.session}/subagents/agent-{self.subagent}.jsonl"
        return f"{folder}/{self.session}.jsonl"

    def records(self, said: Said) -> list[Record]:
        """One record each."""
        side = {"isSidechain": True, "agentId": self.subagent} if self.subagent else {}
        match said.what:
            case "user":
                return [self.make.user(said.text, **side)]
            case "assistant":
                return [self.make.says(said.text, **side)]
            case "call":
                return [self.make.calls(said.call, "Bash", command=said.text)]
            case "result":
                return [self.make.result(said.call, said.text)]
        return [self.make.record("never-seen", note=said.text)]

    def wrapped(self, text: str) -> list[Record]:
        """Output of a local command."""
        return [self.make.user(f"<local-command-stdout>\n{text}\n</local-command-stdout>")]


class Codex(Maker):
    """Codex, paginated."""

    agent = "codex"
    paginated = True
    ABSENT: ClassVar[dict[str, str]] = {"sub-agent": "a thread of its own says so in its first record, not by its path"}

    def place(self) -> str:
        """A file a rollout."""
        self.make = CodexRecords(self.session, paginated=self.paginated)
        return f".codex/sessions/2026/02/10/rollout-2026-02-10T22-36-00-{self.session}.jsonl"

    def begin(self) -> None:
        """The first record."""
        self.put(self.make.meta())

    def records(self, said: Said) -> list[Record]:
        """The form that counts, of each."""
        match said.what:
            case "user":
                return [self.make.user(said.text)]
            case "assistant":
                return [self.make.says(said.text)]
            case "call":
                given = {"type": "function_call", "name": "exec_command", "call_id": said.call}
                return [self.make.record("response_item", given | {"arguments": json.dumps({"cmd": said.text})})]
            case "result":
                given = {"type": "function_call_output", "call_id": said.call, "output": said.text}
                return [self.make.record("response_item", given)]
        return [self.make.record("never_seen", {"note": said.text})]

    def wrapped(self, text: str) -> list[Record]:
        """The environment."""
        return [self.make.user(f"<environment_context>\n{text}\n</environment_context>")]


class CodexLegacy(Codex):
    """Codex, before it numbered its records."""

    paginated = False


class Cursor(Maker):
    """Cursor."""

    agent = "cursor"
    ABSENT: ClassVar[dict[str, str]] = {
        "result": "results stand nowhere in a transcript",
        "fork": "no fork of a transcript is known",
        "cwd": "no record tells it",
    }

    def place(self) -> str:
        """A folder a session."""
        folder = f".cursor/projects/home-me-app/agent-transcripts/{self.session}"
        return f"{folder}/subagents/{self.subagent}.jsonl" if self.subagent else f"{folder}/{self.session}.jsonl"

    def records(self, said: Said) -> list[Record]:
        """A line each, without the result."""
        match said.what:
            case "user":
                stamp = datetime.now(UTC).strftime("%A, %b %-d, %Y, %-I:%M %p (UTC+0)")
                return [_cursor("user", f"<timestamp>{stamp}</timestamp>\n<user_query>\n{said.text}\n</user_query>")]
            case "assistant":
                return [_cursor("assistant", said.text)]
            case "call":
                block = {"type": "tool_use", "name": "Shell", "input": {"command": said.text}}
                return [{"role": "assistant", "message": {"content": [block]}}]
            case "result":
                return []
        return [{"type": "never_seen", "note": said.text}]

    def wrapped(self, text: str) -> list[Record]:
        """What the client tells the model."""
        return [_cursor("user", f"<available_subagent_types>\n{text}\n</available_subagent_types>")]


def _cursor(role: str, text: str) -> Record:
    return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}


class Zot(Maker):
    """zot."""

    agent = "zot"
    ABSENT: ClassVar[dict[str, str]] = {
        "sub-agent": "sub-agents have sessions of their own",
    }

    def place(self) -> str:
        """A folder a project."""
        return f".local/state/zot/sessions/0123456789abcdef/20260210-223600-{self.session[:8]}.jsonl"

    def begin(self) -> None:
        """The meta row."""
        meta = {
            "id": self.session,
            "cwd": CWD,
            "model": "glm-5",
            "provider": "x",
            "started": moment(),
            "version": "0.2",
        }
        self.put({"type": "meta", "meta": meta})

    def records(self, said: Said) -> list[Record]:
        """A row each."""
        match said.what:
            case "user":
                return [_zot("user", {"text": said.text})]
            case "assistant":
                usage = {"type": "usage", "usage": {"input": 10, "output": 5}, "cumulative": {}}
                return [_zot("assistant", {"text": said.text}), usage]
            case "call":
                return [_zot("assistant", {"id": said.call, "name": "bash", "arguments": {"command": said.text}})]
            case "result":
                return [_zot("tool", {"call_id": said.call, "content": [{"text": said.text}], "is_error": False})]
        return [{"type": "never_seen", "note": said.text}]

    def wrapped(self, text: str) -> list[Record]:
        """A message with a mark of another sender."""
        row = _zot("user", {"text": text})
        row["message"]["meta"] = {"source": "swarm"}
        return [row]


def _zot(role: str, block: Record) -> Record:
    return {"type": "message", "message": {"role": role, "content": [block], "time": moment()}}


class Copilot(Maker):
    """Copilot CLI."""

    agent = "copilot"
    ABSENT: ClassVar[dict[str, str]] = {"sub-agent": "what a sub-agent says stands in no file that is known"}

    def place(self) -> str:
        """A folder a session."""
        return f".copilot/session-state/{self.session}/events.jsonl"

    def begin(self) -> None:
        """The start."""
        data = {"sessionId": self.session, "copilotVersion": "1.0.70", "context": {"cwd": CWD, "branch": "main"}}
        self.put(self.envelope("session.start", data))

    def envelope(self, kind: str, data: Record) -> Record:
        """A record."""
        return {
            "type": kind,
            "data": data,
            "id": f"e{self.next()}",
            "timestamp": moment(),
            "parentId": None,
        }

    def records(self, said: Said) -> list[Record]:
        """An envelope each."""
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

    def wrapped(self, text: str) -> list[Record]:
        """Instructions that the client found."""
        return [self.envelope("user.message", {"content": text, "source": "instruction-discovery"})]


class Pi(Maker):
    """Pi."""

    agent = "pi"
    ABSENT: ClassVar[dict[str, str]] = {"sub-agent": "Pi has none"}

    def place(self) -> str:
        """A folder a project."""
        return f".pi/agent/sessions/--home-me-app--/2026-02-10T22-36-00-000Z_{self.session}.jsonl"

    def begin(self) -> None:
        """The header."""
        self.put({"type": "session", "version": 3, "id": self.session, "timestamp": moment(), "cwd": CWD})

    def entry(self, kind: str, **fields: Any) -> Record:
        """An entry of the tree."""
        return {"type": kind, "id": f"{self.next():08x}", "parentId": None, "timestamp": moment()} | fields

    def records(self, said: Said) -> list[Record]:
        """An entry each."""
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

    def wrapped(self, text: str) -> list[Record]:
        """A message of an extension."""
        return [self.entry("custom_message", customType="hint", content=text, display=True)]
