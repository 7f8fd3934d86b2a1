"""ATIF: one answer of the model, with its calls and their results. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from katod.agents.fields import text_of
from katod.events import Event
from katod.formats.atif.metrics import Metrics, added
from katod.formats.rows import timestamp

_OF_RESULT: Final = ("isError", "status", "exitCode", "durationMs", "denied", "structured", "attachments")
_OF_CALL: Final = ("server", "script")
Row = dict[str, Any]
Step = Row
Reference = Callable[[str, Row], Row]  # of a sub-agent, given its id and what is known of it


@dataclass(slots=True)
class OpenCall:
    """A call, its results, and the sub-agents that it started, by id."""

    row: Row
    results: list[Row] = field(default_factory=list)
    subagents: dict[str, Row] = field(default_factory=dict)

    def start(self, subagent: str, known: Row, result: str) -> str:
        """Note that it started a sub-agent, or what became of that; return what of the result is not said yet."""
        more = {"result": result} if result and not self.results else {}
        self.subagents.setdefault(subagent, {}).update(known | more)
        return "" if not self.results or any(result in row["content"] for row in self.results) else result

    def observed(self, reference: Reference) -> list[Row]:
        """Return its results; its sub-agents are part of the first one.

        What a sub-agent answered is the result of a call that has no other.
        """
        answers = [known.pop("result") for known in self.subagents.values() if "result" in known]
        refs = [reference(subagent, known) for subagent, known in self.subagents.items()]
        other = [{"content": "\n\n".join(answers)} if answers else {}] if refs else []
        first = {"subagent_trajectory_ref": refs} if refs else {}
        source = {"source_call_id": self.row["tool_call_id"]}
        return [source | row | (first if n == 0 else {}) for n, row in enumerate(self.results or other)]


@dataclass(slots=True, kw_only=True)
class OpenStep:
    """One answer of the model, as long as more of it, or results of its calls, may follow."""

    key: str
    head: Row
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[str, OpenCall] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=dict)
    own: Row = field(default_factory=dict)  # what ATIF has no field for
    is_cut: bool = False  # an error came: what follows is another attempt, unless it names the same message

    @property
    def is_complete(self) -> bool:
        """Whether each call has a result."""
        return all(call.results for call in self.calls.values())

    @property
    def latest_open(self) -> str | None:
        """The latest call without a result or a sub-agent, None if there is none."""
        waiting = [name for name, call in self.calls.items() if not call.results and not call.subagents]
        return waiting[-1] if waiting else None

    @property
    def has_results(self) -> bool:
        """Whether a call has a result."""
        return any(call.results for call in self.calls.values())

    @property
    def is_bare(self) -> bool:
        """Whether nothing is known of it but what it used."""
        return not (self.texts or self.thoughts or self.calls)

    def say(self, text: str, about: Row | None = None) -> None:
        """Add a part of the text, which may be empty, and what is recorded about it."""
        if text:
            self.texts.append(text)
        self.own |= about or {}

    def rename(self, key: str) -> None:
        """Take the name of what belongs to it, if nothing of it is known by another."""
        self.key = key if self.is_bare else self.key

    def cut(self) -> None:
        """Note an error: what follows is another attempt."""
        self.is_cut = True

    def think(self, payload: Row) -> None:
        """Add what the model thought; only that it did, if that is encrypted."""
        text = "\n\n".join(part for name in ("subject", "text") if (part := text_of(payload.get(name))))
        if text:
            self.thoughts.append(text)
        elif payload.get("encrypted"):
            self.own["encryptedThinking"] = True

    def call(self, event: Event) -> None:
        """Add a call. Arguments that are no object become one; without an id of its own, it is called as its event."""
        payload = event.payload
        call, given = text_of(payload.get("toolCallId")), payload.get("input")
        call = event.id if not call or call in self.calls else call
        arguments = given if isinstance(given, dict) else {} if given is None else {"input": given}
        row = {"tool_call_id": call, "function_name": text_of(payload.get("name")), "arguments": arguments}
        self.calls[call] = OpenCall(row | own_fields(chosen(payload, _OF_CALL)))

    def use(self, metrics: Metrics) -> None:
        """Add what it used."""
        self.metrics = added(self.metrics, metrics)

    def step(self, reference: Reference) -> Step:
        """Return it as a step without a number."""
        rows = [row for call in self.calls.values() for row in call.observed(reference)]
        row = {
            **self.head,
            "message": "\n\n".join(self.texts),
            "reasoning_content": "\n\n".join(self.thoughts) or None,
            "tool_calls": [call.row for call in self.calls.values()] or None,
            "observation": {"results": rows} if rows else None,
            "metrics": self.metrics or None,
            "llm_call_count": 1 if self.metrics else None,
        }
        return {name: value for name, value in row.items() if value is not None} | own_fields(self.own)


def result_of(payload: Row) -> Row:
    """Return the result of a call, without the call."""
    return {"content": text_of(payload.get("text"))} | own_fields(chosen(payload, _OF_RESULT))


def chosen(payload: Row, names: tuple[str, ...]) -> Row:
    """Return the fields of these names that are recorded."""
    return {name: payload[name] for name in names if payload.get(name) is not None}


def own_fields(row: Row) -> Row:
    """Return what ATIF has no field for as its `extra`; nothing if there is none."""
    return {"extra": {"katod": row}} if row else {}


def step_head(event: Event, source: str) -> Row:
    """Return the beginning of a step: its time, if the agent recorded one, and whose it is."""
    time = timestamp(event.time) if event.time_source in ("", "recorded") else ""
    return ({"timestamp": time} if time else {}) | {"source": source}
