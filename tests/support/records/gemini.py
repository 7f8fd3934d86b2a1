"""Gemini CLI: one file of lines per session; before 0.39 one document, rewritten in place."""

import json
from collections.abc import Callable
from typing import ClassVar, Self

from tests.support.records.base import Maker, Record, Said, moment


class Gemini(Maker):
    """A Gemini CLI session."""

    agent = "gemini"
    JOINS_RESULTS = True

    def place(self) -> str:
        """Return the path of the file, which contains eight digits of the id; a sub-agent's folder has the whole id."""
        chats = self.world.home / ".gemini/tmp/app/chats"
        chats.mkdir(parents=True, exist_ok=True)
        (chats.parent / ".project_root").write_text(self.cwd)
        if self.subagent:
            return f".gemini/tmp/app/chats/{self.session}/{self.subagent}.jsonl"
        return f".gemini/tmp/app/chats/session-2026-02-10T22-36-{self.session[:8]}.jsonl"

    def opening(self) -> list[Record]:
        """Return the header."""
        kind = "subagent" if self.subagent else "main"
        return [
            {"sessionId": self.subagent or self.session, "projectHash": "0" * 64, "startTime": moment(), "kind": kind}
        ]

    def records(self, said: Said) -> list[Record]:
        """Return a message; one with a call is repeated when the call has ended."""
        row: Record = {"id": f"m{self.next()}", "timestamp": moment()}
        match said.what:
            case "user":
                return [row | {"type": "user", "content": [{"text": said.text}]}, {"$set": {"lastUpdated": moment()}}]
            case "assistant":
                tokens = {"input": 10, "output": 5, "cached": 0, "thoughts": 0, "tool": 0, "total": 15}
                return [row | {"type": "gemini", "content": said.text, "tokens": tokens, "model": "gemini-2.5-pro"}]
            case "call":
                self.open: Record = row | {"type": "gemini", "content": "", "model": "gemini-2.5-pro"}
                return [self.open]
            case "result":
                response = {"functionResponse": {"id": said.call, "response": {"output": said.text}}}
                call = {"id": said.call, "name": "run_shell_command", "args": {"command": "make"}, "status": "success"}
                return [self.open | {"toolCalls": [call | {"result": [response], "timestamp": moment()}]}]
        return [row | {"type": "never-seen", "note": said.text}]

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a summary, as a message and in the history that follows a compaction."""
        snapshot = {"id": f"m{self.next()}", "timestamp": moment(), "type": "user"}
        snapshot |= {"content": [{"text": f"<state_snapshot>\n{text}\n</state_snapshot>"}]}
        answer = {"id": f"m{self.next()}", "timestamp": moment(), "type": "gemini"}
        answer |= {"content": [{"text": "Got it. Thanks for the additional context!"}]}
        return {"message": [snapshot], "history": [{"$set": {"messages": [snapshot, answer]}}]}

    def wrapped(self, text: str) -> list[Record]:
        """Return the session context that the client adds."""
        content = [{"text": f"<session_context>\n{text}\n</session_context>"}]
        return [{"id": f"m{self.next()}", "timestamp": moment(), "type": "user", "content": content}]


class GeminiDocument(Gemini):
    """A Gemini CLI session from before 0.39."""

    IS_DOCUMENT = True
    ABSENT: ClassVar[dict[str, str]] = {
        "torn": "a half-written document is left until it is complete",
        "sub-agent": "its sub-agents were sessions of their own",
        "task": "nothing in its documents says that a session was started by another",
    }

    def place(self) -> str:
        """Return the path of the session's document."""
        return super().place().removesuffix("l")

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a summary as a message."""
        return {"message": super().between(text)["message"]}

    def write(self, *records: Record) -> Self:
        """Update the document; a repeated message replaces the earlier one."""
        for record in records:
            known = [n for n, item in enumerate(self.items) if "id" in item and item["id"] == record.get("id")]
            if known:
                self.items[known[0]] = record
            elif "$set" not in record:
                self.items.append(record)
        return self._save()

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> Self:
        """Rewrite the document in place with the messages to keep."""
        self.items = [record for n, record in enumerate(self.items) if keep(n, record)]
        return self._save()

    def document(self) -> list[Record]:
        """Return the document."""
        return [json.loads(self.path.read_text())]

    def _save(self) -> Self:
        head, *messages = self.items
        self.path.write_text(json.dumps(head | {"lastUpdated": moment(), "messages": messages}, indent=2))
        return self
