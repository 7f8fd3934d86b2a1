"""Puts results after their calls. Pure.

A client may write the result of a call before the call itself: Claude Code 2.1.98 to 2.1.177 does, one or two records
before. Whatever shows a session relies on the order, so it is restored here, before anything else sees the events, but
after those of an echo are left out: they may have results without their calls.
"""

from typing import Any, Final

from katod import events as ev
from katod.events import Event, pack, unpack
from katod.model import LONGEST_NAME
from katod.record.echo import Passed

_MOST_OPEN: Final = 256  # calls
_MOST_ENDED: Final = 16  # calls that may have a second result
_PATIENCE: Final = 8  # events; a call was never seen more than two records after its result
# What is made of the record of a result.
_OF_RESULTS: Final = frozenset({ev.TOOL_RESULT, ev.DECISION_RESPONSE, ev.AGENT_START, ev.AGENT_END})
_ENDS: Final = frozenset({ev.TURN_END, ev.SESSION_END, ev.COMPACTION, ev.USER_COMMAND})


class CallOrder:
    """Follows the events of one session. A result waits for its call, for a few events at most.

    It also stops waiting when the person says something, the turn ends, or the context is compacted: there is no call.
    """

    __slots__ = ("_ended", "_held", "_here", "_open", "_waited")

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        """Start before the first event, or go on from `kept()`."""
        kept = kept or {}
        self._open: dict[str, None] = dict.fromkeys(kept.get("open", ()))
        self._ended: dict[str, None] = dict.fromkeys(kept.get("ended", ()))
        self._held: dict[str, list[Passed]] = {
            call: [Passed(unpack(row), path) for row, path in rows] for call, rows in kept.get("held", {}).items()
        }
        # The call of a result that waits, and its record, while that is taken.
        self._here: tuple[str, str, int | None] = ("", "", None)
        self._waited: int = kept.get("waited", 0)  # events since something is held

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON, without empty fields."""
        held = {call: [[pack(one.event), one.path] for one in events] for call, events in self._held.items()}
        row = {"open": list(self._open), "ended": list(self._ended), "held": held, "waited": self._waited}
        return {name: value for name, value in row.items() if value}

    def has_pending(self, path: str) -> bool:
        """Return whether a result of the source at a path waits for its call."""
        return any(one.path == path for events in self._held.values() for one in events)

    def restart(self, path: str) -> None:
        """Note that a source is read from its beginning again: what waits of it will come again."""
        rest = {call: [one for one in events if one.path != path] for call, events in self._held.items()}
        self._held = {call: events for call, events in rest.items() if events}

    def know(self, event: Event) -> None:
        """Note an event that passed before, without being taken."""
        if event.kind == ev.TOOL_CALL and event.payload["toolCallId"] not in self._held:
            self._begin(event.payload["toolCallId"])

    def take(self, one: Passed) -> list[Passed]:
        """Return the events that do not wait any longer, in order, with this one unless it waits."""
        if self._holds(one):
            return []
        one = self._below(one) if self._held else one
        event = one.event
        out = [*self.settle(), one] if _is_over(event) else [one]
        if event.kind == ev.TOOL_CALL:
            out += self._begin(event.payload["toolCallId"])
        return [*out, *self._wait()] if self._held else out

    def settle(self) -> list[Passed]:
        """Return all that waits, in order: no call will come."""
        held, self._held, self._waited = self._held, {}, 0
        return [one for events in held.values() for one in events]

    def _holds(self, one: Passed) -> bool:
        """Hold a result whose call is not known, and what is made of its record; return whether this event is held."""
        event, record = one.event, (one.path, one.event.source.get("offset"))
        if event.kind == ev.TOOL_RESULT:
            call = event.payload["toolCallId"]
            self._here = ("", *record) if self._end(call) else (call, *record)
        call, *of = self._here
        if not call or event.kind not in _OF_RESULTS or tuple(of) != record:
            return False
        held = self._held.setdefault(call, [])
        if all(other.event.id != event.id for other in held):  # else it is written again while it waits
            held.append(one)
        return True

    def _below(self, one: Passed) -> Passed:
        """Return an event with the nearest of its ancestors that does not wait: the others come after it."""
        source = one.event.source
        waiting = {held.event.source.get("providerEventId"): held for events in self._held.values() for held in events}
        above = _above(one)
        if above not in waiting:
            return one
        while above in waiting:
            above = _above(waiting.pop(above))
        kept = {name: value for name, value in source.items() if name != "ancestorId"}
        return one._replace(event=one.event._replace(source=kept | ({"ancestorId": above} if above else {})))

    def _begin(self, call: str) -> list[Passed]:
        """Note a call; return its result, if that waits."""
        if call in self._held:
            _add(self._ended, call, _MOST_ENDED)
            released = self._held.pop(call)
            self._waited = self._waited if self._held else 0
            return released
        if len(call) <= LONGEST_NAME:
            _add(self._open, call, _MOST_OPEN)
        return []

    def _end(self, call: str) -> bool:
        """Note a result; return whether its call is known, or there cannot be any."""
        if call in self._open:
            del self._open[call]
            _add(self._ended, call, _MOST_ENDED)
            return True
        return not 0 < len(call) <= LONGEST_NAME or call in self._ended

    def _wait(self) -> list[Passed]:
        self._waited += 1
        return self.settle() if self._waited > _PATIENCE else []


def _above(one: Passed) -> str:
    """Return the nearest ancestor of an event that is one, empty if it has none."""
    source = one.event.source
    above: str = source.get("ancestorId") or source.get("parentId", "")
    return above


def _add(calls: dict[str, None], call: str, most: int) -> None:
    """Add a call to the known ones; of too many, the oldest is forgotten."""
    calls[call] = None
    if len(calls) > most:
        del calls[next(iter(calls))]


def _is_over(event: Event) -> bool:
    """Return whether an event ends the wait for any call."""
    return event.kind in _ENDS or (event.kind == ev.USER_MESSAGE and event.typed)
