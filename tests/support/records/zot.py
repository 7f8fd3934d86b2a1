"""zot: one file per session, in one folder per project."""

from typing import ClassVar

from tests.support.records.base import Maker, Record, Said, moment


class Zot(Maker):
    """A zot session."""

    agent = "zot"
    ABSENT: ClassVar[dict[str, str]] = {
        "sub-agent": "sub-agents have sessions of their own",
        "task": "nothing in a session says that another one started it",
    }

    def place(self) -> str:
        """Return the path of the file, in the project's folder."""
        return f".local/state/zot/sessions/0123456789abcdef/20260210-223600-{self.session[:8]}.jsonl"

    def opening(self) -> list[Record]:
        """Return the meta row."""
        meta = {
            "id": self.session,
            "cwd": self.cwd,
            "model": "glm-5",
            "provider": "x",
            "started": moment(),
            "version": "0.2",
        }
        return [{"type": "meta", "meta": meta}]

    def records(self, said: Said) -> list[Record]:
        """Return one row for each item, and the usage after an answer."""
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

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a message that names another sender."""
        return {"swarm": self.wrapped(text)}

    def wrapped(self, text: str) -> list[Record]:
        """Return a message that names another sender."""
        row = _zot("user", {"text": text})
        row["message"]["meta"] = {"source": "swarm"}
        return [row]


def _zot(role: str, block: Record) -> Record:
    return {"type": "message", "message": {"role": role, "content": [block], "time": moment()}}
