"""Which command shows a hit: what `katod show` prints of an event with each of its options. Pure.

An event is printed alone, not with its session: a search costs little more for it. Where only the session tells whether
an event is printed, it counts as one that is not.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from katod import events as ev
from katod.agents.tooltable import is_silent, tool
from katod.events import Event
from katod.formatspec import MARKDOWN, open_format
from katod.metadata import SessionMetadata
from katod.model import Options
from katod.search.hits import ShowView
from katod.search.markup import plain
from katod.search.query import Query

_FULL: Final = "full"


class EventPrinter(NamedTuple):
    """Prints an event of a session as `katod show` does. Whether a result is printed depends on its call, too."""

    event: Event
    metadata: SessionMetadata

    @property
    def call(self) -> str:
        """The id of the call that decides, too, whether the event is printed; empty if none does."""
        return str(self.event.payload["toolCallId"]) if self.event.kind == ev.TOOL_RESULT else ""

    def shown_by(self, query: Query, views: Sequence[ShowView], text: str) -> str | None:
        """Return the options, as they are typed, with which the event is found; None if with none of the views.

        `text` is that of the event without secrets. Markdown changes no letters, so what is said need not be printed.
        """
        if self._is_said and "".join(query.words).isalnum() and query.matches(text):
            return views[0].typed
        printed = ((view.typed, self.printed(view.options)) for view in views)
        return next((typed for typed, shown in printed if query.matches(plain(shown)) or query.matches(shown)), None)

    @property
    def _is_said(self) -> bool:
        """Whether it is a message of the session itself that every view has."""
        event = self.event
        is_message = event.kind in (ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE) and "subtype" not in event.payload
        return is_message and event.session.subagent == self.metadata.key.subagent

    def printed(self, options: Options) -> str:
        """Return the event as Markdown, empty if it is not printed, or not for certain."""
        kind, is_full = self.event.kind, options.tools == _FULL
        if kind == ev.TOOL_RESULT and not is_full:
            return ""
        if kind == ev.TOOL_CALL and not is_full and tool(self.event.payload["name"]).items:
            return ""  # of a list, only what has changed
        printer = open_format(MARKDOWN, options)
        return printer.event(self.event, self.metadata) + printer.pause()


def shown_by_none(_query: Query, _views: Sequence[ShowView], _text: str) -> None:
    """Return that a result is shown with none of the views, as its call says."""


def unprinted_calls(events: Iterable[Event | None]) -> frozenset[str]:
    """Return those of these calls whose results are not printed, or only if they say something new."""
    calls = (event for event in events if event is not None and event.kind == ev.TOOL_CALL)
    return frozenset(call.payload["toolCallId"] for call in calls if is_unprinted(call))


def is_unprinted(call: Event) -> bool:
    """Return whether the result of a call is not printed, or only if it says something new."""
    name, server = call.payload["name"], call.payload.get("server", "")
    return is_silent(name, call.session.agent, server) or bool(tool(name).items)
