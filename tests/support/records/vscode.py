"""VS Code: the journal of a chat, whose lines change its state."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, Self

from tests.support.records.base import Maker, Record, Said, milliseconds


class VSCode(Maker):
    """A chat in VS Code: each record is a request, with all that is known of it."""

    agent = "vscode"
    IS_DOCUMENT = True
    WAITS_FOR_ENDS = True
    ABSENT: ClassVar[dict[str, str]] = {
        "torn": "a line that is not complete changes nothing",
        "sub-agent": "a sub-agent is a call in its chat",
        "task": "a sub-agent has no chat of its own",
        "between": "neither summaries nor messages of agents are in a chat",
    }

    def place(self) -> str:
        """Return the path of the journal, in the folder of a workspace."""
        folder = ".config/Code/User/workspaceStorage/0123456789abcdef"
        (self.world.home / folder).mkdir(parents=True, exist_ok=True)
        (self.world.home / folder / "workspace.json").write_text(json.dumps({"folder": f"file://{self.cwd}"}))
        self.created = milliseconds()
        return f"{folder}/chatSessions/{self.session}.jsonl"

    def request(self, text: str, **fields: Any) -> Record:
        """Return a request that runs."""
        head = {"requestId": f"request_{self.session[:8]}-{self.next()}", "timestamp": milliseconds()}
        said = {"message": {"text": text, "parts": []}, "response": [], "modelId": "copilot/gpt-5"}
        return head | said | {"modelState": {"value": 0}} | fields

    def records(self, said: Said) -> list[Record]:
        """Return a request, or the one that runs with more in its answer; what the assistant says ends it.

        What follows an end belongs to a request of the client itself, as when a command in a terminal has ended.
        """
        if said.what == "user":
            self.running: Record | None = self.request(said.text)
            return [self.running]
        row = getattr(self, "running", None) or self.request("A command has ended.", isSystemInitiated=True)
        kept = row.get("result", {"metadata": {"toolCallRounds": [], "toolCallResults": {}}})["metadata"]
        rounds, results, response = list(kept["toolCallRounds"]), dict(kept["toolCallResults"]), list(row["response"])
        given = json.dumps({"command": said.text})
        match said.what:
            case "assistant":
                rounds.append({"response": said.text, "toolCalls": []})
            case "call":
                call = {"id": f"{said.call}__vscode-1", "name": "run_in_terminal", "arguments": given}
                rounds.append({"response": "", "toolCalls": [call]})
            case "result":
                results[f"{said.call}__vscode-1"] = {"content": [{"value": said.text}]}
            case _:
                response.append({"kind": "neverSeen", "note": said.text})
        metadata = {"toolCallRounds": rounds, "toolCallResults": results, "promptTokens": 10, "outputTokens": 5}
        row |= {"response": response, "result": {"metadata": metadata}}
        ended = {"modelState": {"value": 1, "completedAt": milliseconds()}} if said.what == "assistant" else {}
        self.running = None if ended else row
        return [row | ended]

    def wrapped(self, text: str) -> list[Record]:
        """Return what the client itself sends when a command in a terminal has ended."""
        return [self.request(text, isSystemInitiated=True)]

    def opening(self) -> list[Record]:
        """Return the state of an empty chat, with a draft in the input."""
        state = {"version": 3, "sessionId": self.session, "creationDate": self.created, "requests": []}
        return [{"kind": 0, "v": state | {"inputState": {"inputText": "::start draft"}}}]

    def write(self, *records: Record) -> Self:
        """Append the lines that change the state to these records."""
        self.items += records
        return self.append(*map(self._change, records))

    def _change(self, record: Record) -> Record:
        if "kind" in record:
            self.known: list[str] = []
            return record
        if record["requestId"] in self.known:
            return {"kind": 1, "k": ["requests", self.known.index(record["requestId"])], "v": record}
        self.known.append(record["requestId"])
        return {"kind": 2, "k": ["requests"], "v": [record]}

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> Self:
        """Write the journal as one line, with the requests to keep."""
        self.items = [record for n, record in enumerate(self.items) if keep(n, record)]
        requests = {record["requestId"]: record for record in self.items if "requestId" in record}
        self.known = list(requests)
        state = {"version": 3, "sessionId": self.session, "creationDate": self.created}
        self.path.write_text(json.dumps({"kind": 0, "v": state | {"requests": list(requests.values())}}) + "\n")
        return self

    def document(self) -> list[Record]:
        """Return the state as katod reads it."""
        requests = {record["requestId"]: record for record in self.items if "requestId" in record}
        head = {"version": 3, "sessionId": self.session, "creationDate": self.created}
        return [head | {"requests": list(requests.values())}]

    def tells(self, moment: str) -> bool:
        """Return whether the journal has this time."""
        return str(round(datetime.fromisoformat(moment).timestamp() * 1000)) in self.path.read_text()
