"""Session files that are one JSON document, rewritten whole at each change: they come as one line.

A document that was read and then changed counts as a rewritten file: it is read again from its start, and known
ids are skipped. One that is half written is left until it is whole.
"""

from typing import ClassVar

import orjson

from katod.errors import SourceChanged, SourceError
from katod.model import NO_ANCHOR, Anchor, Cursor, Line, Partial
from katod.tail.reader import LINE_CAP, Batch, SourceFile, short_hash


class Document(SourceFile):
    """One document, open for the length of a step."""

    is_document: ClassVar[bool] = True

    @classmethod
    def of(cls, file: SourceFile) -> "Document":
        """Return an open file as a document."""
        return cls(file.fd, file.path)

    def anchor(self, offset: int) -> Anchor:
        """Hash the whole document."""
        return Anchor(offset, short_hash(self._pread(offset, 0))) if offset else NO_ANCHOR

    def prove(self, cursor: Cursor) -> None:
        """Raise SourceChanged unless the document is the one that was read."""
        if cursor.offset and (cursor.offset != self.size or self.anchor(self.size) != cursor.anchor):
            raise SourceChanged("the document was rewritten", path=self.path)

    def read(self, cursor: Cursor, _budget: int, _partial: Partial | None = None) -> Batch:
        """Return the document as one line, nothing if it was read already or is not whole."""
        if cursor.offset == self.size:
            return Batch(b"", self.size, cursor, more=False)
        after = Cursor(self.size, self.anchor(self.size))
        if self.size > LINE_CAP:
            raise SourceError(f"is too large to read: {self.size} bytes, the limit is {LINE_CAP}", path=self.path)
        lines = [Line(0, self.size, data) for data in self.documents(self._pread(self.size, 0))]
        return Batch(b"", 0, after if lines else cursor, more=False, lines=lines)

    def documents(self, data: bytes) -> list[bytes]:
        """Return the document that the file is, none if it is not whole."""
        try:
            orjson.loads(data)
        except orjson.JSONDecodeError:
            return []
        return [data]

    def last_newline(self, limit: int) -> int:
        """Return the size: what a document holds when it is first seen cannot be told apart."""
        return self.size if limit else 0

    def rest(self, _offset: int) -> Line | None:
        """Return nothing: a document is whole, or is not read."""
        return None
