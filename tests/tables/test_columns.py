"""Rows as columns, and the files that are made of them."""

from io import BytesIO

import pytest

from katod.archive.machine import Machine
from katod.errors import OutputError
from katod.tables.schema import EVENTS, MESSAGES, SESSIONS, TABLES, TableSpec

pytestmark = pytest.mark.slow
LAPTOP = Machine("laptop", "a" * 32)


def written(table, rows, machine=LAPTOP):
    """Return a file of these rows."""
    from katod.tables.columns import PartWriter, batches_of  # noqa: PLC0415 - an extra

    file = BytesIO()
    with PartWriter(file.write, table, machine) as writer:
        for batch in batches_of(table, rows):
            writer.take(batch)
    assert writer.rows == len(rows)
    file.seek(0)
    return file


def read(table, file, wanted=lambda _: True):
    """Return the rows of the sessions that are wanted."""
    from katod.tables.columns import PresentPart  # noqa: PLC0415 - an extra

    return [row for batch in PresentPart(table, file, "part").rows(wanted) for row in batch.to_pylist()]


def test_what_is_written_is_read():
    """Half a character becomes a question mark; what is absent is null."""
    rows = [{"session": f"claude:{number}", "text": "x\ud800y" * number, "typed": True} for number in range(3)]
    found = read(MESSAGES, written(MESSAGES, rows))
    assert [row["text"] for row in found] == ["x?y" * number for number in range(3)]
    assert {row["role"] for row in found} == {None}
    found = read(SESSIONS, written(SESSIONS, [{"session": "claude:1", "models": ["a\ud800", "b"]}]))
    assert found[0]["models"] == ["a?", "b"]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_an_empty_file_has_all_columns(table):
    """So that an engine finds them, whatever is in other months."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    file = written(table, [])
    assert pq.read_table(file).column_names == [*table.names]
    assert read(table, file) == []


def test_row_groups_are_bounded_and_those_without_a_wanted_session_are_not_read():
    """However many rows there are; what is in other groups may as well be damaged."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    noise = [{"session": f"claude:{number // 100}", "payload": f"{number:07}" * 10_000} for number in range(1000)]
    file = written(EVENTS, noise)
    about = pq.ParquetFile(file).metadata
    sizes = [about.row_group(number).total_byte_size for number in range(about.num_row_groups)]
    assert len(sizes) >= 4
    assert max(sizes) < 24_000_000
    assert len(read(EVENTS, file, lambda name: name == "claude:3")) == 100
    content = bytearray(file.getvalue())
    last = about.row_group(about.num_row_groups - 1).column(7)
    content[last.data_page_offset + 40 : last.data_page_offset + 80] = bytes(40)
    assert len(read(EVENTS, BytesIO(content), lambda name: name == "claude:0")) == 100
    with pytest.raises(OutputError, match="is damaged"):
        read(EVENTS, BytesIO(content))


def test_columns_that_came_later_are_null():
    """A file of an earlier version is read as this one has it; one of a later version is not replaced."""
    from katod.tables import columns  # noqa: PLC0415 - an extra

    earlier = TableSpec("messages", "", tuple(column for column in MESSAGES.columns if column.name != "typed"))
    [row] = read(MESSAGES, written(earlier, [{"session": "claude:1", "text": "hi"}]))
    assert (row["typed"], row["text"]) == (None, "hi")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns, "VERSION", 99)
        later = written(MESSAGES, [])
    with pytest.raises(OutputError, match="later version"):
        columns.PresentPart(MESSAGES, later, "part").require_own(LAPTOP)


def test_whose_a_file_is():
    """By the id in it, not by the name."""
    from katod.tables.columns import PresentPart  # noqa: PLC0415 - an extra

    part = PresentPart(MESSAGES, written(MESSAGES, []), "part")
    assert part.machine == LAPTOP
    part.require_own(Machine("desktop", LAPTOP.id))
    with pytest.raises(OutputError, match="another machine that is also called laptop"):
        part.require_own(Machine("laptop", "b" * 32))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100, b"mine\n" * 100])
def test_what_is_no_file_of_parquet_is_said_to_be_damaged(content):
    """Whatever it is."""
    from katod.tables.columns import PresentPart  # noqa: PLC0415 - an extra

    with pytest.raises(OutputError, match="is damaged, or not a file that katod wrote"):
        PresentPart(MESSAGES, BytesIO(content), "part")


def test_nothing_is_written_after_a_failure():
    """The end of the file would make it a complete one."""
    from katod.tables.columns import PartWriter  # noqa: PLC0415 - an extra

    file = BytesIO()
    with pytest.raises(ZeroDivisionError), PartWriter(file.write, MESSAGES, LAPTOP):
        raise ZeroDivisionError
    assert file.getvalue() == b"PAR1"
