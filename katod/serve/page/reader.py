"""A session as a page has it: the HTML of each event, as the session grows. For the reading thread."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Final

from katod import events as ev
from katod.events import Event
from katod.formats.stream.bridge import event_uuid
from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.transcript.html import Html
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Options
from katod.record.export import Stretch, replay
from katod.record.follow import Follower, Limited
from katod.serve import failures
from katod.serve.feed.position import Position, SentMessage, between, located
from katod.serve.feed.reader import SentBatch
from katod.serve.index.entry import SessionContent

READ_BYTES: Final = 128 * 1024  # of one slice
_MESSAGES: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE})
_FOUND: Final = _MESSAGES | {ev.ASSISTANT_THINKING, ev.TOOL_CALL, ev.TOOL_RESULT}  # what links may lead to
_CLASSES: Final = {
    ev.USER_MESSAGE: "e said", ev.ASSISTANT_MESSAGE: "e said", ev.ASSISTANT_THINKING: "e thought",
}  # fmt: skip
_UNSHOWN: Final = fill('<p class="failed">This cannot be shown. It is as it was in the agent\'s file.</p>')
# The only style that the printer writes into an element; no text can look like it, as quotes in text are escaped.
_ALIGNED: Final = re.compile(r' style="text-align:(left|center|right)"')


class PagePrinter:
    """Makes the HTML of a page from the events of one session, in their order: all that there is, thinking included."""

    def __init__(self, options: Options, log: EventLog | None = None) -> None:
        """Events that cannot be printed are logged to `log`."""
        self._log = log or EventLog()
        self._options = replace(options, thinking=True, tools="full", attachments="save")
        self._printer = Html(self._options)
        self._is_dated = False
        self._calls: list[str] = []  # not printed, or not yet: links to them lead to what comes next

    def held(self) -> Markup:
        """Return the HTML of what is incomplete: calls without a result."""
        state = deepcopy(self._printer.state())
        state.pop("turn", None)  # it goes on
        html = Html(self._options, state).pause()
        return join((_anchors(self._calls), _fitted(html))) if html else NOTHING

    def prompts(self) -> Markup:
        """Return the list of prompts so far."""
        return self._printer.prompts()

    def printed(self, event: Event, metadata: SessionMetadata) -> SentMessage | None:
        """Return the HTML of an event, None if it has none of its own."""
        try:
            html = self._html(event, metadata)
        except Exception as error:  # noqa: BLE001 - one event must not take the others with it
            failures.note(self._log, error, metadata.key)
            html = _UNSHOWN
        name = event_uuid(event.id)
        if not html.strip():
            self._calls += [name] if event.kind in _FOUND else []
            return None
        shown = "e" if ev.is_between(event) else _CLASSES.get(event.kind, "e")
        calls, self._calls = self._calls, []
        section = fill(
            '<section class="{}" id="{}">{}{}{}</section>\n',
            escape(shown), escape(name), _link(name) if shown == "e said" else NOTHING, _anchors(calls), _fitted(html),
        )  # fmt: skip
        return SentMessage(section, (name, *calls))

    def _html(self, event: Event, metadata: SessionMetadata) -> Markup:
        if not self._is_dated and event.time and event.kind in _MESSAGES:  # times of other days have their date
            self._is_dated = True
            self._printer.head(metadata, event.time)
        return self._printer.event(event, metadata)


class PageReader:
    """A position in a session that moves to its end, and the HTML of the events on the way, each once."""

    def __init__(self, content: Callable[[], SessionContent], options: Options, log: EventLog | None = None) -> None:
        """Events that cannot be printed are logged to `log`."""
        self.content = content
        self._options = replace(options, redact=content().redact)
        self._follower = Follower(content().key, EventLog())
        self._printer = PagePrinter(self._options, log)

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self._follower.metadata

    @property
    def restarts(self) -> int:
        """How often a file was no longer what was read of it."""
        return self._follower.restarts

    def sent(self) -> SentBatch:
        """Return the events of the next bytes of the session's files."""
        limited, made = [Limited(path, identity, None) for path, identity in self.content().files], list[SentMessage]()
        try:
            for event, now in self._follower.advance(limited, READ_BYTES):
                if (sent := self._printer.printed(event, now)) is not None:
                    made.append(sent._replace(source=self._follower.source))
        except Exception:
            if not made:
                raise
            return SentBatch([], made, more=True)  # these are not read again, so they must not be lost
        return SentBatch([], made, self._follower.moved)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all events."""
        content = self.content()
        stretches = [Stretch(path, identity) for path, identity in content.files]
        return (event_uuid(event.id) for event, _ in replay(content.key, stretches, EventLog(), skip_missing=True))

    def whole(self) -> Iterator[SentMessage]:
        """Yield all from here to where the session's files end."""
        more = True
        while more:
            _, made, more = self.sent()
            yield from made

    def located(self, names: Collection[str]) -> Iterator[Position | None]:
        """Yield None for each event, and the position after the last one that a page names, in each source."""
        return located(names, self._again())

    def between(self, begin: Position, end: Position) -> Iterator[SentMessage | None]:
        """Yield the events after a position, up to another one, read from the files; None for each of the others."""
        return between(self._again(), begin, end)

    def _again(self) -> Iterator[SentMessage]:
        content = self.content()
        for sent in PageReader(lambda: content, self._options).whole():
            yield sent._replace(source=self._follower.name_of(sent.source))

    def held(self) -> Markup:
        """Return the HTML of what is incomplete: calls without a result."""
        return self._printer.held()

    def prompts(self) -> Markup:
        """Return the list of prompts so far."""
        return self._printer.prompts()


def whole_of(messages: Iterable[SentMessage]) -> Markup:
    """Return the HTML of what a reader has made."""
    return Markup("".join(sent.text for sent in messages))


def _link(name: str) -> Markup:
    return fill('<a class="at" href="#{}" title="Link to this message">#</a>', escape(name))


def _anchors(calls: Iterable[str]) -> Markup:
    """Return the places to which links to calls lead."""
    return join(fill('<i id="{}"></i>', escape(name)) for name in calls)


def _fitted(html: Markup) -> Markup:
    """Return HTML as a page has it: no styles of its own, and code and tables that keys can scroll."""
    return reachable(Markup(_ALIGNED.sub(r' class="\1"', html)))


def reachable(html: Markup) -> Markup:
    """Return HTML whose code and tables can be scrolled with the keys, which not every browser allows by itself."""
    return Markup(html.replace("<pre>", '<pre tabindex="0">').replace("<table>", '<table tabindex="0">'))
