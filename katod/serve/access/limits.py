"""How much one client may ask for. Pure: the time is passed in."""

from typing import Final

BODY: Final = 64 * 1024  # bytes of a request
FRAME: Final = 256 * 1024  # bytes of a message on a socket
HEAD: Final = 32 * 1024  # bytes of a request's line and headers
CONNECTIONS: Final = 128
SOCKETS: Final = 96
PATIENCE: Final = 20.0  # seconds that a client may take until it has read what it was sent, and to send a body
FIRST: Final = 10.0  # seconds until a connection has asked for something
AGAIN: Final = 5  # seconds until it has asked for the next thing
PIECES: Final = 1024  # of one message on a socket
UNREAD: Final = 64 * 1024  # bytes of answers to pings that a client has not read


class Rate:
    """Allows `burst` things at once, and `each` a second in the long run."""

    def __init__(self, each: float, burst: float) -> None:
        self._each = each
        self._burst = burst
        self._left = burst
        self._at = 0.0

    def wait(self, now: float) -> float:
        """Count one thing; return how many seconds too early it is, 0 if it is not."""
        self._left = min(self._burst, self._left + (now - self._at) * self._each)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / self._each
        self._left -= 1
        return 0.0
