"""Opening a source for one step, as what it is: lines, one document, or a session in a database or a tree of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from katod.errors import SourceError, SourceGone
from katod.tail.compressed import SUFFIX, Unpacked, decompressed
from katod.tail.database import MARK, SessionRows
from katod.tail.document import Document
from katod.tail.gathered import GatheredSession
from katod.tail.reader import SourceFile


@contextmanager
def open_source(path: str) -> Iterator[SourceFile]:
    """Open a session for one step; raises SourceError for anything but a readable regular file, or a session in one."""
    if MARK in path:
        yield SessionRows(path)
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError as error:
        raise SourceGone("no longer exists", path=path) from error
    except OSError as error:
        raise SourceError(f"cannot be opened: {error.strerror}", path=path) from error
    try:
        if path.endswith(SUFFIX):
            with decompressed(fd, path) as plain:
                yield Unpacked(plain, path)
        else:
            yield _as_it_is(SourceFile(fd, path))
    finally:
        os.close(fd)


def _as_it_is(file: SourceFile) -> SourceFile:
    """Return the file as lines, as one document, or as the session that it belongs to."""
    if not file.holds_document():
        return file
    return GatheredSession(file) if GatheredSession.is_one(file.path) else Document.of(file)
