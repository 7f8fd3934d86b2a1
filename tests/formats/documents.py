"""Documents made of events, as an export makes them."""

import io
import json

from katod.formats.registry import open_document
from katod.model import Options


class MemorySpool:
    """A spool that keeps its text in memory, and hands it out in small pieces."""

    def __init__(self):
        self._file = io.StringIO()

    def write(self, text):
        self._file.write(text)

    def pieces(self):
        self._file.seek(0)
        while piece := self._file.read(7):
            yield piece


def text_of(name, events, options=None):
    """Return the text of a document."""
    document = open_document(name, options or Options(), MemorySpool)
    for event in events:
        document.take(event)
    return "".join(document.pieces())


def document(name, events, options=None):
    """Return a document, decoded."""
    return json.loads(text_of(name, events, options))
