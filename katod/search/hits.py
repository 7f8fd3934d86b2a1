"""The hits of a search, in sessions and in transcripts. Pure."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from katod.model import Options, SessionKey
from katod.search.query import Query


class ShowView(NamedTuple):
    """The options of a command that shows sessions, as they are typed, and those with which it prints them."""

    typed: str
    options: Options


class RecordPlace(NamedTuple):
    """Where the record of an event begins: in which file, at which byte."""

    path: str
    offset: int


class Hit(NamedTuple):
    """An event, or a passage of a transcript, that has all words.

    `id` is the same for copies in other sessions, `event` the id of this event, empty for a passage and for what no
    transcript prints. `text` is what was searched, `redacted` returns what may be shown. `time` is ISO 8601, or empty;
    of a passage, it may have been said until `until`, or until its file changed last. What a tool was given or returned
    is not said. `shown_by` returns with which of these views an event is found, if any: its words without secrets are
    given. Of a result, that depends on its `call`, too, unless that was seen; its own record is `at` a place, if there
    is one near which the call can be looked for. A passage is shown as it is; `written` is how it stands in its
    file, with markup.
    """

    id: str
    speaker: str
    time: str
    text: str
    redacted: Callable[[], str]
    until: str | None = None
    event: str = ""
    is_said: bool = True
    written: str = ""
    shown_by: Callable[[Query, Sequence[ShowView], str], str | None] = lambda _query, _views, _text: ""
    call: str = ""
    at: RecordPlace | None = None


class TranscriptHead(NamedTuple):
    """What the head of a transcript says of it; `agent` is a slug of the product, or katod's name of the agent."""

    agent: str = ""
    session: str = ""
    subagent: str = ""
    project: str = ""
    title: str = ""
    date: str = ""
    zone: str = ""

    def of_session(self, key: SessionKey | None) -> "TranscriptHead":
        """Return it with the session that the ledger knows, if it names none itself."""
        if self.session or key is None:
            return self
        return self._replace(agent=self.agent or key.agent, session=key.id, subagent=key.subagent)
