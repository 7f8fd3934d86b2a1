"""Compressed session files (Codex: `.jsonl.zst`), read as the JSONL files they were."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from katod.errors import SourceError, SourceUnusable
from katod.tail.reader import SourceFile

COMPRESSED_SUFFIX: Final = ".zst"
# Far more than any session, and than its text can be compressed: anything larger is a decompression bomb.
_LARGEST: Final = 4 * 1024**3
_LARGEST_RATIO: Final = 200
_ALWAYS_ALLOWED: Final = 64 * 1024**2
_CHUNK: Final = 1024 * 1024


class Unpacked(SourceFile):
    """The decompressed content of a file; the file's own size says nothing about it."""

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
