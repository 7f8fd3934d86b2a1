"""Sessions that are read: their rows wait on the disk, and never in memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import generate
from tests.benchmarks.memory import peak_of
from tests.support.records.base import says, user
from tests.tables.dataset import Tables

pytestmark = pytest.mark.slow
MEGABYTES = 120
PEAK = 300  # MB, whatever the size of a session; a bare Python with pyarrow takes a third of it


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.longest(120)
def test_a_large_session_takes_no_more_memory_than_a_small_one(world):
    """Neither when it is read, nor when its rows stay and others are added beside them."""
    folder = world.home / ".claude/projects/-home-me-lantern"
    folder.mkdir(parents=True)
    path = folder / generate.GeneratedClaude(seed=1).name()
    with path.open("wb") as file:
        file.writelines(generate.session("claude", MEGABYTES * 1_000_000, seed=1))
    tables = Tables(world)
    for seed, wrote in ((2, "wrote 2"), (3, "wrote 1, unchanged 2")):
        small = folder / generate.GeneratedClaude(seed=seed).name()
        small.write_bytes(b"".join(generate.session("claude", 5000, seed=seed)))
        command = [sys.executable, "-m", "katod", "export", "--all", "-f", "parquet", "-o", str(tables.root)]
        with subprocess.Popen(command, env=world.environment, stdout=subprocess.PIPE, text=True) as process:
            peak = peak_of(process)
            assert process.stdout.read().strip() == wrote
        assert 50 < peak < PEAK
    assert {row["events"] > 10_000 for row in tables.rows("sessions")} == {True, False}


def test_the_rows_of_sessions_wait_in_one_file(world):
    """Each is read back as it was, and the space is free once they are in their places."""
    from katod.archive.plan import Task  # noqa: PLC0415
    from katod.cli.context import Context  # noqa: PLC0415
    from katod.tables.schema import MESSAGES  # noqa: PLC0415
    from katod.tables.staging import RowSpool, staged  # noqa: PLC0415 - an extra

    for number in (1, 2):
        world.session(number).say(user(f"words {number}"), says("answer"))
    spool, chunks = RowSpool(), []
    for _, found in sorted(Context(None).found().items()):
        read = staged(Task(found, (found.key, "tables"), [], "", "write"), hide=True)
        assert read.value.month == "2026-02"
        with read.file:
            chunks.append(spool.take(read))
    for number, some in reversed(list(enumerate(chunks, 1))):
        [batch] = spool.batches(MESSAGES, some)
        assert batch.column("text").to_pylist() == [f"words {number}", "answer"]
    assert spool.size > 0
    spool.clear()
    assert spool.size == 0
    spool.close()
