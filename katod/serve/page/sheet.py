"""A session as a page has it: the HTML of each event, as the session grows. For the reading thread."""

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Final

from katod import events as ev
from katod.events import Event
from katod.formats.html import Html
from katod.formats.stream.bridge import event_uuid
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Options
from katod.record.export import Stretch, replay
from katod.record.follow import Follower, Limited
from katod.serve import failures
from katod.serve.feed import Content, Sending
from katod.serve.tail import Place, Sent

_READ_BYTES: Final = 128 * 1024
_MESSAGES: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE})
_FOUND: Final = _MESSAGES | {ev.ASSISTANT_THINKING, ev.TOOL_CALL, ev.TOOL_RESULT}  # what links may lead to
_CLASSES: Final = {
    ev.USER_MESSAGE: "e said", ev.ASSISTANT_MESSAGE: "e said", ev.ASSISTANT_THINKING: "e thought",
}  # fmt: skip
_UNSHOWN: Final = '<p class="failed">This cannot be shown. It is as it was in the agent\'s file.</p>'
# The only style that the printer writes into an element; no text can look like it, as quotes in text are escaped.
_ALIGNED: Final = re.compile(r' style="text-align:(left|center|right)"')
# Links to files of the project, which lead nowhere here.
_RELATIVE: Final = re.compile(r'<a href="(?!https?:|mailto:|#)[^"]*"')


class Sheet:
    """A position in a session that moves to its end, and the HTML of what was said on the way, each event once."""

    def __init__(self, content: Callable[[], Content], options: Options, log: EventLog | None = None) -> None:
        """Events that cannot be printed are logged to `log`."""
        self.content = content
        self._log = log or EventLog()
        self._options = replace(options, redact=content().redact, thinking=True, tools="full", attachments="save")
        self._follower = Follower(content().key, EventLog())
        self._printer = Html(self._options)
        self._is_dated = False
        self._calls: list[str] = []  # not printed, or not yet: links to them lead to what comes next

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self._follower.metadata

    @property
    def restarts(self) -> int:
        """How often a file was no longer what was read of it."""
        return self._follower.restarts

    def sent(self) -> Sending:
        """Return the events of the next bytes of the session's files."""
        limited, made = [Limited(path, identity, None) for path, identity in self.content().files], list[Sent]()
        try:
            for event, now in self._follower.advance(limited, _READ_BYTES):
                if (sent := self._printed(event, now)) is not None:
                    made.append(sent)
        except Exception:
            if not made:
                raise
            return Sending([], made, more=True)  # these are not read again, so they must not be lost
        return Sending([], made, self._follower.moved)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all events."""
        content = self.content()
        stretches = [Stretch(path, identity) for path, identity in content.files]
        return (event_uuid(event.id) for event, _ in replay(content.key, stretches, EventLog(), skip_missing=True))

    def whole(self) -> Iterator[Sent]:
        """Yield all from here to where the session's files end."""
        more = True
        while more:
            _, made, more = self.sent()
            yield from made

    def named(self, name: str) -> str:
        """Return the id of the event that a page has last, empty if there is none."""
        return next((sent.id for sent in self._again() if sent.id == name), "")

    def after(self, place: Place) -> Iterator[Sent]:
        """Yield the events after one, read from the files; none if it is not in them."""
        again = self._again()
        if not place.id or any(sent.id == place.id for sent in again):  # leaves those after it
            yield from again

    def _again(self) -> Iterator[Sent]:
        content = self.content()
        return Sheet(lambda: content, self._options).whole()

    def held(self) -> str:
        """Return what is not complete yet: calls that have no result, as far as they are known."""
        state = deepcopy(self._printer.state())
        state.pop("turn", None)  # it goes on
        html = Html(self._options, state).pause()
        return f"{_anchors(self._calls)}{_fitted(html)}" if html else ""

    def prompts(self) -> str:
        """Return the list of prompts so far."""
        return self._printer.prompts()

    def _printed(self, event: Event, metadata: SessionMetadata) -> Sent | None:
        try:
            html = self._html(event, metadata)
        except Exception as error:  # noqa: BLE001 - one event must not take the others with it
            failures.note(self._log, error, metadata.key)
            html = _UNSHOWN
        name = event_uuid(event.id)
        if not html.strip():
            self._calls += [name] if event.kind in _FOUND else []
            return None
        shown = _CLASSES.get(event.kind, "e")
        link = f'<a class="at" href="#{name}" title="Link to this message">#</a>' if shown == "e said" else ""
        calls, self._calls = self._calls, []
        inner = f"{link}{_anchors(calls)}{_fitted(html)}"
        return Sent(f'<section class="{shown}" id="{name}">{inner}</section>\n', (name, *calls))

    def _html(self, event: Event, metadata: SessionMetadata) -> str:
        if not self._is_dated and event.time and event.kind in _MESSAGES:  # times of other days have their date
            self._is_dated = True
            self._printer.head(metadata, event.time)
        return self._printer.event(event, metadata)


def _anchors(calls: Iterable[str]) -> str:
    """Return the places to which links to calls lead."""
    return "".join(f'<i id="{name}"></i>' for name in calls)


def _fitted(html: str) -> str:
    """Return HTML without styles of its own, which a page here may not have, and without links that lead nowhere."""
    return _RELATIVE.sub("<a", _ALIGNED.sub(r' class="\1"', html))
