"""Opens a session file for one step, as lines, compressed lines or one document."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from katod.errors import AgentFailed, SourceError, SourceGone
from katod.tail.compressed import COMPRESSED_SUFFIX, Unpacked, decompressed
from katod.tail.document import DocumentFile
from katod.tail.reader import SourceFile


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
