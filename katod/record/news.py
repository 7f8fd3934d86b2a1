"""Changes of recordings that are reported at once, on the desktop or in the terminal. Pure."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from katod.agents import AGENTS
from katod.metadata import SessionMetadata
from katod.paths import name_of
from katod.states import Doing, State
from katod.store.rows import OutputRow

Kind = Literal[
    "recording", "waiting", "named", "stopped", "paused", "excluded", "parked", "unparked", "refused", "near miss",
    "blocked", "done", "left", "written",
]  # fmt: skip
NOT_RECORDED: Final = "is not recorded: type ::start there to record it, too"
_QUIET: Final = "it is done, or a tool is still running"


class News(NamedTuple):
    """One of these things; `project` is the base name of its directory, `what` says more where there is more to say.

    `title` is made of words that were said: it is shown, and never stored or logged. `says` is what an agent does, as a
    sentence.
    """

    kind: Kind
    project: str = ""
    title: str = ""
    path: Path | None = None
    what: str = ""
    says: str = ""

    @property
    def headline(self) -> str:
        """What it is, in a few words."""
        return self.says or f"katod: {self.kind}"

    @classmethod
    def of(cls, kind: Kind, row: OutputRow, what: str = "") -> "News":
        """Return news of a recording."""
        head = row.head["metadata"]
        path = None if row.held is not None else row.path
        return cls(kind, name_of(head.get("cwd", "")), head.get("title", "") if path else "", path, what)

    @classmethod
    def of_state(cls, doing: Doing, row: OutputRow) -> "News":
        """Return news of what a recorded session is doing: it waits, or is done."""
        agent = AGENTS[row.head["key"][0]].product
        if doing.state is State.BLOCKED:
            return cls.of("blocked", row)._replace(says=f"{agent} {doing.need.words}")
        if doing.is_quiet:
            return cls.of("done", row, _QUIET)._replace(says=f"{agent} has been quiet for a while")
        return cls.of("done", row)._replace(says=f"{agent} is done")

    @classmethod
    def about(cls, kind: Kind, metadata: SessionMetadata, what: str) -> "News":
        """Return news of a session."""
        return cls(kind, name_of(metadata.cwd), what=what)


Tell = Callable[[News], None]


def tell_nobody(_news: News) -> None:
    """Tell nobody."""
