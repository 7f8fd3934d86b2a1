"""Notices what katod finds but does not understand: records that an agent's new version writes in another form."""

import time
from typing import Final

from katod.discover.source import Source
from katod.log import EventLog
from katod.metadata import Counts
from katod.model import Cursor
from katod.record.formatdrift import version_in
from katod.record.stream import NoDedup, SessionStream
from katod.store.ledger import Ledger
from katod.store.rows import SampleRow
from katod.tail.reader import SourceFile

NOT_UNDERSTOOD: Final = "most of its records are not understood: katod may be too old for this version of the agent"
SAMPLE_BYTES: Final = 64 * 1024
_SMALLEST: Final = 16 * 1024
_EVERY: Final = 3600  # seconds between two samples of one agent


def sample(source: Source, file: SourceFile, ledger: Ledger) -> None:
    """Translate the beginning of a session that is not recorded, at most one of each agent in an hour.

    Only the counts are kept. Documents are left out, as they are read whole.
    """
    agent, now = source.identity.key.agent, int(time.time())
    if file.is_document or file.size < _SMALLEST or abs(now - ledger.samples.last(agent)) < _EVERY:
        return
    stream = SessionStream(source.identity.key, NoDedup(), EventLog(), whole=False)
    counts = Counts().plus(list(stream.events(source, file.read(Cursor(), SAMPLE_BYTES).lines)))
    with ledger.transaction():
        ledger.samples.save(SampleRow(agent, version_in(stream.metadata), now, source.path, *counts))
