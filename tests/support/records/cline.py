"""Cline: a folder for each session, with a document of its messages, and a manifest beside it."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, Self

from tests.support.records.base import Maker, Record, Said, milliseconds, moment


class Cline(Maker):
    """A Cline session, or one of its sub-agents."""

    agent = "cline"
    IS_DOCUMENT = True
    SESSION: ClassVar[str] = "1795306425753_vhajh"
    ABSENT: ClassVar[dict[str, str]] = {
        "torn": "a half-written document is left until it is complete",
        "between": "a summary is in a file of its own, which katod does not read",
    }

    def place(self) -> str:
        """Return the path of the document; the manifest has the project."""
        folder = f".cline/data/sessions/{self.session}"
        (self.world.home / folder).mkdir(parents=True, exist_ok=True)
        manifest = {"session_id": self.session, "started_at": moment(), "status": "running", "cwd": self.cwd}
        (self.world.home / folder / f"{self.session}.json").write_text(json.dumps(manifest))
        self.began = str(manifest["started_at"])
        return f"{folder}/{f'agent_{self.subagent}' if self.subagent else self.session}.messages.json"

    def opening(self) -> list[Record]:
        """Return the head of the document."""
        kind, mode = ("subagent", "subagent") if self.subagent else ("lead", "user")
        return [{"version": 1, "agent": kind, "sessionId": self.session, "origin": {"mode": mode, "version": "3.0.65"}}]

    def message(self, role: str, *blocks: Record, **fields: Any) -> Record:
        """Return a message."""
        native = f"msg_{self.session[-5:]}{self.subagent}_{self.next()}"
        return {"id": native, "role": role, "ts": milliseconds(), "content": list(blocks)} | fields

    def says(self, *blocks: Record) -> Record:
        """Return an answer of the model."""
        used = {"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 0, "cacheWriteTokens": 0}
        return self.message("assistant", *blocks, modelInfo={"id": "glm-5"}, metrics=used)

    def calls(self, call: str, name: str, **given: Any) -> Record:
        """Return an answer that calls a tool."""
        return self.says({"type": "tool_use", "id": call, "name": name, "input": given})

    def result(self, call: str, name: str, content: Any, **fields: Any) -> Record:
        """Return the result of a call."""
        block = {"type": "tool_result", "tool_use_id": call, "name": name, "content": content}
        return self.message("user", block | fields)

    def records(self, said: Said) -> list[Record]:
        """Return one message for each item; what a sub-agent is given has no element around it."""
        match said.what:
            case "user":
                text = said.text if self.subagent else f'<user_input mode="act">{said.text}</user_input>'
                return [self.message("user", {"type": "text", "text": text})]
            case "assistant":
                return [self.says({"type": "text", "text": said.text})]
            case "call":
                return [self.calls(said.call, "run_commands", commands=[said.text])]
            case "result":
                answer = {"query": "make", "result": said.text, "success": True}
                return [self.result(said.call, "run_commands", [answer])]
        return [self.message("user", {"type": "never_seen", "note": said.text})]

    def wrapped(self, text: str) -> list[Record]:
        """Return a message of the client in the person's name."""
        return [self.message("user", {"type": "text", "text": text})]

    def write(self, *records: Record) -> Self:
        """Write the document with these messages added."""
        self.items += records
        return self._save()

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> Self:
        """Write the document again with the messages to keep."""
        self.items = [record for n, record in enumerate(self.items) if keep(n, record)]
        return self._save()

    def document(self) -> list[Record]:
        """Return the document."""
        return [json.loads(self.path.read_text())]

    def tells(self, moment: str) -> bool:
        """Return whether a message or the manifest has this time."""
        told = str(round(datetime.fromisoformat(moment).timestamp() * 1000))
        return moment == self.began or told in self.path.read_text()

    def _save(self) -> Self:
        head, *messages = self.items
        self.path.write_text(json.dumps(head | {"updated_at": moment(), "messages": messages}, indent=2))
        return self
