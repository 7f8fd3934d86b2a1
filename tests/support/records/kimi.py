"""Kimi Code: a folder for each session, with one file for each agent in it."""

from datetime import datetime
from typing import Any, ClassVar

from tests.support.records.base import Maker, Record, Said, milliseconds


class Kimi(Maker):
    """A Kimi Code session, or one of its sub-agents."""

    agent = "kimi"
    SESSION: ClassVar[str] = "session_6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"

    def place(self) -> str:
        """Return the path of the agent's file."""
        return f".kimi-code/sessions/wd_app_0123456789ab/{self.session}/agents/{self.subagent or 'main'}/wire.jsonl"

    def record(self, kind: str, /, **fields: Any) -> Record:
        """Return a record with what all have."""
        return {"type": kind, "agentId": self.subagent or "main", "time": milliseconds()} | fields

    def opening(self) -> list[Record]:
        """Return the protocol's version and the settings."""
        bound = {"modelAlias": "kimi", "thinkingEffort": "off", "environmentDisclosure": {"cwd": self.cwd}}
        return [
            {"type": "metadata", "protocol_version": "1.5", "created_at": milliseconds()},
            self.record("profile.bind", **bound),
        ]

    def prompt(self, text: str, origin: str = "user") -> Record:
        """Return a prompt."""
        said = {"input": [{"type": "text", "text": text}], "origin": {"kind": origin}}
        return self.record("turn.prompt", **said, promptId=f"msg_{self.subagent}{self.next():026d}", turnId=self.count)

    def loop(self, kind: str, /, **event: Any) -> Record:
        """Return a part of a step."""
        step = {"turnId": "1", "step": 1, "stepUuid": f"{self.session[-12:]}-{self.count}"}
        named = {"uuid": f"{self.session[-12:]}-{self.subagent}-{self.next()}"} if kind != "tool.result" else {}
        return self.record("context.append_loop_event", event={"type": kind} | named | step | event)

    def calls(self, call: str, name: str, **args: Any) -> Record:
        """Return a call."""
        return self.loop("tool.call", toolCallId=call, name=name, args=args)

    def result(self, call: str, **result: Any) -> Record:
        """Return the result of a call."""
        return self.loop("tool.result", parentUuid=f"u-{call}", toolCallId=call, result=result)

    def records(self, said: Said) -> list[Record]:
        """Return the records of one item; a prompt is repeated as a message of the context."""
        match said.what:
            case "user":
                prompt = self.prompt(said.text, "system_trigger" if self.subagent else "user")
                copy = {
                    "role": "user",
                    "content": prompt["input"],
                    "id": prompt["promptId"],
                    "origin": prompt["origin"],
                }
                return [prompt, self.record("context.append_message", message=copy)]
            case "assistant":
                used = {"inputOther": 10, "output": 5, "inputCacheRead": 0, "inputCacheCreation": 0}
                return [
                    self.loop("content.part", part={"type": "text", "text": said.text}),
                    self.loop("step.end", finishReason="end_turn", usage=used),
                ]
            case "call":
                return [self.calls(said.call, "Bash", command=said.text)]
            case "result":
                return [self.result(said.call, output=said.text)]
        return [self.record("never.seen", note=said.text)]

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return the summary of a compaction."""
        return {"summary": [self.record("context.apply_compaction", summary=text)]}

    def wrapped(self, text: str) -> list[Record]:
        """Return what the client puts into the context, and a prompt that a timer sends."""
        hint = {"role": "user", "content": [{"type": "text", "text": text}], "origin": {"kind": "injection"}}
        return [self.record("context.append_message", message=hint), self.prompt(text, "cron_job")]

    def tells(self, moment: str) -> bool:
        """Return whether a record has this time."""
        return str(round(datetime.fromisoformat(moment).timestamp() * 1000)) in self.path.read_text()
