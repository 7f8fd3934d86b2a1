"""Reads small files in whose place anything may stand: a FIFO, a device, something without an end."""

import errno
import os
import stat
from pathlib import Path


def read_small(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; links are followed.

    Never waits. Raises OSError whose `strerror` says what is wrong: EINVAL if it is not a regular file, EFBIG if it is
    larger.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        data = b""
        while piece := os.read(fd, limit + 1 - len(data)):
            data += piece
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"it is larger than {limit} bytes", str(path))
        return data
    finally:
        os.close(fd)
