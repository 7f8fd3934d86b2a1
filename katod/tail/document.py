"""Session files that are a single JSON document, rewritten as a whole at each change; each is read as one line.

A document that changed since it was read counts as a rewritten file: it is read again from the start, and events
with known ids are skipped. A half-written document is not read until it is complete.
"""

from typing import ClassVar

import orjson

from katod.errors import SourceChanged, SourceError
from katod.model import NO_ANCHOR, Anchor, Cursor, Line, Partial
from katod.tail.reader import LINE_CAP, Batch, SourceFile, short_hash


class DocumentFile(SourceFile):
    """One document, open for the duration of a step."""

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
        try:
            orjson.loads(data)
        except orjson.JSONDecodeError:
            return []
        return [data]

    def last_newline(self, limit: int) -> int:
        """Return the size: in a document, old content cannot be told apart from new."""
        return self.size if limit else 0

    def rest(self, _offset: int) -> Line | None:
        """Return None: a document is read as a whole or not at all."""
        return None
