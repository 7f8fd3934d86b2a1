"""Notices that the conversation continues in a new session, after `/clear` or `/new`, which is not recorded.

Agents begin a new session then, in a file of its own, and none of them records which one it follows. So it is the
first new session of the same agent in the same project in which the user types while the recorded one is at rest.
What is said there is not recorded; the user is notified once.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from katod import events as ev
from katod.agents.spec import SPAWNED
from katod.discover.source import Source
from katod.events import Event, seconds
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Cursor, SessionKey
from katod.record.news import NOT_RECORDED, News, Tell
from katod.record.session import ActiveSession
from katod.record.stream import NoDedup, SessionStream
from katod.store.ledger import Ledger
from katod.tail.reader import SourceFile

_HEAD_BYTES: Final = 64 * 1024
_TYPED: Final = ("slash-command", "shell")  # by the user, though not to the model


class _NewSession(NamedTuple):
    """How a session begins, and when the user first typed in it."""

    metadata: SessionMetadata
    time: str

    def follows(self, session: ActiveSession) -> bool:
        """Return whether it is in the project of a recorded session, and began after the recording."""
        output, cwd = session.recording, self.metadata.cwd
        is_later = output is None or not self.time or seconds(self.time) > seconds(output.row.since)
        is_own = self.metadata.start.origin == SPAWNED
        return bool(cwd) and cwd == session.metadata.cwd and is_later and not is_own


class Successors:
    """Looks at the beginnings of new sessions, as long as one of the same agent is recorded."""

    def __init__(self, ledger: Ledger, log: EventLog, tell: Tell) -> None:
        self._ledger = ledger
        self._log = log
        self._tell = tell
        self._known: set[int] = set()  # sources that were looked at, once something was said in them

    def look(self, source: Source, file: SourceFile, recorded: Iterable[ActiveSession]) -> None:
        """Look at a source that is not recorded: it may be where the user of one of these sessions went on."""
        if source.id in self._known or source.history or source.identity.key.subagent:
            return
        left = [one for one in recorded if _may_be_left(one, source)]
        head = _head(source, file) if left else None
        if head is not None:
            self._known.add(source.id)
            followed = (one for one in left if head.follows(one))
            self._note(max(followed, key=lambda one: one.metadata.time, default=None), source.identity.key)

    def _note(self, session: ActiveSession | None, successor: SessionKey) -> None:
        output = session.recording if session else None
        if session is None or output is None:
            return
        output.set_successor(str(successor))
        with self._ledger.transaction():
            output.save(self._ledger)
        self._log.recording_abandoned(str(session.row.key), output.id)
        self._tell(News.of("left", output.row, f"it {NOT_RECORDED}")._replace(says="katod: a new session began"))


def _may_be_left(session: ActiveSession, source: Source) -> bool:
    """Return whether the user of a recorded session may have gone on in a source that appeared later."""
    output = session.recording
    is_other = session.row.id != source.session and session.row.key.agent == source.identity.key.agent
    return is_other and output is not None and not output.row.successor and session.state_news.is_at_rest


def _head(source: Source, file: SourceFile) -> _NewSession | None:
    """Return how a session begins, None if nobody said anything in it yet."""
    stream = SessionStream(source.identity.key, NoDedup(), EventLog(), whole=False)
    lines = file.read(Cursor(), _HEAD_BYTES).lines
    first = next(filter(_is_typed, stream.events(source, lines)), None)
    return _NewSession(stream.metadata, first.time) if first else None


def _is_typed(event: Event) -> bool:
    return event.kind == ev.USER_MESSAGE and (event.typed or event.payload.get("subtype") in _TYPED)
