"""Session files that are one JSON document, rewritten whole at each change: they come as one line.

A document that was read and then changed counts as a rewritten file: it is read again from its start, and what
is known by its ids is passed over. One that is half written is left until it is whole.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import orjson

from katod.errors import SourceChanged, SourceError
from katod.model import NO_ANCHOR, Anchor, Cursor, Line, Partial
from katod.tail.reader import LINE_CAP, Batch, SourceFile, short_hash
from katod.tail.storage import packed, sessions_of_objects

_BLANK: Final = re.compile(r"\s+")


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
        lines = [Line(0, self.size, data) for data in _documents(self._pread(self.size, 0))]
        return Batch(b"", 0, after if lines else cursor, more=False, lines=lines)

    def last_newline(self, limit: int) -> int:
        """Return the size: what a document holds when it is first seen cannot be told apart."""
        return self.size if limit else 0

    def rest(self, offset: int) -> Line | None:  # noqa: ARG002 - a document has no line without an end
        """Return nothing: a document is whole, or is not read."""
        return None


def _documents(data: bytes) -> list[bytes]:
    """Return the document that a file is, or those that its objects make up where they stand one behind the other."""
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return [packed(session) for session in sessions_of_objects(_objects(data.decode("utf-8", "replace")))]
    return [data]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a text as far as they are whole."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value
        if blank := _BLANK.match(text, at):
            at = blank.end()
