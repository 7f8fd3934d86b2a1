"""What the person of a recorded session should hear of: that it waits for them, or is done after a while. Pure."""

from datetime import datetime
from typing import Final, Literal

from katod.events import Event
from katod.lifecycle import Lifecycle, Report, State

_LONG: Final = 30.0  # seconds; who waits for less looks on
_FRESH: Final = 120.0  # what is older was read late, after a start for example


class Attention:
    """Follows one session, as far as it records it live; `news` says each thing once. A sub-agent has no news."""

    __slots__ = ("_began", "_ended", "_is_known", "_last", "_lifecycle", "_report")

    def __init__(self) -> None:
        self._lifecycle = Lifecycle()
        self._report: Report | None = None
        self._is_known = False  # that it waits
        self._began = self._ended = self._last = 0.0  # seconds since 1970; 0: not known

    def take(self, event: Event) -> None:
        """Follow what an event says."""
        moment = _seconds(event.time)
        self._last = moment or self._last
        for line in self._lifecycle.take(event):
            match line["type"]:
                case "message_update":
                    self._began, self._ended = moment, 0.0
                case "agent_end" | "turn_end" if line.get("stop") not in ("tool_use", "aborted"):
                    self._ended = moment
                case "turn_start" | "tool_execution_start":
                    self._ended = 0.0

    def hear(self, report: Report | None) -> None:
        """Take up what the agent says of the session beside its records."""
        self._report = report

    def news(self, now: float) -> Literal["blocked", "done", ""]:
        """Return what has become news since the last call; old things are no news."""
        since, was_known = self._blocked_since(), self._is_known
        self._is_known = since is not None
        if since is not None:
            return "blocked" if not was_known and now - since < _FRESH else ""
        ended, self._ended = self._ended, 0.0
        took = ended - self._began if self._began and self._lifecycle.state is State.DONE else 0.0
        return "done" if took >= _LONG and now - ended < _FRESH else ""

    def _blocked_since(self) -> float | None:
        """Return since when the session waits for its person, as it or its agent says; None if it does not."""
        if self._report is not None and self._report.state is State.BLOCKED:
            return self._report.since
        return self._last if self._lifecycle.state is State.BLOCKED else None


def _seconds(time: str) -> float:
    """Return a time in seconds since 1970, 0 if it is not one."""
    try:
        return datetime.fromisoformat(time).timestamp() if time else 0.0
    except (ValueError, OverflowError):
        return 0.0
