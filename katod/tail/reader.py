"""Reads what is new in one session file: open, prove the cursor, read whole lines, close.

No reader stays open between steps, and an offset only ever follows a newline (or stands inside a hole
of NUL bytes). The anchor proves that the bytes before the offset are those that were read before.
"""

import os
import stat
from hashlib import blake2b
from typing import ClassVar, Final

from katod.errors import SourceChanged, SourceError
from katod.model import Anchor, Cursor, Line, Partial
from katod.tail.framing import clean, frame

ANCHOR_SIZE: Final = 1024
LINE_CAP: Final = 64 * 1024 * 1024
CHUNK: Final = 1024 * 1024


class Batch:
    """Whole lines in file order as they stand there, the cursor after them, and whether bytes are left to read now.

    `data` begins at offset `start`; it is empty where one line was too long to be held (`lines` shows its place).
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
        """The lines, framed when they are first asked for: a scan that finds nothing never asks."""
        if self._lines is None:
            self._lines = frame(self.data, self.start)
        return self._lines

    def from_line(self, line: Line) -> "Batch":
        """Return the rest of the batch from one of its lines on; the line is taken as it is given."""
        if self._lines is not None:
            rest = [line, *(other for other in self._lines if other.offset > line.offset)]
        else:
            rest = [line, *frame(self.data[line.end - self.start :], line.end)]
        return Batch(b"", line.offset, self.cursor, more=self.more, partial=self.partial, lines=rest)


class SourceFile:
    """One session file, open for the length of a step."""

    is_document: ClassVar[bool] = False

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("is not a regular file", path=path)
        self.size = status.st_size
        self.mtime_ns = status.st_mtime_ns
        self.dev, self.ino = status.st_dev, status.st_ino

    def holds_document(self) -> bool:
        """Say whether the file is one JSON document over many lines: a line of a record never ends behind its brace."""
        return self.path.endswith(".json") or self._pread(2, 0) in (b"{\n", b"{\r")

    def anchor(self, offset: int) -> Anchor:
        """Hash the bytes that end at `offset`."""
        size = min(offset, ANCHOR_SIZE)
        return Anchor(size, short_hash(self._pread(size, offset - size)))

    def prove(self, cursor: Cursor) -> None:
        """Raise SourceChanged unless the bytes before the cursor are those that it remembers."""
        if cursor.offset > self.size:
            raise SourceChanged("the file is shorter than the part already read", path=self.path)
        size, digest = cursor.anchor
        if size and short_hash(self._pread(size, cursor.offset - size)) != digest:
            raise SourceChanged("the file was rewritten before the cursor", path=self.path)

    def read(self, cursor: Cursor, budget: int, partial: Partial | None = None) -> Batch:
        """Return the whole lines behind a proven cursor, at least one if there is one, else up to `budget` bytes.

        A line longer than `LINE_CAP` comes as a placeholder and is passed over in constant memory.
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
        """Say whether some bytes stand before `limit`."""
        at = 0
        while at < min(limit, self.size):
            if needle in self._pread(CHUNK + len(needle), at):
                return True
            at += CHUNK
        return False

    def rest(self, offset: int) -> Line | None:
        """Return what stands behind the last newline as a line (`export` takes it), None if nothing does."""
        if not 0 < self.size - offset <= LINE_CAP:
            return None
        data = self._pread(self.size - offset, offset)
        return Line(offset, self.size, clean(data, offset))

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
            line = Line(cursor.offset, end, clean(self._pread(end - start - 1, start), start))
        return Batch(b"", start, Cursor(end, self.anchor(end)), more=end < self.size, lines=[line])

    def _after_hole(self, offset: int) -> int:
        """Return the offset of the first byte that is not NUL (a hole that a crash or a copy left)."""
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
        """Say whether a long line has only grown and still has no newline; short ones are simply read again."""
        grown = partial.offset == start and CHUNK < partial.scanned - start <= self.size - start
        return grown and self._newline(partial.scanned) < 0

    def _pread(self, size: int, offset: int) -> bytes:
        try:
            return os.pread(self.fd, size, offset)
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=self.path) from error


def short_hash(data: bytes) -> str:
    """Return a short hash of bytes."""
    return blake2b(data, digest_size=12).hexdigest()
