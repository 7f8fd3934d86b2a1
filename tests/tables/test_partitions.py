"""Which files of a data set may be replaced."""

import shutil

import pytest

from katod.archive.machine import NAME as MACHINE
from katod.errors import TablesError
from tests.support.records import Codex
from tests.support.records.base import says, user
from tests.support.world import World

pytestmark = pytest.mark.slow


def test_two_machines_without_a_name_do_not_mix(world, tables, two, tmp_path):
    """Also if they have no agent in common: nothing is written, and it is said what to do in either case."""
    tables.export()
    before = {path: path.stat().st_mtime_ns for path in tables.root.rglob("*")}
    first = (world.state / MACHINE).read_text().strip()
    other = World(tmp_path / "second")
    Codex(other).say(user("hello"), says("yes"))
    other.cli("export", "--all", "-f", "parquet", "-o", str(tables.root), code=1)
    assert "belongs to another machine that is also called local" in other.said
    assert {path: path.stat().st_mtime_ns for path in tables.root.rglob("*")} == before
    with pytest.raises(TablesError) as failed:
        raise other._invoke(["export", "--all", "-f", "parquet", "-o", str(tables.root)], 1).exception
    assert "`archive.machine`" in failed.value.hint
    assert f"write {first} to the file `machine`" in failed.value.hint
    (other.state / MACHINE).write_text(first)
    assert other.cli("export", "--all", "-f", "parquet", "-o", str(tables.root)) == "wrote 1\n"


def test_a_damaged_file_of_its_own_is_left_alone_if_the_list_is_lost(world, tables, two):
    """One line says so, and nothing in its month is written."""
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    tables.export()
    [path] = (path for name, path in tables.parts().items() if name.startswith("sessions"))
    rows = pq.ParquetFile(path).read()
    nothing = pa.array([None] * rows.num_rows, pa.string())
    pq.write_table(rows.set_column(rows.schema.get_field_index("session"), "session", nothing), path)
    shutil.rmtree(world.state / "tables")
    before = tables.stamps()
    tables.export(code=1)
    assert world.said.count("is damaged, or not a file that katod wrote") == 1
    assert tables.stamps() == before
