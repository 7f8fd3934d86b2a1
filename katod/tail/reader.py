"""Reads what is new in one session file: open, verify the cursor's anchor, read complete lines, close.

No file stays open between steps. An offset always follows a newline (or lies inside a hole of NUL bytes). The
anchor is a hash of the bytes before the offset: while it matches, they have not changed since they were read.
"""

import os
import stat
from hashlib import blake2b
from typing import ClassVar, Final

from katod.errors import SourceChanged, SourceError
from katod.model import Anchor, Cursor, Line, Partial
from katod.tail.framing import frame, strip_record

ANCHOR_SIZE: Final = 1024
LINE_CAP: Final = 64 * 1024 * 1024
CHUNK: Final = 1024 * 1024


class Batch:
    """Complete lines in file order, the cursor after them, and whether more can be read now.

    `data` begins at offset `start`; it is empty if a single line was too long to keep (`lines` has a placeholder).
    """

    __slots__ = ("_lines", "cursor", "data", "more", "partial", "start")

    def __init__(
        self, data: bytes, start: int, cursor: Cursor, *, more: bool, partial: Partial | None = None,
        lines: list[Line] | None = None,
    ) -> None:  # fmt: skip
        self.data = data
        self.start = start
        self.cursor = cursor
        self.more = more
        self.partial = partial
        self._lines = lines

    @property
    def lines(self) -> list[Line]:
        """The lines, framed on first access: a scan that finds nothing never needs them."""
        if self._lines is None:
            self._lines = frame(self.data, self.start)
        return self._lines

    def from_line(self, line: Line) -> "Batch":
        """Return the rest of the batch from one of its lines on, with `line` used as given."""
        if self._lines is not None:
            rest = [line, *(other for other in self._lines if other.offset > line.offset)]
        else:
            rest = [line, *frame(self.data[line.end - self.start :], line.end)]
        return Batch(b"", line.offset, self.cursor, more=self.more, partial=self.partial, lines=rest)


class SourceFile:
    """One session file, open for the duration of a step. `size` and `mtime_ns` are those at opening."""

    is_document: ClassVar[bool] = False

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("not a regular file", path=path)
        self.size = status.st_size
        self.mtime_ns = status.st_mtime_ns

    def looks_like_document(self) -> bool:
        """Return whether the file is one JSON document over many lines: no record has a newline after its brace."""
        return self.path.endswith(".json") or self._pread(2, 0) in (b"{\n", b"{\r")

    def anchor(self, offset: int) -> Anchor:
        """Return the hash of the bytes that end at `offset`."""
        size = min(offset, ANCHOR_SIZE)
        return Anchor(size, short_hash(self._pread(size, offset - size)))

    def verify_anchor(self, cursor: Cursor) -> None:
        """Raise SourceChanged unless the bytes before the cursor still match its anchor."""
        if cursor.offset > self.size:
            raise SourceChanged("the file is shorter than the part already read", path=self.path)
        size, digest = cursor.anchor
        if size and short_hash(self._pread(size, cursor.offset - size)) != digest:
            raise SourceChanged("the file was rewritten before the cursor", path=self.path)

    def read(self, cursor: Cursor, budget: int, partial: Partial | None = None) -> Batch:
        """Return the complete lines after a verified cursor: up to `budget` bytes, or one line if that is longer.

        A line longer than `LINE_CAP` is returned as a placeholder and skipped in constant memory.
        """
        start = cursor.offset
        if partial is not None and self._still_partial(partial, start):
            return Batch(b"", start, cursor, more=False, partial=Partial(start, self.size))
        data = self._pread(budget, start)
        end = data.rfind(b"\n") + 1
        if end:
            return self._batch(data if end == len(data) else data[:end], start)
        if start + len(data) >= self.size:
            partial = Partial(start, start + len(data)) if data else None
            return Batch(b"", start, cursor, more=False, partial=partial)
        return self._long_line(cursor)

    def last_newline(self, limit: int) -> int:
        """Return the offset after the last newline before `limit`, 0 if there is none."""
        end = min(limit, self.size)
        while end > 0:
            begin = max(0, end - CHUNK)
            found = self._pread(end - begin, begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
        return 0

    def find(self, needle: bytes, limit: int) -> bool:
        """Return whether `needle` occurs before `limit`."""
        at = 0
        while at < min(limit, self.size):
            if needle in self._pread(CHUNK + len(needle), at):
                return True
            at += CHUNK
        return False

    def rest(self, offset: int) -> Line | None:
        """Return the unterminated last line (only `export` reads it), None if there is none."""
        if not 0 < self.size - offset <= LINE_CAP:
            return None
        data = self._pread(self.size - offset, offset)
        return Line(offset, self.size, strip_record(data, offset))

    def _batch(self, data: bytes, start: int) -> Batch:
        offset = start + len(data)
        size = min(offset, ANCHOR_SIZE)
        tail = data[-size:] if len(data) >= size else self._pread(size, offset - size)
        cursor = Cursor(offset, Anchor(size, short_hash(tail)))
        return Batch(data, start, cursor, more=offset < self.size)

    def _long_line(self, cursor: Cursor) -> Batch:
        start = self._after_hole(cursor.offset)
        end = self._newline(start)
        if end < 0:
            partial = Partial(cursor.offset, self.size) if start == cursor.offset else None
            return Batch(b"", start, cursor, more=False, partial=partial)
        if end - start > LINE_CAP:
            line = Line(cursor.offset, end, b"", skipped=end - start)
        else:
            line = Line(cursor.offset, end, strip_record(self._pread(end - start - 1, start), start))
        return Batch(b"", start, Cursor(end, self.anchor(end)), more=end < self.size, lines=[line])

    def _after_hole(self, offset: int) -> int:
        """Return the offset of the first byte that is not NUL: a crash or a copy can leave a hole."""
        while offset < self.size:
            data = self._pread(CHUNK, offset)
            rest = data.lstrip(b"\0")
            if rest or not data:
                return offset + len(data) - len(rest)
            offset += len(data)
        return offset

    def _newline(self, offset: int) -> int:
        """Return the offset after the next newline, -1 if there is none yet."""
        while offset < self.size:
            data = self._pread(CHUNK, offset)
            found = data.find(b"\n")
            if found >= 0:
                return offset + found + 1
            if not data:
                return -1
            offset += len(data)
        return -1

    def _still_partial(self, partial: Partial, start: int) -> bool:
        """Return whether a long line has only grown and is still unterminated; short ones are simply read again."""
        grown = partial.offset == start and CHUNK < partial.scanned - start <= self.size - start
        return grown and self._newline(partial.scanned) < 0

    def _pread(self, size: int, offset: int) -> bytes:
        try:
            return os.pread(self.fd, size, offset)
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=self.path) from error


def short_hash(data: bytes) -> str:
    """Return a short hash of `data`, in hex."""
    return blake2b(data, digest_size=12).hexdigest()
