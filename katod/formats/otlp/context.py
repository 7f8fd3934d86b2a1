"""What the parts of the format know when an event comes: the event, its time, and what may be said of it. Pure."""

from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.agents.answers import Answers
from katod.agents.fields import text_of
from katod.events import Event
from katod.formats.otlp import names
from katod.formats.otlp.spans import Attributes, name_or, nanoseconds, span_of
from katod.model import Options, SessionKey

LONGEST_TEXT: Final = 16_000  # characters of one text, if there is content: state is small, and backends cut anyway
_CUT_OFF: Final = "…"


class Moment(NamedTuple):
    """A time in nanoseconds, and whether the agent recorded it for this event; else it is that of an earlier one."""

    at: int = 0
    recorded: bool = False


class SpanContext(NamedTuple):
    """One event of a session, its payload without secrets, when it was, and whose it is.

    `actor` is empty for the session's own thread, else the sub-agent that speaks in its file.
    """

    key: SessionKey
    event: Event
    payload: dict[str, Any]
    moment: Moment
    actor: str
    options: Options
    answers: Answers

    def span(self, part: str) -> str:
        """Return the id of a span that begins with the event."""
        return span_of(self.key, self.event.id, part)

    @property
    def is_own(self) -> bool:
        """Whether this is of the session itself, not of a sub-agent that speaks in its file."""
        return not self.actor

    @property
    def record(self) -> str:
        """The identity of the event's record."""
        source = self.event.source
        return f"{source.get('providerEventId', '')}@{source.get('offset', '')}"

    @property
    def message(self) -> str:
        """What the parts of one answer have in common: the id of their message, or else their record."""
        return text_of(self.event.source.get("messageId")) or self.record

    @property
    def shows_tools(self) -> bool:
        """Whether spans say of calls and sub-agents that there were any."""
        return self.options.tools != "none"

    @property
    def shows_content(self) -> bool:
        """Whether spans say what was said."""
        return self.options.span_content

    @property
    def shows_results(self) -> bool:
        """Whether spans say what tools were given, and what they returned."""
        return self.options.span_content and self.options.tools == "full"

    def text(self, name: str) -> str:
        """Return a text of the payload, empty if it has none of this name."""
        return text_of(self.payload.get(name))


def moment_of(event: Event, before: int) -> Moment:
    """Return when an event was; one without a recorded time was when the one before it was."""
    at = nanoseconds(event.time) if event.time else 0
    return Moment(at or before, bool(at) and event.time_source != "derived")


def is_prompt(event: Event) -> bool:
    """Return whether an event is what the model is asked to answer: a person's words, or the task of a sub-agent."""
    if event.kind != ev.USER_MESSAGE:
        return event.kind == ev.USER_COMMAND
    return not ev.is_between(event) or event.payload["subtype"] == ev.Between.TASK


def shortened(text: str) -> str:
    """Return a text that is not too long; whether it was cut can be seen at its end."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + _CUT_OFF


def thread_attributes(common: Attributes, actor: str) -> Attributes:
    """Return the attributes of a span of a thread: of a sub-agent that speaks in the session's file, also its id."""
    return common | {names.SUBAGENT: name_or(actor, "")} if actor else common
