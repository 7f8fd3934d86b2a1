"""Rows as columns of Arrow, and the files of Parquet that are made of them. Loads pyarrow, which takes a while."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from katod.archive.machine import Machine
from katod.errors import OutputError
from katod.tables.schema import VERSION, TableColumn, TableSpec

_TYPES: Final = {
    "text": pa.string(), "texts": pa.list_(pa.string()), "json": pa.string(), "time": pa.timestamp("ms", tz="UTC"),
    "day": pa.date32(), "count": pa.int64(), "number": pa.float64(), "flag": pa.bool_(),
}  # fmt: skip
_LONG: Final = frozenset({"text", "texts", "json"})
# What waits to be written: of rows, and of the row group of a file. A single row may be larger.
CHUNK: Final = 2 * 1024 * 1024  # characters
_MOST_ROWS: Final = 32 * 1024
_GROUP: Final = 16 * 1024 * 1024  # bytes
_READ_ROWS: Final = 1024
_VERSION_KEY, _MACHINE_KEY, _NAME_KEY = b"katod.tables", b"katod.machine", b"katod.machine_name"
_CODEC: Final = "zstd"


def schema_of(table: TableSpec) -> Any:
    """Return the schema of a table, as Arrow has it."""
    return pa.schema([pa.field(column.name, _TYPES[column.kind]) for column in table.columns])


class RowBuffer:
    """Rows of one table that become a batch once they are many."""

    def __init__(self, table: TableSpec) -> None:
        self._table = table
        self._schema = schema_of(table)
        self._columns: list[list[Any]] = [[] for _ in table.columns]
        self._size = 0

    def add(self, row: dict[str, Any]) -> Any:
        """Add a row; return the batch of all rows if they are many, else None."""
        for values, column in zip(self._columns, self._table.columns, strict=True):
            value = row.get(column.name)
            values.append(value)
            self._size += len(value) if isinstance(value, str) else 8
        return self.batch() if self._size > CHUNK or len(self._columns[0]) >= _MOST_ROWS else None

    def batch(self) -> Any:
        """Return the batch of all rows since the last one, None if there are none."""
        if not self._columns[0]:
            return None
        arrays = [_array(column, values) for column, values in zip(self._table.columns, self._columns, strict=True)]
        self._columns, self._size = [[] for _ in self._table.columns], 0
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _array(column: TableColumn, values: list[Any]) -> Any:
    try:
        return pa.array(values, _TYPES[column.kind])
    except UnicodeEncodeError:  # an unpaired surrogate, which a client may write
        return pa.array([_encodable(value) for value in values], _TYPES[column.kind])


def _encodable(value: Any) -> Any:
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class PartWriter:
    """Writes a file of Parquet, a row group at a time, to what has a method `write`."""

    def __init__(self, write: Callable[[bytes], Any], table: TableSpec, machine: Machine) -> None:
        self.rows = 0
        self._table = table
        self._waiting: list[Any] = []
        self._size = 0
        about = {_VERSION_KEY: str(VERSION), _MACHINE_KEY: machine.id, _NAME_KEY: machine.name}
        repeating = [column.name for column in table.columns if column.repeats]
        short = [column.name for column in table.columns if column.kind not in _LONG or column.repeats]
        self._sink = _WriteOnly(write)
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"), schema_of(table).with_metadata(about), compression=_CODEC,
            use_dictionary=repeating or False, write_statistics=short,
        )  # fmt: skip

    def __enter__(self) -> Self:
        """Return the writer; the file is complete at the end of the block, unless that fails."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Complete the file; after a failure, nothing more is written to it."""
        if kind is None:
            self._flush()
        else:
            self._sink.abandon()
        self._writer.close()

    def take(self, batch: Any) -> None:
        """Add rows."""
        self.rows += batch.num_rows
        self._waiting.append(batch)
        self._size += batch.nbytes
        if self._size >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            rows = pa.Table.from_batches(self._waiting, schema=schema_of(self._table))
            self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        self._waiting, self._size = [], 0


class _WriteOnly:
    """As much of a file as Arrow needs to write to it; closing it does nothing."""

    closed = False

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self._write = write
        self._at = 0

    def write(self, data: Any) -> int:
        """Write some bytes."""
        piece = bytes(data)
        self._write(piece)
        self._at += len(piece)
        return len(piece)

    def abandon(self) -> None:
        """Write nothing more."""
        self._write = len

    def tell(self) -> int:
        """Return how much was written."""
        return self._at

    def flush(self) -> None:
        """Do nothing: whoever gave `write` does it."""

    def close(self) -> None:
        """Do nothing, likewise."""


class PresentPart:
    """A file that is there: whose it is, and its rows."""

    def __init__(self, table: TableSpec, file: Any, path: str) -> None:
        """Read the end of the file. Raises OutputError if katod did not write it, or it is damaged."""
        self._table = table
        self._path = path
        try:
            self._file = pq.ParquetFile(file, pre_buffer=False)
            about = self._file.schema_arrow.metadata or {}
            self.version = int(about.get(_VERSION_KEY, b"0"))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.not_katods() from error
        self.machine = Machine(_text(about, _NAME_KEY), _text(about, _MACHINE_KEY))

    @property
    def whose(self) -> str:
        """What to say of it if it is not this machine's."""
        return f"belongs to another machine that is also called {self.machine.name}"

    @property
    def whose_hint(self) -> str:
        """What to do then."""
        return (
            "give this one another name: `archive.machine`; if it is the same machine and has lost katod's state,"
            f" write {self.machine.id} to the file `machine` in the state directory"
        )

    def require_own(self, machine: Machine) -> None:
        """Raise OutputError unless this katod may replace the file."""
        if not self.machine.id or not self.version:
            raise self.not_katods()
        if machine.id != self.machine.id:
            raise OutputError(self.whose, path=self._path, hint=self.whose_hint)
        if self.version > VERSION:
            raise OutputError("was written by a later version of katod", path=self._path, hint="use that version")

    def rows(self, wanted: Callable[[str], bool]) -> Iterator[Any]:
        """Yield the rows of the sessions that are wanted, in batches. Raises OutputError if the file is damaged."""
        schema = schema_of(self._table)
        try:
            for group in range(self._file.num_row_groups):
                names = self._file.read_row_group(group, ["session"], use_threads=False).column(0).unique().to_pylist()
                kept = pa.array([name for name in names if name and wanted(name)], pa.string())
                if len(kept):  # most of what goes is in groups of its own, which need not be read
                    yield from (_as_now(rows, schema) for rows in self._kept(group, kept))
        except (pa.ArrowException, OSError, KeyError) as error:
            raise self.not_katods() from error

    def _kept(self, group: int, sessions: Any) -> Iterator[Any]:
        for batch in self._file.iter_batches(_READ_ROWS, row_groups=[group], use_threads=False):
            rows = batch.filter(pc.is_in(batch.column("session"), value_set=sessions))
            if rows.num_rows:
                yield rows

    def values(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some columns, row by row. Raises OutputError if the file is damaged."""
        try:
            for batch in self._file.iter_batches(_READ_ROWS, columns=list(names), use_threads=False):
                yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        except (pa.ArrowException, OSError, KeyError) as error:
            raise self.not_katods() from error

    def not_katods(self) -> OutputError:
        """Return the error for a file that katod did not write, or that is damaged."""
        what = "is damaged, or not a file that katod wrote, and was left alone"
        hint = "move or delete it, and run it again: what the agents still have is written again"
        return OutputError(what, path=self._path, hint=hint)


def _text(about: dict[bytes, bytes], key: bytes) -> str:
    return about.get(key, b"").decode("utf-8", "replace")


def _as_now(batch: Any, schema: Any) -> Any:
    """Return rows of an earlier version as this one has them: what that did not know is null."""
    if batch.schema.equals(schema):
        return batch
    arrays = [_column(batch, field) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(batch: Any, field: Any) -> Any:
    if batch.schema.get_field_index(field.name) < 0:
        return pa.nulls(batch.num_rows, field.type)
    return batch.column(field.name).cast(field.type)


def serialized(batch: Any) -> memoryview:
    """Return a batch as bytes, without its schema."""
    return memoryview(batch.serialize())


def batch_of(data: bytes, table: TableSpec) -> Any:
    """Return the batch of these bytes."""
    return pa.ipc.read_record_batch(pa.py_buffer(data), schema_of(table))


def batches_of(table: TableSpec, rows: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """Yield rows in batches."""
    buffer = RowBuffer(table)
    for row in rows:
        if (batch := buffer.add(row)) is not None:
            yield batch
    if (batch := buffer.batch()) is not None:
        yield batch
