"""Agent Trace 0.1.0 (agent-trace.dev): which lines of which files an agent wrote. Pure.

A record of a session says it as agent records do: of each file, the lines of its last change, numbered as they are
after it. Who wrote a line that nothing is known of is not guessed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from katod.agents import AGENTS
from katod.agents.models import provider_of
from katod.events import Event
from katod.formats.protocol import Spool
from katod.formats.records.agentrecord import UNKNOWN, RecordHead
from katod.formats.rows import Fields, compact, recorded_time, row_of
from katod.model import Options

VERSION: Final = "0.1.0"
NO_TIME: Final = "1970-01-01T00:00:00Z"  # a record has to have a time; of agents that record none, this one
_LONGEST: Final = 250  # characters of the name of a model


class AgentTrace:
    """Makes the record of one session."""

    def __init__(self, options: Options, _spool: Callable[[], Spool]) -> None:
        self._options = options
        self._head = RecordHead()
        self._time = ""

    def take(self, event: Event) -> None:
        """Take up the next event."""
        row, _ = row_of(event, redact=self._options.redact)
        self._head.take(event, row)
        self._time = recorded_time(row) or self._time

    def pieces(self) -> Iterator[str]:
        """Yield the record, in one line."""
        head, last = self._head, self._head.last
        start = head.start
        agent = AGENTS[last.session.agent] if last is not None else None
        tool = {"name": agent.product if agent else "", "version": start.get("cliVersion") or UNKNOWN}
        files = [_file(file) for file in head.files.record(start.get("cwd", "")).get("files", ())]
        record = trace_record(f"session:{last.id if last else ''}", self._time, tool, files, start.get("commit", ""))
        yield f"{compact(record)}\n"


def trace_record(name: str, time: str, tool: dict[str, str], files: Iterable[Fields], revision: str) -> Fields:
    """Return a record: its id follows from its name, which is unique."""
    record: Fields = {
        "version": VERSION, "id": str(uuid5(NAMESPACE_URL, f"katod:agent-trace:{name}")), "timestamp": time or NO_TIME,
    }  # fmt: skip
    if revision:
        record["vcs"] = {"type": "git", "revision": revision}
    return record | {"tool": tool, "files": list(files)}


def contributor(model: str) -> dict[str, str]:
    """Return an agent as a contributor; its model is named with its provider, if that is known."""
    provider = provider_of(model)
    named = f"{provider}/{model}" if provider and "/" not in model else model
    return {"type": "ai"} | ({"model_id": named[:_LONGEST]} if model else {})


def lines_range(first: int, last: int, digest: str) -> dict[str, Any]:
    """Return a range of lines, with the SHA-256 of its text as far as it is known."""
    return {"start_line": first, "end_line": last} | ({"content_hash": f"sha256:{digest}"} if digest else {})


def _file(file: Fields) -> Fields:
    """Return a file of an agent record's attribution."""
    conversations = [
        {
            "contributor": contributor(one["contributor"].get("model-id", "")),
            "ranges": [
                lines_range(row["start-line"], row["end-line"], row.get("content-hash", "")) for row in one["ranges"]
            ],
        }
        for one in file["conversations"]
    ]
    return {"path": file["path"], "conversations": conversations}
