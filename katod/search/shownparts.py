"""Which command shows a hit: what `katod show` prints of an event with each of its options. Pure.

An event is printed alone, not with its session: a search costs little more for it. Where only the session tells whether
an event is printed, it counts as one that is not.
"""

from collections.abc import Callable, Container, Sequence
from typing import Final, NamedTuple

from katod import events as ev
from katod.agents.tooltable import TOOLS, is_silent, tool
from katod.events import Event
from katod.formatspec import MARKDOWN, open_format
from katod.metadata import SessionMetadata
from katod.model import Options
from katod.search.hits import ShowView
from katod.search.query import Query
from katod.search.transcripts import plain

_FULL: Final = "full"


class EventPrinter(NamedTuple):
    """Prints an event of a session as `katod show` does; `unprinted` returns the calls whose results are not printed.

    It is asked for results alone: what it says may have to be looked for.
    """

    event: Event
    metadata: SessionMetadata
    unprinted: Callable[[], Container[str]]

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
        payload, is_full = self.event.payload, options.tools == _FULL
        if self.event.kind == ev.TOOL_RESULT and not (is_full and payload["toolCallId"] not in self.unprinted()):
            return ""
        if self.event.kind == ev.TOOL_CALL and not is_full and tool(payload["name"]).items:
            return ""  # of a list, only what has changed
        printer = open_format(MARKDOWN, options)
        return printer.event(self.event, self.metadata) + printer.pause()


def is_unprinted(call: Event) -> bool:
    """Return whether the result of a call is not printed, or only if the call says something new."""
    name, server = call.payload["name"], call.payload.get("server", "")
    return is_silent(name, call.session.agent, server) or bool(tool(name).items)


def unprinted_names(agent: str) -> tuple[str, ...]:
    """Return the names of the tools of which that may be so."""
    names = {name for tools in TOOLS.values() for name in tools}
    return tuple(sorted(name for name in names if is_silent(name, agent) or tool(name).items))
