"""Cursor: one transcript per session, without results or ids."""

from datetime import UTC, datetime
from typing import ClassVar

from tests.support.records.base import Maker, Record, Said


class Cursor(Maker):
    """A Cursor session."""

    agent = "cursor"
    ABSENT: ClassVar[dict[str, str]] = {
        "result": "results stand nowhere in a transcript",
        "fork": "no fork of a transcript is known",
        "cwd": "no record tells it",
        "between": "neither summaries nor messages of agents are in a transcript",
    }

    def place(self) -> str:
        """Return the path of the transcript, in the session's folder."""
        folder = f".cursor/projects/home-me-app/agent-transcripts/{self.session}"
        return f"{folder}/subagents/{self.subagent}.jsonl" if self.subagent else f"{folder}/{self.session}.jsonl"

    def records(self, said: Said) -> list[Record]:
        """Return one line for each item, none for a result."""
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
        """Return context that the client gives to the model."""
        return [_cursor("user", f"<available_subagent_types>\n{text}\n</available_subagent_types>")]


def _cursor(role: str, text: str) -> Record:
    return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
