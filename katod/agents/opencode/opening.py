"""Opens a session of OpenCode, wherever its version keeps it."""

from collections.abc import Iterator
from contextlib import contextmanager

from katod.agents.opencode import tree
from katod.agents.opencode.database import DatabaseSession
from katod.agents.opencode.places import DATABASE
from katod.tail.reader import SourceFile, open_source


@contextmanager
def open_usage(path: str) -> Iterator[SourceFile]:
    """Open a session for its usage: one in a database is read without the parts of its messages."""
    if f"{DATABASE}#" in path:
        yield DatabaseSession(path, has_parts=False)
        return
    with open_session(path) as file:
        yield file


@contextmanager
def open_session(path: str) -> Iterator[SourceFile]:
    """Open a session: in a database, in a tree of files, or in a single document."""
    if f"{DATABASE}#" in path:
        yield DatabaseSession(path)
        return
    with open_source(path) as file:
        if not file.is_document:
            yield file
        else:
            yield tree.TreeSession(file) if tree.is_session(path) else tree.SessionDocument(file.fd, path)
