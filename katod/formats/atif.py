"""ATIF: a conversation as one trajectory, in Harbor's Agent Trajectory Interchange Format. Pure.

A document is written in version 1.7, which most readers know. What 1.8 added are parts of messages of the type `audio`,
with a source that has a media type, a path and a duration; katod writes neither pictures nor sound into a document, so
that the two versions differ in the word that names them.

A step is a message of the person or the client, or one answer of the model: its thinking, its text, its calls and their
results. Every sub-agent that speaks in the session's own file is a trajectory inside the document; one with a file of
its own is referred to by the name under which katod knows it (`claude:6f1c…/a1b2`).

Left out, and counted in `extra.katod.leftOut`: what says nothing of the work (`turn.start`, `turn.end` of a turn that
was not cut short, `session.end`, `config.change`, `provider.info`) and what katod does not understand (`provider.raw`);
a reader of trajectories takes every step for a part of the conversation. Nothing else has a place of its own: questions
are the arguments of the calls that ask them, and answers the results.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import orjson

from katod.agents import AGENTS
from katod.events import Event
from katod.formats.atif_answer import Row, Step, own_fields
from katod.formats.atif_steps import Trajectory
from katod.formats.redact import may_contain_secret, redact_json
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from katod.slug import slug

_MOST_EMBEDDED: Final = 32_000_000  # bytes of the steps of sub-agents, which are held until the end
_DEEPEST: Final = 100  # levels of what is written if there are too many
_TOO_DEEP: Final = "nested too deep to be written as JSON"
_UNKNOWN: Final = "unknown"  # the version of an agent, which a trajectory has to have


@dataclass(slots=True)
class _Thread:
    """A session or a sub-agent: its trajectory, how many steps were printed, and, of a sub-agent, these."""

    key: SessionKey
    trajectory: Trajectory
    steps: int = 0
    kept: list[bytes] = field(default_factory=list)
    left_out: int = 0


class Atif:
    """Writes a conversation as a whole; its head has the totals, and so is printed last."""

    version: ClassVar[str] = "1.7"

    def __init__(self, options: Options, _: dict[str, Any] | None = None) -> None:
        self._redact, self._recorder = options.redact, options.recorder
        self._threads: dict[str, _Thread] = {}  # by sub-agent
        self._metadata: SessionMetadata | None = None
        self._room = _MOST_EMBEDDED

    def state(self) -> dict[str, Any]:
        """Return no state: a document is written at once."""
        return {}

    def head(self, metadata: SessionMetadata, _time: str) -> str:
        """Return what is known of the whole conversation, and the beginning of its steps."""
        return self._head(self._thread(metadata, metadata.key.subagent), metadata)

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the steps that are complete with this event; those of sub-agents are kept."""
        thread = self._thread(metadata, event.session.subagent)
        return self._printed(thread, thread.trajectory.event(event))

    def mark(self, _: Mark) -> str:
        """Return nothing: marks are no steps."""
        return ""

    def pause(self) -> str:
        """Return the steps that were held back."""
        return "".join([self._printed(thread, thread.trajectory.rest()) for thread in self._threads.values()])

    def end(self) -> str:
        """Return the sub-agents and the end."""
        metadata = self._metadata
        rows = [self._embedded(thread, metadata) for thread in self._threads.values() if metadata and thread.kept]
        return "\n]" + (f',"subagent_trajectories":[\n{",".join(rows)}]' if rows else "") + "}\n"

    def _thread(self, metadata: SessionMetadata, subagent: str) -> _Thread:
        self._metadata = metadata
        if subagent not in self._threads:
            trajectory = Trajectory(AGENTS[metadata.key.agent].answers, self._reference)
            self._threads[subagent] = _Thread(metadata.key._replace(subagent=subagent), trajectory)
        return self._threads[subagent]

    def _is_main(self, thread: _Thread) -> bool:
        return self._metadata is not None and thread.key == self._metadata.key

    def _printed(self, thread: _Thread, steps: Iterable[Step]) -> str:
        """Return the text of steps of the session, and keep those of sub-agents."""
        texts = []
        for step in steps:
            line = self._encoded({"step_id": thread.steps + 1} | step)
            if self._is_main(thread):
                texts.append(f"{',' if thread.steps else ''}\n{line.decode()}")
            elif len(line) > self._room:
                self._room, thread.left_out = 0, thread.left_out + 1
                continue
            else:
                self._room -= len(line)
                thread.kept.append(line)
            thread.steps += 1
        return "".join(texts)

    def _embedded(self, thread: _Thread, metadata: SessionMetadata) -> str:
        steps = b",\n".join(thread.kept).decode()
        return f"{self._head(thread, metadata)}\n{steps}\n]}}"

    def _head(self, thread: _Thread, metadata: SessionMetadata) -> str:
        known = thread.trajectory.known
        row = {
            "schema_version": f"ATIF-v{self.version}",
            "session_id": thread.key.id,
            "trajectory_id": str(thread.key),
            "agent": self._agent(thread, metadata),
            "final_metrics": known.totals.row(thread.steps),
        }
        if thread.left_out:
            row["notes"] = f"{thread.left_out} later steps are left out: too much was said in all sub-agents."
        row |= own_fields(self._own(thread))
        return f'{self._encoded(row)[:-1].decode()},"steps":['

    def _agent(self, thread: _Thread, metadata: SessionMetadata) -> Row:
        known, start = thread.trajectory.known, metadata.start
        version = known.start.get("cliVersion") or start.version or _UNKNOWN
        row = {"name": slug(AGENTS[metadata.key.agent].product), "version": version}
        told = {"cwd": start.cwd, "branch": start.branch, "origin": start.origin, "parent": start.parent}
        about = {name: value for name, value in told.items() if value and self._is_main(thread)} | known.start
        about.pop("cliVersion", None)
        return row | ({"model_name": known.model} if known.model else {}) | own_fields(about)

    def _own(self, thread: _Thread) -> Row:
        left_out = dict(sorted(thread.trajectory.known.left_out.items()))
        row = {"recorder": self._recorder if self._is_main(thread) else "", "leftOut": left_out}
        return {name: value for name, value in row.items() if value}

    def _reference(self, subagent: str, known: Row) -> Row:
        """Refer to a sub-agent: to its trajectory if it speaks in this document, else to what katod calls it."""
        assert self._metadata is not None
        key = self._metadata.key
        named = AGENTS[key.agent].names_parents
        other = SessionKey(key.agent, subagent) if named else key._replace(subagent=subagent)
        thread = self._threads.get(subagent)
        is_here = thread is not None and not self._is_main(thread) and (thread.steps or thread.trajectory.is_held)
        name = {"trajectory_id": str(thread.key)} if is_here and thread else {"trajectory_path": str(other)}
        return name | {"session_id": other.id} | own_fields(known)

    def _encoded(self, row: Row) -> bytes:
        try:
            line = orjson.dumps(row)
        except TypeError:
            row = _writable(row)
            line = orjson.dumps(row)
        return orjson.dumps(redact_json(row)) if self._redact and may_contain_secret(line) else line


class Atif18(Atif):
    """Writes a conversation in version 1.8."""

    version: ClassVar[str] = "1.8"


def _writable(value: Any, levels: int = _DEEPEST) -> Any:
    """Return a value without what cannot be written as JSON: halves of characters, long integers, deep nesting."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and abs(value) >= 2**63:
        return str(value)
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return _TOO_DEEP
    if isinstance(value, list):
        return [_writable(item, levels - 1) for item in value]
    return {_writable(key): _writable(item, levels - 1) for key, item in value.items()}
