"""A session in OpenCode's tree of files: the document that its file, its messages and their parts make up."""

import os

from katod.tail.document import Document
from katod.tail.reader import SourceFile
from katod.tail.storage import FOLDER, gathered


class GatheredSession(Document):
    """One session, put together when it is opened."""

    def __init__(self, file: SourceFile) -> None:
        self.path, self.mtime_ns = file.path, file.mtime_ns
        self._data = gathered(file.path)
        self.size = len(self._data)

    @staticmethod
    def is_one(path: str) -> bool:
        """Say whether a path is that of a session's own file in such a tree."""
        return os.path.basename(path).startswith("ses_") and f"/{FOLDER}/session/" in path

    def _pread(self, size: int, offset: int) -> bytes:
        return self._data[offset : offset + size]
