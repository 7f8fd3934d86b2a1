"""A session read again from its beginning: for exports, and to rebuild a state after an upgrade."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.errors import SourceError
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, SessionKey
from katod.record.translation import Translation
from katod.tail.reader import Cursor, SourceFile

CHUNK = 512 * 1024


class Stretch(NamedTuple):
    """One source, from its beginning to `limit` (None: to its end, held-back events and an unended line included)."""

    path: str
    identity: Identity
    limit: int | None = None


def replay(
    key: SessionKey, stretches: Iterable[Stretch], log: EventLog, *, skip_missing: bool = False
) -> Iterator[tuple[Event, SessionMetadata]]:
    """Yield each event of a session once, in order, with the facts as they are then. Raises SourceError."""
    metadata = SessionMetadata(key)
    native_ids = AGENTS[key.agent].nature.has_native_ids
    seen: set[int] = set()
    for stretch in stretches:
        try:
            for event in _events(stretch, metadata, log):
                if native_ids:
                    hashed = hash(event.id)  # only compared within this process, and much cheaper than id_hash
                    if hashed in seen:
                        continue
                    seen.add(hashed)
                metadata.observe(event)
                yield event, metadata
                metadata.close(event)
        except SourceError:
            if not skip_missing:
                raise


def _events(stretch: Stretch, metadata: SessionMetadata, log: EventLog) -> Iterator[Event]:
    translation = Translation(Origin(stretch.identity, Path(stretch.path)), metadata, log)
    with AGENTS[stretch.identity.key.agent].open(stretch.path) as file:
        cursor, limit = Cursor(), stretch.limit
        while limit is None or cursor.offset < limit:
            batch = file.read(cursor, CHUNK if limit is None else min(CHUNK, limit - cursor.offset))
            yield from translation.feed(batch.lines)
            cursor = batch.cursor
            if not batch.more or not batch.lines:
                break
        if limit is None:
            yield from _end(file, cursor, translation)


def _end(file: SourceFile, cursor: Cursor, translation: Translation) -> Iterator[Event]:
    line = file.rest(cursor.offset)
    if line is not None:
        yield from translation.feed_if_whole(line)
    yield from translation.finish()
