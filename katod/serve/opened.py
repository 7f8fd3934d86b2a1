"""The sessions that are open: each once for all its viewers, and a little longer for one who comes back."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from katod.serve.channel import Channel
from katod.serve.feed import Opening

_LINGER: Final = 10.0  # seconds that a session stays open after its last viewer has left,
_MOST_LINGERING: Final = 1  # and how many do
What = tuple[str, Opening]  # the name of a session, and what reads it


@dataclass(slots=True)
class _Open:
    channel: Channel
    viewers: int = 0
    end: asyncio.TimerHandle | None = None


class Opened:
    """The channels that are open, those that nobody looks at any more in the order in which they were left."""

    def __init__(self) -> None:
        self._open: dict[What, _Open] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def __iter__(self) -> Iterator[tuple[str, Channel]]:
        return iter([(name, one.channel) for (name, _), one in self._open.items()])

    def get(self, what: What) -> Channel | None:
        """Return a channel if it is open."""
        return one.channel if (one := self._open.get(what)) is not None else None

    def enter(self, what: What, opened: Callable[[], Channel]) -> Channel:
        """Return a channel to one viewer more; `opened` makes it if it is not open."""
        one = self._open.get(what)
        if one is None:
            one = self._open[what] = _Open(opened())
        one.viewers += 1
        if one.end is not None:
            one.end.cancel()
        return one.channel

    def leave(self, what: What) -> None:
        """Take leave of a viewer."""
        one = self._open[what]
        one.viewers -= 1
        if not one.viewers:
            self._linger(what, one)

    def offer(self, what: What, channel: Channel) -> None:
        """Have a channel open for somebody who may come."""
        self._linger(what, _Open(channel))

    def _linger(self, what: What, one: _Open) -> None:
        self._open.pop(what, None)
        self._open[what] = one
        one.end = asyncio.get_running_loop().call_later(_LINGER, self._open.pop, what)
        resting = [what for what, one in self._open.items() if not one.viewers]
        for left in resting[:-_MOST_LINGERING]:
            self._close(left)

    def _close(self, what: What) -> None:
        end = self._open.pop(what).end
        if end is not None:
            end.cancel()
