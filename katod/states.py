"""What a session is doing, as everything that katod shows says it: from its events, from what its agent says, and from
how long nothing was recorded. Pure.
"""

from enum import StrEnum
from typing import Final, Literal, NamedTuple

QUIET_AFTER: Final = 10.0  # seconds after an answer that may have been the last one
SILENT_AFTER: Final = 15.0  # seconds after which a client is looked for
# Where it is unknown whether a client still runs: seconds after which it is assumed that it does not. A model that
# thinks writes nothing for a minute; a call runs as long as it takes.
DOUBT_AFTER: Final = 120.0
DOUBT_IN_CALL_AFTER: Final = 600.0
_STALLED_AFTER: Final = 4 * 3600
_OVER_AFTER: Final = 24 * 3600
_LONGEST: Final = 60  # characters of a tool's name


class State(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    WORKING = "working"
    BLOCKED = "blocked"  # on a permission or an answer of the user
    DONE = "done"
    ERROR = "error"


AT_WORK: Final = (State.WORKING, State.BLOCKED)


def is_stalled(state: State, last: float, now: float) -> bool:
    """Return whether a session says that it works, but has said nothing for four hours (seconds since 1970)."""
    return state is State.WORKING and now - last >= _STALLED_AFTER


def is_over(last: float, now: float) -> bool:
    """Return whether a session changed so long ago that what it was doing then is over, whatever it was."""
    return now - last >= _OVER_AFTER


class Need(NamedTuple):
    """What a blocked session waits for, and the tool that it is about, as far as that is recorded."""

    what: Literal["permission", "question", ""] = ""
    tool: str = ""

    @property
    def words(self) -> str:
        """What people read of it: `waits for your permission to use Bash`."""
        tool = " ".join(self.tool.split())[:_LONGEST]
        if self.what == "permission":
            return f"waits for your permission{f' to use {tool}' if tool else ''}"
        return "waits for your answer" if self.what else "waits for you"

    def row(self) -> dict[str, str]:
        """Return it as it is printed in JSON."""
        named = {"waitsFor": self.what, "toolName": self.tool}
        return {name: said for name, said in named.items() if said}


class Report(NamedTuple):
    """What an agent itself says of a session at this moment, beside the session's file."""

    state: State
    since: float = 0.0  # seconds since 1970; 0: not known
    waits_for: Literal["permission", "question", ""] = ""
    is_gone: bool = False  # the program that ran the session ended without a word
    only_runs: bool = False  # the agent says nothing of the session, but a program that may work at it is there


GONE: Final = Report(State.IDLE, is_gone=True)
RUNS: Final = Report(State.WORKING, only_runs=True)


class JudgedEvents(NamedTuple):
    """What a session is doing by its events alone, and what a judgement of it depends on."""

    state: State = State.IDLE
    need: Need = Need()
    tools: tuple[str, ...] = ()  # the tools of the open calls
    may_be_over: bool = False  # the last answer called nothing, but the agent does not record that a turn ends
    prompted: float = 0.0  # when the user wrote, in seconds since 1970; 0: not known


class Activity(NamedTuple):
    """What a session is doing, as everything that katod shows says it.

    `stalled`: it says that it works, but has said nothing for hours. `is_quiet`: it is called done, or idle, only
    because nothing was recorded for a while after its answer, or while it worked.
    """

    state: State
    need: Need = Need()
    stalled: bool = False
    is_quiet: bool = False

    def row(self) -> dict[str, str | bool]:
        """Return it as commands print it in JSON."""
        row: dict[str, str | bool] = {"state": self.state.value}
        doubts = {"stalled": self.stalled, "assumed": self.is_quiet}
        return row | self.need.row() | {name: True for name, is_so in doubts.items() if is_so}

    @property
    def word(self) -> str:
        """What people read of the state: with a question mark if it is only assumed."""
        return f"{self.state.value}{'?' if self.is_quiet else ''}"


def judged(seen: JudgedEvents, report: Report | None, last: float, now: float) -> Activity:
    """Return the state of a session, given the time of its last record (0: unknown)."""
    if report is None or report.only_runs:
        return _by_records(seen, last, now, runs=report is not None)
    if report.state is State.BLOCKED:
        return Activity(State.BLOCKED, _need(seen, report))
    if report.state is not State.IDLE:
        return Activity(report.state)
    return _at_rest(seen, report)


def _by_records(seen: JudgedEvents, last: float, now: float, *, runs: bool) -> Activity:
    """Return the state of a session by its records; `runs`: a program that may work at it exists.

    Who waits for a person is silent for as long as that takes, so only work is doubted.
    """
    quiet = now - last if last else 0.0
    if seen.state is State.WORKING and seen.may_be_over and quiet >= QUIET_AFTER:
        return Activity(State.DONE, is_quiet=True)
    if seen.state is State.WORKING and not runs and quiet >= (DOUBT_IN_CALL_AFTER if seen.tools else DOUBT_AFTER):
        return Activity(State.IDLE, is_quiet=True)
    return Activity(seen.state, seen.need, stalled=is_stalled(seen.state, now - quiet, now))


def _need(seen: JudgedEvents, report: Report) -> Need:
    """Return the need: a permission is about the open call, if there is only one."""
    what = report.waits_for or seen.need.what
    if seen.need.what == what and seen.need.tool:
        return seen.need
    return Need(what, seen.tools[0] if what == "permission" and len(seen.tools) == 1 else "")


def _at_rest(seen: JudgedEvents, report: Report) -> Activity:
    """Return the state of a session whose agent reports it idle, but not how its last turn ended.

    The end of a turn may be in the file a moment later. What was said before the prompt is about the turn before.
    """
    if seen.state in (State.IDLE, State.DONE, State.ERROR):
        return Activity(seen.state)
    if report.is_gone:
        return Activity(State.IDLE)
    return Activity(seen.state, seen.need) if 0.0 < report.since < seen.prompted else Activity(State.DONE)
