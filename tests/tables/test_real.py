"""Real sessions as tables: whatever agents wrote, each event is a row, and nothing fails."""

import os
from io import BytesIO

import pytest

from katod.agents import AGENTS
from katod.archive.machine import Machine
from katod.archive.plan import Task
from katod.discover.found import FoundSession
from katod.errors import SourceError
from katod.model import Stat
from katod.tables.schema import CALLS, EVENTS, MESSAGES, OF_EVENTS, SESSIONS
from tests.oracle.corpus import corpus_sources, fixture_sources

pytestmark = pytest.mark.slow
LAPTOP = Machine("laptop", "a" * 32)


@pytest.mark.skipif("KATOD_CORPUS" not in os.environ, reason="KATOD_CORPUS is not set")
@pytest.mark.longest(240)
def test_real_sessions_become_rows():
    """The session counts them; they are written and read back."""
    from katod.tables.columns import PartWriter, PresentPart  # noqa: PLC0415 - an extra
    from katod.tables.staging import RowSpool, staged  # noqa: PLC0415

    read = 0
    for source in (*corpus_sources(), *fixture_sources()):
        path = source.path.absolute()
        identity = AGENTS[source.agent].named(path)
        found = FoundSession(identity.key)
        found.files.append((str(path), identity, Stat(path.stat().st_size, 0, 0, 0)))
        try:
            made = staged(Task(found, (identity.key, "tables"), [], "", "write"), hide=True)
        except SourceError:
            continue  # not a session after all
        spool, rows = RowSpool(), {}
        with made.file:
            chunks = spool.take(made)
        for table in OF_EVENTS:
            file = BytesIO()
            with PartWriter(file.write, table, LAPTOP) as writer:
                for batch in spool.batches(table, chunks):
                    writer.take(batch)
            file.seek(0)
            rows[table] = sum(batch.num_rows for batch in PresentPart(table, file, "").rows(lambda _: True))
        spool.close()
        assert rows[SESSIONS] == (not made.value.is_empty), source
        assert rows[EVENTS] >= rows[MESSAGES] + rows[CALLS]
        read += rows[SESSIONS]
    assert read > 100
