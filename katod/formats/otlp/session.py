"""The session and its turns as spans. Pure."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.formats.otlp import names
from katod.formats.otlp.context import Moment, SpanContext, moment_of, shortened
from katod.formats.otlp.spans import (
    Attributes,
    Span,
    id_of,
    nanoseconds,
    provider_of,
    root_of,
    trace_of,
    version_of,
)
from katod.formats.otlp.spent import Spent
from katod.metadata import SessionMetadata
from katod.model import SessionKey

_TURN: Final = "turn"
_USAGE: Final = "usage"
_MOST_PROMPTS: Final = 4  # of one turn, if there is content: more can be typed while the agent works


@dataclass(slots=True)
class SpanSession:
    """What is known of a session: whose it is, since when, and what its spans have in common."""

    key: list[str] = field(default_factory=list)
    started: int = 0
    parent: str = ""  # the session that it goes on from, or works for
    begun: bool = False  # whether its span was printed
    whole: bool = False  # whether everything since the beginning was seen
    time: int = 0  # of the last event that has one
    about: list[str] = field(default_factory=lambda: ["", ""])  # the version of the agent, and the provider
    turn: str = ""  # the span of the last turn that others are below

    def see(self, event: ev.Event, metadata: SessionMetadata) -> Moment:
        """Note an event, and what is known when it comes; return when it was."""
        if not self.key:
            ref, is_own = event.session, event.session.subagent == metadata.key.subagent
            self.key = [ref.agent, ref.id, metadata.key.subagent]
            self.whole = event.kind == ev.SESSION_START and is_own
        now = moment_of(event, self.time)
        self.time = now.at
        if not self.begun:
            self.started = nanoseconds(metadata.started) or self.time
            self.parent = metadata.start.parent or event.session.parent
        self.about[0] = metadata.start.version
        return now

    def use_provider(self, name: str) -> None:
        """Note the provider that the agent names."""
        self.about[1] = name or self.about[1]

    def begin(self) -> None:
        """Note that the span of the session was printed."""
        self.begun = True

    def miss(self) -> None:
        """Note that a part may be missing: what is summed up later is not known to belong to what was seen."""
        self.whole = False

    def enter(self, turn: str) -> None:
        """Note the turn in which something happens."""
        self.turn = turn

    @property
    def identity(self) -> SessionKey:
        """The key of the session."""
        return SessionKey(*self.key)

    @property
    def trace(self) -> str:
        """The trace of all its spans."""
        return trace_of(self.identity)

    @property
    def root(self) -> str:
        """Its own span."""
        return root_of(self.identity)

    @property
    def common(self) -> Attributes:
        """What all its spans say."""
        key, conversation = self.identity, id_of(self.key[1])
        below = {names.SUBAGENT: id_of(key.subagent)} if key.subagent else {}
        return {names.CONVERSATION: conversation, names.OI_SESSION: conversation} | below

    def span(self, product: str) -> Span:
        """Return the session as a span that ends when it begins: nothing that comes later can change it.

        That of a sub-agent is below the one of its session; what another session started or was forked from, has a
        trace of its own with a link to it, as nobody knows here whether that is below yet another one.
        """
        key = self.identity
        above = root_of(key._replace(subagent="")) if key.subagent else ""
        other = SessionKey(key.agent, self.parent)
        link = (trace_of(other), root_of(other)) if self.parent not in ("", key.id) and not above else None
        attributes = {names.AGENT_NAME: product} | self.common | {names.OI_KIND: "AGENT"}
        return Span(self.root, above, f"session {product}", self.started, self.started, attributes, link=link)

    def usage(self, spent: Spent, context: SpanContext) -> Span:
        """Return what the agent says that the session used, beyond what its answers say."""
        at = context.moment.at
        attributes = self.common | spent.attributes() | {names.OI_KIND: "CHAIN"}
        return Span(context.span(_USAGE), self.root, "session usage", at, at, attributes)


class OpenTurn(NamedTuple):
    """A turn that is not over: from the prompt to the last event so far."""

    id: str
    start: int
    last: int
    recorded: bool
    error: str = ""
    prompts: tuple[str, ...] = ()  # if there is content

    @classmethod
    def of(cls, context: SpanContext) -> "OpenTurn":
        """Return the turn that begins with an event."""
        now = context.moment
        return cls(context.span(_TURN), now.at, now.at, now.recorded)

    @classmethod
    def read(cls, state: dict[str, Any] | None) -> "OpenTurn | None":
        """Return the turn that is open, given its state."""
        return cls(**state | {"prompts": tuple(state["prompts"])}) if state else None

    def prompted(self, context: SpanContext) -> "OpenTurn":
        """Return the turn with a prompt."""
        text = shortened(context.text("text") or context.text("line"))
        shows = context.shows_content and text and len(self.prompts) < _MOST_PROMPTS
        return self._replace(prompts=(*self.prompts, text)) if shows else self

    def span(self, session: SpanSession, product: str, end: int) -> Span:
        """Return it as a span that ends then."""
        version, provider = session.about
        attributes: Attributes = {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: product}
        attributes |= {names.AGENT_VERSION: version_of(version)} | session.common
        attributes |= {names.PROVIDER: provider_of(provider, "") if provider else None}
        attributes |= {names.OI_KIND: "AGENT", names.NO_TIME: None if self.recorded else True}
        if self.prompts:
            said = [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in self.prompts]
            attributes[names.INPUT_MESSAGES] = orjson.dumps(said).decode()
        name = f"{names.INVOKE_AGENT} {product}"
        return Span(self.id, session.root, name, self.start, end, attributes, error=self.error)


def error_class(context: SpanContext) -> str:
    """Return the class of an error that the agent records."""
    status, code = context.payload.get("httpStatus"), context.text("code")
    if isinstance(status, int) and 400 <= status < 600:
        return str(status)
    return code if code in names.ERRORS else names.OTHER
