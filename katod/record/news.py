"""Changes that are reported at once, on the desktop or in the terminal: of recordings, and of recorded sessions. Pure.

`StateNews` finds those of a session: that it waits for the user, or is done.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from katod.agents import AGENTS
from katod.events import Event, seconds
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.paths import name_of
from katod.states import AT_WORK, Activity, JudgedEvents, Report, State, is_over, judged
from katod.store.rows import OutputRow

Kind = Literal[
    "recording", "waiting", "named", "stopped", "paused", "excluded", "parked", "unparked", "refused", "near miss",
    "blocked", "done", "left", "written",
]  # fmt: skip
NOT_RECORDED: Final = "is not recorded: type ::start there to record it, too"
_QUIET: Final = "it is done, or a tool is still running"
_LONG: Final = 30.0  # seconds; who waits for less looks on
_QUIET_WORD: Final = "quiet"  # done as far as is known: what it is doing may still turn out
_FRESH: Final = 120.0  # a turn that ended before was read late, after a start for example


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
    def of_state(cls, doing: Activity, row: OutputRow) -> "News":
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


class StateNews:
    """Follows one session; `news` says each thing once. A sub-agent has no news."""

    __slots__ = ("_began", "_ended", "_is_aborted", "_last", "_lifecycle", "_report", "_said")

    def __init__(self, key: SessionKey, kept: Mapping[str, Any] | None = None) -> None:
        """Start before the first event, or go on from `kept()`."""
        kept = kept or {}
        self._lifecycle = AGENTS[key.agent].lifecycle(kept=kept.get("lifecycle"))
        self._report: Report | None = None
        self._said: str = kept.get("said", "")  # what was news last, until it is over
        self._is_aborted: bool = kept.get("aborted", False)
        # When it began to work, when it ended, and when anything was recorded last; seconds since 1970, 0: not known.
        self._began, self._ended, self._last = kept.get("times", (0.0, 0.0, 0.0))

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""
        times = [self._began, self._ended, self._last]
        row = {"lifecycle": self._lifecycle.kept(), "said": self._said, "aborted": self._is_aborted}
        return {name: value for name, value in row.items() if value} | {"times": times}

    def take(self, event: Event) -> None:
        """Follow what an event says."""
        moment, was_at_work = seconds(event.time), self._lifecycle.state in AT_WORK
        self._last = moment or self._last
        lines = self._lifecycle.take(event)
        is_at_work = self._lifecycle.state in AT_WORK
        if is_at_work and (not was_at_work or any(line["type"] == "agent_start" for line in lines)):
            self._began, self._is_aborted = moment, False
            self._said = self._said if self._said == State.BLOCKED else ""
        if was_at_work and not is_at_work:
            self._ended, self._is_aborted = moment, any(line.get("stop") == "aborted" for line in lines)

    @property
    def is_at_rest(self) -> bool:
        """Whether the session waits for its next prompt, as far as its events say."""
        seen = self._lifecycle.seen
        return seen.state not in AT_WORK or seen.may_be_over

    def hear(self, report: Report | None) -> None:
        """Take up what the agent says of the session beside its records."""
        self._report = report

    def news(self, now: float, ask: Callable[[JudgedEvents, float], Report | None]) -> Activity | None:
        """Return the news since the last call.

        If there may be some, `ask` is called with what is known, and for how many seconds nothing was recorded.

        That it waits is always news; that it is done only if it is noticed soon after.
        """
        if not self._changed(now):
            return None
        self.hear(ask(self._lifecycle.seen, now - self._last))
        changed = self._changed(now)
        if changed is None:
            return None
        self._said = _word(changed)
        is_news = changed.state is State.BLOCKED or (changed.state is State.DONE and self._took_long(now))
        return changed if is_news else None

    def _changed(self, now: float) -> Activity | None:
        """Return the state of the session, if it has changed since the last news."""
        doing = judged(self._lifecycle.seen, self._report, self._last, now)
        word = _word(doing)
        is_known = word == self._said or (not word and self._said != State.BLOCKED)
        is_past = is_over(self._last, now) and (self._report is None or self._report.state is not State.BLOCKED)
        return None if is_known or is_past else doing

    def _took_long(self, now: float) -> bool:
        heard = self._report.since if self._report is not None else 0.0
        ended = max(self._ended, heard) or self._last
        return bool(self._began) and not self._is_aborted and ended - self._began >= _LONG and now - ended < _FRESH


def _word(doing: Activity) -> str:
    """Return what may be news, empty for a state that is none."""
    if doing.is_quiet and doing.state is State.DONE:
        return _QUIET_WORD
    return doing.state.value if doing.state in (State.BLOCKED, State.DONE) else ""
