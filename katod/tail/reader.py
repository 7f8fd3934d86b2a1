"""Reads what is new in one session file: open, verify the cursor's anchor, read complete lines, close.

No file stays open between steps. An offset always follows a newline (or lies inside a hole of NUL bytes). The
anchor is a hash of the bytes before the offset: while it matches, they have not changed since they were read.

A file has lines, or is one JSON document (`DocumentFile`), or has lines that are compressed (`Unpacked`).
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import ClassVar, Final

from katod.errors import AgentFailed, SourceChanged, SourceError, SourceGone, SourceUnusable
from katod.model import NO_ANCHOR, Anchor, Cursor, Line, Partial, changed_ns
from katod.tail.decode import frame, strip_record, value_of

ANCHOR_SIZE: Final = 1024
LINE_CAP: Final = 64 * 1024 * 1024
CHUNK: Final = 1024 * 1024
COMPRESSED_SUFFIX: Final = ".zst"
# Far more than any session, and than its text can be compressed: anything larger is a decompression bomb.
_LARGEST: Final = 4 * 1024**3
_LARGEST_RATIO: Final = 200
_ALWAYS_ALLOWED: Final = 64 * 1024**2
_CHUNK: Final = 1024 * 1024


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

    def in_file_of(self, size: int) -> "Batch":
        """Return it with what can be read now: its file may have grown since it was read."""
        more = self.cursor.offset < size
        return Batch(self.data, self.start, self.cursor, more=more, partial=self.partial, lines=self._lines)


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
        self.mtime_ns = changed_ns(status)

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


class DocumentFile(SourceFile):
    """One JSON document, which is rewritten as a whole at each change, and read as one line.

    A document that changed since it was read counts as a rewritten file: it is read again from the start, and events
    with known ids are skipped. A half-written document is not read until it is complete.
    """

    is_document: ClassVar[bool] = True

    @classmethod
    def of(cls, file: SourceFile) -> "DocumentFile":
        """Return an open file as a document."""
        return cls(file.fd, file.path)

    def anchor(self, offset: int) -> Anchor:
        """Hash the whole document."""
        return Anchor(offset, short_hash(self._pread(offset, 0))) if offset else NO_ANCHOR

    def verify_anchor(self, cursor: Cursor) -> None:
        """Raise SourceChanged unless this is the document that was read."""
        if cursor.offset and (cursor.offset != self.size or self.anchor(self.size) != cursor.anchor):
            raise SourceChanged("the document was rewritten", path=self.path)

    def read(self, cursor: Cursor, _budget: int, _partial: Partial | None = None) -> Batch:
        """Return the document as one line, or nothing if it was read already or is incomplete."""
        if cursor.offset == self.size:
            return Batch(b"", self.size, cursor, more=False)
        after = Cursor(self.size, self.anchor(self.size))
        if self.size > LINE_CAP:
            raise SourceError(f"too large to read: {self.size} bytes, the limit is {LINE_CAP}", path=self.path)
        lines = [Line(0, self.size, data) for data in self.documents(self._pread(self.size, 0))]
        return Batch(b"", 0, after if lines else cursor, more=False, lines=lines)

    def documents(self, data: bytes) -> list[bytes]:
        """Return the document in a list, or an empty list if it is incomplete."""
        return [data] if value_of(data) is not None else []

    def last_newline(self, limit: int) -> int:
        """Return the size: in a document, old content cannot be told apart from new."""
        return self.size if limit else 0

    def rest(self, _offset: int) -> Line | None:
        """Return None: a document is read as a whole or not at all."""
        return None


class Unpacked(SourceFile):
    """The decompressed content of a file (Codex: `.jsonl.zst`), read as the lines that it was.

    The file's own size says nothing about it.
    """

    def last_newline(self, limit: int) -> int:
        """Return the offset after the last newline, 0 if `limit` is 0."""
        return super().last_newline(self.size) if limit else 0


@contextmanager
def decompressed(fd: int, path: str) -> Iterator[int]:
    """Yield a descriptor of the decompressed content, in an unnamed temporary file.

    Raises SourceUnusable, or SourceError if there is no space.
    """
    try:
        import zstandard  # noqa: PLC0415 - an extra, for this kind of file alone
    except ImportError:
        raise SourceUnusable("compressed: to read it, install katod with the extra `zst`", path=path) from None
    limit = _limit(os.fstat(fd).st_size)
    import tempfile  # noqa: PLC0415 - few sessions are compressed

    with tempfile.TemporaryFile() as plain, os.fdopen(os.dup(fd), "rb") as packed:
        try:
            with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as content:
                while piece := content.read(_CHUNK):
                    if plain.tell() + len(piece) > limit:
                        raise SourceUnusable(f"too large when decompressed: the limit is {limit} bytes", path=path)
                    plain.write(piece)
            plain.flush()
        except zstandard.ZstdError as error:
            raise SourceUnusable(f"cannot be decompressed: {error}", path=path) from error
        except OSError as error:
            raise SourceError(f"cannot be decompressed: {error.strerror}", path=path) from error
        yield plain.fileno()


def _limit(size: int) -> int:
    return min(_LARGEST, max(_ALWAYS_ALLOWED, _LARGEST_RATIO * size))


@contextmanager
def open_source(path: str) -> Iterator[SourceFile]:
    """Open a session file for one step. Raises SourceGone, or SourceError unless it is a readable regular file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError as error:
        raise SourceGone("no longer exists", path=path) from error
    except OSError as error:
        raise SourceError(f"cannot be opened: {error.strerror}", path=path) from error
    try:
        if path.endswith(COMPRESSED_SUFFIX):
            with decompressed(fd, path) as plain:
                yield Unpacked(plain, path)
        else:
            file = SourceFile(fd, path)
            yield DocumentFile.of(file) if file.looks_like_document() else file
    finally:
        os.close(fd)


@contextmanager
def unreadable_skipped() -> Iterator[None]:
    """Go on after a source that cannot be read, whose own step names the problem; a failure of katod is raised."""
    try:
        yield
    except AgentFailed:
        raise
    except SourceError:
        pass
