"""ATIF: a conversation as one trajectory, in Harbor's Agent Trajectory Interchange Format. Pure.

A document is written in version 1.7, which most readers know. What 1.8 added are parts of messages of the type `audio`,
with a source that has a media type, a path and a duration; katod writes neither sound nor pictures into a document, so
that the two versions differ in the word that names them.

A step is a message of the person or of the client, or one answer of the model: its thinking, its text, its calls and
their results. A sub-agent that speaks in the session's own file is a trajectory in the document; one with a file of its
own is referred to by the name under which katod knows it (`claude:6f1c…/a1b2`).

Left out, and counted in `extra.katod.leftOut`, is what says nothing of the work (`turn.start`, `turn.end` unless the
turn was cut short, `session.end`, `config.change`, `provider.info`), and what katod does not understand
(`provider.raw`): readers of trajectories take every step for a part of the conversation. Questions are arguments of the
calls that ask them, and their answers are results.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from katod.agents import AGENTS
from katod.events import Event
from katod.formats.atif.answer import Row, Step, own_fields
from katod.formats.atif.steps import MOST_HELD, Trajectory
from katod.formats.protocol import Spool
from katod.formats.rows import Items, compact, row_of
from katod.model import Options, SessionKey
from katod.text import slug

_MOST_EMBEDDED: Final = 100  # sub-agents in one document: each may keep a file open
_UNKNOWN: Final = "unknown"  # the version of an agent, which a trajectory has to have


@dataclass(slots=True)
class _Thread:
    """A session or a sub-agent, with its steps."""

    key: SessionKey
    trajectory: Trajectory
    steps: Items

    def add(self, steps: Iterable[Step]) -> None:
        """Number the next steps and write them."""
        for step in steps:
            self.steps.add(f"\n{compact({'step_id': self.steps.count + 1} | step)}")

    @property
    def is_begun(self) -> bool:
        """Whether it has steps, even if they are still held back."""
        return self.steps.count > 0 or self.trajectory.is_held


class Atif:
    """Makes the trajectory of one session, or of one sub-agent with a file of its own."""

    version: ClassVar[str] = "1.7"

    def __init__(self, options: Options, spool: Callable[[], Spool]) -> None:
        self._options, self._spool = options, spool
        self._threads: dict[str, _Thread] = {}  # by sub-agent
        self._left_out: set[str] = set()  # sub-agents

    def take(self, event: Event) -> None:
        """Take up the next event."""
        row, line = row_of(event, redact=self._options.redact)
        thread = self._thread(event)
        if thread is not None:
            thread.add(thread.trajectory.event(event._replace(kind=row["kind"], payload=row["payload"]), len(line)))
        if sum(one.trajectory.held for one in self._threads.values()) > MOST_HELD:
            for one in self._threads.values():
                one.add(one.trajectory.rest())

    def _thread(self, event: Event) -> _Thread | None:
        """Return the thread that an event belongs to, None if there are too many."""
        agent, session, subagent, _ = event.session
        if subagent not in self._threads and len(self._threads) > _MOST_EMBEDDED and subagent:
            self._left_out.add(subagent)
            return None
        if subagent not in self._threads:
            trajectory = Trajectory(AGENTS[agent].answers, self._reference)
            self._threads[subagent] = _Thread(SessionKey(agent, session, subagent), trajectory, Items(self._spool()))
        return self._threads[subagent]

    @property
    def _main(self) -> _Thread:
        """The session; in the file of a sub-agent, this."""
        return self._threads.get("") or next(iter(self._threads.values()))

    def _reference(self, subagent: str, known: Row) -> Row:
        """Refer to a sub-agent: to its trajectory if it speaks in this document, else to what katod calls it."""
        main, thread = self._main, self._threads.get(subagent)
        if thread is not None and thread is not main and thread.is_begun:
            return {"trajectory_id": str(thread.key), "session_id": thread.key.id} | own_fields(known)
        is_session = AGENTS[main.key.agent].names_parents
        key = SessionKey(main.key.agent, subagent) if is_session else main.key._replace(subagent=subagent)
        return {"trajectory_path": str(key), "session_id": key.id} | own_fields(known)

    def pieces(self) -> Iterator[str]:
        """Yield the document."""
        main = self._main
        for thread in (main, *self._threads.values()):  # what the session holds may refer to what its sub-agents hold
            thread.add(thread.trajectory.rest())
        yield from self._opened(main)
        embedded = [thread for thread in self._threads.values() if thread is not main and thread.steps.count]
        for number, thread in enumerate(embedded):
            yield "," if number else ',"subagent_trajectories":['
            yield from self._opened(thread)
            yield "}"
        yield "]}\n" if embedded else "}\n"

    def _opened(self, thread: _Thread) -> Iterator[str]:
        """Yield a trajectory without its closing brace."""
        yield compact(self._head(thread))[:-1]
        yield ',"steps":['
        yield from thread.steps.pieces()
        yield "\n]"

    def _head(self, thread: _Thread) -> Row:
        known, is_main = thread.trajectory.known, thread is self._main
        version = known.start.get("cliVersion") or self._main.trajectory.known.start.get("cliVersion") or _UNKNOWN
        agent = {"name": slug(AGENTS[thread.key.agent].product), "version": version, "model_name": known.model}
        about = {name: value for name, value in known.start.items() if name != "cliVersion"}
        own = {
            "recorder": self._options.recorder if is_main else "",
            "leftOut": dict(sorted(known.left_out.items())),
            "subagentsLeftOut": len(self._left_out) if is_main else 0,
        }
        return {
            "schema_version": f"ATIF-v{self.version}",
            "session_id": thread.key.id,
            "trajectory_id": str(thread.key),
            "agent": {name: value for name, value in agent.items() if value} | own_fields(about),
            "final_metrics": known.totals.row(thread.steps.count),
        } | own_fields({name: value for name, value in own.items() if value})


class Atif18(Atif):
    """Makes a trajectory in version 1.8."""

    version: ClassVar[str] = "1.8"
