"""Antigravity: a folder for each conversation, with one line for each step."""

import json
from datetime import datetime
from typing import Any, ClassVar

from tests.support.records.base import Maker, Record, Said, milliseconds, moment


class Antigravity(Maker):
    """A conversation with Antigravity."""

    agent = "antigravity"
    WHOLE_SECONDS = True
    ABSENT: ClassVar[dict[str, str]] = {
        "sub-agent": "a sub-agent has a conversation of its own, which another one names",
        "between": "what agents tell each other has no known form",
    }
    parent: str = ""

    def place(self) -> str:
        """Return the path of the transcript; the history of prompts has the project."""
        root = self.world.home / ".gemini/antigravity-cli"
        root.mkdir(parents=True, exist_ok=True)
        row = {"display": "", "timestamp": milliseconds(), "workspace": self.cwd, "conversationId": self.session}
        with (root / "history.jsonl").open("a") as history:
            history.write(json.dumps(row) + "\n")
        return f".gemini/antigravity-cli/brain/{self.session}/.system_generated/logs/transcript_full.jsonl"

    def child(self) -> "Antigravity":
        """Return a conversation that this one starts for a part of its work."""
        other = "99999999-9d1e-4b7a-8c66-0123456789ab"
        started = f'Created the following subagents:\n{{\n  "conversationId":  "{other}"\n}}'
        self.put(self.step("MODEL", "INVOKE_SUBAGENT", started))
        return Antigravity(self.world, other)

    def step(self, source: str, kind: str, content: str = "", **fields: Any) -> Record:
        """Return a step."""
        said = {"content": content} if content else {}
        head = {"step_index": self.next(), "source": source, "type": kind, "status": "DONE"}
        return head | {"created_at": f"{moment()[:19]}Z"} | said | fields

    def calls(self, name: str, **args: Any) -> Record:
        """Return an answer that calls a tool."""
        return self.step("MODEL", "PLANNER_RESPONSE", tool_calls=[{"name": name, "args": args}])

    def records(self, said: Said) -> list[Record]:
        """Return one step for each item."""
        match said.what:
            case "user":
                added = "<ADDITIONAL_METADATA>\nThe current local time is: now.\n</ADDITIONAL_METADATA>"
                request = f"<USER_REQUEST>\n{said.text}\n</USER_REQUEST>\n{added}"
                return [self.step("USER_EXPLICIT", "USER_INPUT", request)]
            case "assistant":
                return [self.step("MODEL", "PLANNER_RESPONSE", said.text)]
            case "call":
                return [self.calls("run_command", CommandLine=said.text, Cwd=self.cwd)]
            case "result":
                return [self.step("MODEL", "RUN_COMMAND", f"Created At: now\nCompleted At: now\n{said.text}")]
        return [self.step("MODEL", "NEVER_SEEN", said.text)]

    def wrapped(self, text: str) -> list[Record]:
        """Return what only the model sees: a checkpoint quotes old prompts, and settings follow a prompt."""
        change = f"<USER_REQUEST>\n\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\n{text}\n</USER_SETTINGS_CHANGE>"
        return [self.step("SYSTEM", "CHECKPOINT", text), self.step("USER_EXPLICIT", "USER_INPUT", change)]

    def tells(self, moment: str) -> bool:
        """Return whether a step has this time, in whole seconds."""
        return f"{datetime.fromisoformat(moment):%Y-%m-%dT%H:%M:%SZ}" in self.path.read_text()
