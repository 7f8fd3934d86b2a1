"""Whether a session still grows, judged by what is in its files and when they changed. Pure.

Agents do not write that a session is over, and any session can be resumed. What can be told is whether it has gone on
since it was exported, and whether it was quiet for so long, with nothing left open, that it is unlikely to.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from katod import events as ev
from katod.events import Event

_QUIET: Final = 15 * 60  # seconds after which a session that has nothing open counts as ended
_OPEN: Final = 24 * 3600  # and one that has: its agent was probably killed
_CALL: Final = "a tool call in it has no result yet"
_TURN: Final = "its last turn is open"
_AGAIN: Final = "export it again, or seal this as a checkpoint with --checkpoint"
_WAIT: Final = "wait and export it then, or seal this as a checkpoint with --checkpoint"


class Ending(NamedTuple):
    """How a session ends as of now: its last event, and what is open there (empty: nothing).

    `session` is its whole id: the names of some agents' files have only the beginning.
    """

    session: str
    last: str
    open: str


class Growth(NamedTuple):
    """Why a session counts as growing, and what to do."""

    why: str
    hint: str


def ending(events: Iterable[Event]) -> Ending:
    """Return how the events of a session end: a turn is open if no end of it follows, a call if no result does."""
    session, last, is_turn_open = "", "", False
    calls: set[str] = set()
    for event in events:
        session, last = session or event.session.id, event.id
        if event.kind in (ev.TURN_START, ev.TURN_END, ev.SESSION_END):
            is_turn_open = event.kind == ev.TURN_START
            calls.clear()
        elif event.kind == ev.TOOL_CALL:
            calls.add(event.payload["toolCallId"])
        elif event.kind == ev.TOOL_RESULT:
            calls.discard(event.payload["toolCallId"])
    return Ending(session, last, _CALL if calls else _TURN if is_turn_open else "")


def growth(now: Ending, last: str, age: float) -> Growth | None:
    """Return why a session grows whose record ends with the event `last`; None if nothing says so.

    `age` are the seconds since its files changed.
    """
    if now.last != last:
        return Growth("the session has gone on since this was exported", _AGAIN)
    if age < _QUIET:
        return Growth("the session may still go on: its files changed within the last 15 minutes", _WAIT)
    if now.open and age < _OPEN:
        return Growth(f"the session may still go on: {now.open}, and its files changed within the last day", _WAIT)
    return None
