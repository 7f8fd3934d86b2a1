"""Lifecycle lines: what a session is doing, one JSON object per line, for programs that show the state of agents."""

from typing import Any

import orjson

from katod.agents import AGENTS
from katod.events import Event
from katod.formats.lines import Lines
from katod.formats.redact.redactor import may_contain_secret, redact_json
from katod.lifecycle import Lifecycle, Line
from katod.metadata import SessionMetadata
from katod.model import Options


class LifecycleLines(Lines):
    """Prints the steps of a session as they happen; what was said is not among them."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        self._redact, self._is_exported = options.redact, options.exported
        self._time = ""  # of the last event
        self._kept = state or {}
        self._lifecycle: Lifecycle | None = None

    def head(self, metadata: SessionMetadata, time: str) -> str:
        """Return the line that names the session."""
        given = {"id": metadata.key.id, "agent": metadata.key.agent, "subagent": metadata.key.subagent}
        given |= {"cwd": metadata.cwd, "timestamp": time}
        return self._printed({"type": "session"} | {name: value for name, value in given.items() if value})

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the lines of one event, often none."""
        if self._lifecycle is None:
            self._lifecycle = AGENTS[metadata.key.agent].lifecycle(metadata.key.subagent, self._kept)
        self._time = event.time or self._time
        return "".join(map(self._printed, self._lifecycle.take(event)))

    def end(self) -> str:
        """Return the end of an answer that may be the last one, in an export; an output may always go on."""
        lines = self._lifecycle.settled() if self._is_exported and self._lifecycle is not None else []
        time = {"timestamp": self._time} if self._time else {}
        return "".join(self._printed(line | time) for line in lines)

    def _printed(self, line: Line) -> str:
        text = orjson.dumps(line)
        if self._redact and may_contain_secret(text):
            text = orjson.dumps(redact_json(line))
        return text.decode() + "\n"

    def state(self) -> dict[str, Any]:
        """Return the open calls, as JSON."""
        return self._kept if self._lifecycle is None else self._lifecycle.kept()
