"""Notices what katod finds but does not understand: records that an agent's new version writes in another form."""

import re
import time
from collections.abc import Iterable
from typing import Final

from katod.discover.source import Source
from katod.log import EventLog
from katod.metadata import Counts, SessionMetadata
from katod.model import Cursor
from katod.record.stream import NoDedup, SessionStream
from katod.store.ledger import Ledger
from katod.store.rows import SampleRow
from katod.tail.reader import SourceFile

_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}")  # anything else may be text of the session
_STRANGE: Final = (
    "{0.raw} of {0.events} records of {0.agent} {0.version} are not understood: katod may be too old for it"
)
NOT_UNDERSTOOD: Final = "most of its records are not understood: katod may be too old for this version of the agent"
SAMPLE_BYTES: Final = 64 * 1024
_SMALLEST: Final = 16 * 1024
_EVERY: Final = 3600  # seconds between two samples of one agent


def version_in(metadata: SessionMetadata) -> str:
    """Return the version of the agent that began a session, empty for anything that may be text instead."""
    version = metadata.start.version
    return version if _VERSION.fullmatch(version) else ""


def not_understood(samples: Iterable[SampleRow]) -> list[tuple[SampleRow, str]]:
    """Return the agents of which the latest sample was not understood, and what to say about each."""
    latest = {sample.agent: sample for sample in sorted(samples, key=lambda sample: sample.time)}
    strange = [sample for sample in latest.values() if Counts(sample.events, sample.raw).is_strange]
    return [(sample, " ".join(_STRANGE.format(sample).split())) for sample in strange]  # a version may not be known


def sample(source: Source, file: SourceFile, ledger: Ledger) -> None:
    """Translate the beginning of a session that is not recorded, at most one of each agent in an hour.

    Only the counts are kept. Documents are left out, as they are read whole.
    """
    agent, now = source.identity.key.agent, int(time.time())
    if file.is_document or file.size < _SMALLEST or abs(now - ledger.last_sample(agent)) < _EVERY:
        return
    stream, counts = SessionStream(source.identity.key, NoDedup(), EventLog(), whole=False), Counts()
    for event in stream.events(source, file.read(Cursor(), SAMPLE_BYTES).lines):
        counts = counts.add(event)
    with ledger.transaction():
        ledger.save_sample(SampleRow(agent, version_in(stream.metadata), now, source.path, *counts))
