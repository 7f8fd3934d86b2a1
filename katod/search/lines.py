"""The lines of a file that may match, found without decoding the others."""

import re
from collections.abc import Iterator
from typing import Final

from katod.model import Cursor, Line
from katod.search.prefilter import lines_around
from katod.search.query import Query
from katod.tail.decode import strip_record
from katod.tail.reader import Batch, SourceFile

_CHUNK: Final = 256 * 1024  # bytes; larger ones leave the processor's cache


def lines_with(query: Query, file: SourceFile, special: bytes = b"") -> Iterator[tuple[Line, bool] | None]:
    """Yield the lines of a file that may have all words or have `special`, and whether each is terminated.

    Yields None after each chunk, so that a caller can do something else in between.
    """
    cursor, more = Cursor(), True
    while more:
        batch = file.read(cursor, _CHUNK)
        yield from ((line, True) for line in _candidates(batch, query, special))
        yield None
        more, cursor = batch.more and batch.cursor != cursor, batch.cursor
    last = file.rest(cursor.offset)
    if last is not None and query.may_be_in(last.data):
        yield last, False


def _candidates(batch: Batch, query: Query, special: bytes) -> Iterator[Line]:
    """Yield the lines of a batch that may have all words, and those with `special` in them."""
    if not batch.data:
        yield from (line for line in batch.lines if query.may_be_in(line.data) or (special and special in line.data))
        return
    spans = set(query.lines(batch.data))
    if special and special in batch.data:
        spans.update(lines_around(batch.data, re.compile(re.escape(special))))
    for begin, end in sorted(spans):
        offset = batch.start + begin
        yield Line(offset, batch.start + end + 1, strip_record(batch.data[begin:end], offset))
