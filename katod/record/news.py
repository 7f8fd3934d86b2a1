"""What happens to recordings that their person wants to hear of at once: on the desktop, or in the terminal. Pure."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from katod.metadata import SessionMetadata
from katod.store.rows import OutputRow

Kind = Literal[
    "recording", "waiting", "named", "stopped", "paused", "excluded", "parked", "unparked", "refused", "near miss",
    "blocked", "done",
]  # fmt: skip


class News(NamedTuple):
    """One of these things; `project` is the base name of its directory, `what` says more where there is more to say.

    `title` is made of words that were said: it is shown, and never stored or logged.
    """

    kind: Kind
    project: str = ""
    title: str = ""
    path: Path | None = None
    what: str = ""

    @classmethod
    def of(cls, kind: Kind, row: OutputRow, what: str = "") -> "News":
        """Return news of a recording."""
        head = row.head["metadata"]
        path = None if row.held is not None else row.path
        return cls(kind, Path(head.get("cwd", "")).name, head.get("title", "") if path else "", path, what)

    @classmethod
    def about(cls, kind: Kind, metadata: SessionMetadata, what: str) -> "News":
        """Return news of a session."""
        return cls(kind, Path(metadata.cwd).name, what=what)


Tell = Callable[[News], None]


def tell_nobody(_news: News) -> None:
    """Tell nobody."""
