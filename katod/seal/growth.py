"""Whether a session may still grow, judged by the contents and times of its files. Pure.

Agents do not write that a session is over, and any session can be resumed. What is known is whether it has gone on
since it was exported, and whether it was quiet for so long, with nothing left open, that it is unlikely to.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from katod import events as ev
from katod.events import Event

_QUIET: Final = 15 * 60  # seconds after which a session that has nothing open counts as ended
OPEN: Final = 24 * 3600  # and one that has: its agent was probably killed
_CALL: Final = "a tool call in it has no result yet"
_TURN: Final = "its last turn is open"
_ASKED: Final = "its last message has no answer"
# After these, the agent goes on; with these, it has.
_ASKING: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.DECISION_RESPONSE, ev.TOOL_RESULT})
_ANSWERING: Final = frozenset({ev.ASSISTANT_MESSAGE, ev.TURN_END, ev.SESSION_END, ev.ERROR})
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
    """Return how the events of a session end.

    A turn is open if no end of it follows, a call if no result does, a message and a result if no answer does.
    """
    session, last, opened = "", "", _Open()
    for event in events:
        session, last = session or event.session.id, event.id
        opened.take(event)
    return Ending(session, last, opened.what)


class _Open:
    """What is open after the events so far."""

    def __init__(self) -> None:
        self._turn = self._asked = False
        self._calls: set[str] = set()

    def take(self, event: Event) -> None:
        self._asked = event.kind in _ASKING or (self._asked and event.kind not in _ANSWERING)
        if event.kind in (ev.TURN_START, ev.TURN_END, ev.SESSION_END):
            self._turn = event.kind == ev.TURN_START
            self._calls.clear()
        elif event.kind == ev.TOOL_CALL:
            self._calls.add(event.payload["toolCallId"])
        elif event.kind == ev.TOOL_RESULT:
            self._calls.discard(event.payload["toolCallId"])

    @property
    def what(self) -> str:
        """Say what is open, empty if nothing is."""
        said = ((_CALL, self._calls), (_TURN, self._turn), (_ASKED, self._asked))
        return next((words for words, is_open in said if is_open), "")


def growth(now: Ending, last: str, age: float) -> Growth | None:
    """Return why a session grows whose record ends with the event `last`; None if nothing says so.

    `age` are the seconds since its files changed.
    """
    if now.last != last:
        return Growth("the session has gone on since this was exported", _AGAIN)
    if age < _QUIET:
        return Growth("the session may still go on: its files changed within the last 15 minutes", _WAIT)
    if now.open and age < OPEN:
        return Growth(f"the session may still go on: {now.open}, and its files changed within the last day", _WAIT)
    return None
