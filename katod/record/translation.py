"""Lines of one source to the events of its session: decode, adapt, split, note the facts."""

from collections.abc import Iterator
from typing import Any

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.command.split import split
from katod.events import Event
from katod.formats.mdtext import clean
from katod.formats.redact import redact
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Line, Record
from katod.tail.decode import decode


def name_session(metadata: SessionMetadata, words: str, event: Event) -> None:
    """Take the title from the first words, redacted whatever the settings say: ledger and file names hold it, too."""
    if not metadata.title:
        metadata.name(clean(redact(words)), event)


class Translation:
    """The adapter of one source and the facts of its session, moving forward together."""

    def __init__(
        self, origin: Origin, metadata: SessionMetadata, log: EventLog, state: dict[str, Any] | None = None
    ) -> None:
        self._agent = origin.identity.key.agent
        self._adapter = AGENTS[self._agent].adapter(origin, state)
        self._path = str(origin.path)
        self._log = log
        self.metadata = metadata
        self._near_misses = 0

    @property
    def version(self) -> int:
        """The version of the adapter."""
        return self._adapter.version

    def state(self) -> dict[str, Any]:
        """Return the adapter's state."""
        return self._adapter.state()

    def take_near_misses(self) -> int:
        """Return how many lines since the last call looked like a command and were none."""
        count, self._near_misses = self._near_misses, 0
        return count

    def has_pending(self) -> bool:
        """Say whether text waits for a later record."""
        return self._adapter.has_pending()

    def feed(self, lines: list[Line]) -> Iterator[Event]:
        """Yield the events that these lines give.

        Lazy on purpose: each event must have passed `facts.observe` before the next one is asked for, so
        that what a head shows never depends on how much was read at once.
        """
        for line in lines:
            for record in decode(line):
                if record.value is None:
                    self._log.record_malformed(self._path, record.offset, record.problem)
                for event in self._adapt(record, line):
                    if event.kind == ev.USER_MESSAGE:
                        yield from self._split(event)
                    else:
                        yield event

    def feed_if_whole(self, line: Line) -> Iterator[Event]:
        """Yield the events of a line without its newline, if it is a whole record all the same."""
        records = decode(line)
        if records and all(record.value is not None for record in records):
            yield from self.feed([line])

    def finish(self) -> list[Event]:
        """Return what was held back, for a source that is complete."""
        try:
            events = self._adapter.finish()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an adapter trips over, only its record pays
            self._log.record_surprising(self._path, 0, type(error).__name__)
            return []
        return [part for event in events for part in (self._split(event) if event.kind == ev.USER_MESSAGE else [event])]

    def _adapt(self, record: Record, line: Line) -> list[Event]:
        try:
            return self._adapter.feed(record)
        except MemoryError:
            raise  # the machine's trouble, not the record's
        except Exception as error:  # noqa: BLE001 - whatever an adapter trips over, only its record pays
            self._log.record_surprising(self._path, record.offset, type(error).__name__)
            raw = line.data.decode("utf-8", "replace")
            return self._adapter.feed(Record(record.offset, None, record.part, raw, "unexpected shape"))

    def _split(self, event: Event) -> list[Event]:
        parts = split(event)
        self._near_misses += parts.near_misses
        if event.session.subagent == self.metadata.key.subagent:
            name_session(self.metadata, parts.words, event)
        return parts.events
