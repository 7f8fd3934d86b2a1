"""Limits of one request, in time and in bytes, however the answer arrives.

httpx starts its timeout again with each read, and the head of an answer may have any number of parts: a server that
sends a byte now and then, or one `102 Processing` after the other, would keep a thread for ever.
"""

from time import monotonic
from typing import Any, Final

from katod.errors import DeliveryError

_LONGEST: Final = 60.0  # seconds for a whole request: the connection, what is sent, and all of the answer
_SLOWEST: Final = 64 * 1024  # bytes a second at which a large upload still arrives: it has that time in addition
_LARGEST_HEAD: Final = 256 * 1024  # bytes of an answer up to its body: the first read may have some of that
_PIECE: Final = 16 * 1024  # bytes that are written before the time is looked at again
_OPENED: Final = ("connect_tcp.complete", "start_tls.complete")


class RequestBounds:
    """The bounds of the request that is being made; `who` is what messages call the server."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._deadline = 0.0
        self._bytes = 0  # that may still be read

    def begin(self, size: int) -> None:
        """A request with so many bytes begins."""
        self._deadline = monotonic() + _LONGEST + size / _SLOWEST
        self._bytes = _LARGEST_HEAD

    def extend(self, size: int) -> None:
        """The head of the answer has arrived: so many bytes may follow, in the same time."""
        self._bytes = size

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Bound the stream of each connection as it is opened: httpx calls this, as its extension `trace`."""
        if event.endswith(_OPENED):
            self._bind(info["return_value"])

    def _bind(self, stream: Any) -> None:
        """Check time and bytes at each read and write of a stream, which lives as long as the connection."""
        read, write = stream.read, stream.write

        def bounded_read(max_bytes: int, timeout: float | None = None) -> bytes:
            data: bytes = read(max_bytes, self._within(timeout))
            self._bytes -= len(data)
            if self._bytes < 0:
                raise DeliveryError(f"{self._who}'s answer is too large")
            return data

        def bounded_write(buffer: bytes, timeout: float | None = None) -> None:
            for start in range(0, len(buffer), _PIECE):
                write(buffer[start : start + _PIECE], self._within(timeout))

        stream.read, stream.write = bounded_read, bounded_write

    def _within(self, timeout: float | None) -> float:
        """Return how long a read or write may take. Raises DeliveryError if no time is left."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise DeliveryError(f"{self._who}'s answer does not end")
        return left if timeout is None else min(timeout, left)
