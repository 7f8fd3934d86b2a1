"""Messages to the service manager, in systemd's sd_notify protocol."""

import os
import socket
from contextlib import suppress
from typing import Final

_NEVER: Final = float("inf")
_LEAST: Final = 1.0  # seconds: each time costs a sweep


def watchdog_interval() -> float:
    """Return how often (seconds) the service manager wants to hear `WATCHDOG=1`; infinity if it does not."""
    meant = os.environ.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
    try:
        patience = int(os.environ["WATCHDOG_USEC"]) / 1e6 if meant else 0.0
    except (KeyError, ValueError, OverflowError):
        return _NEVER
    return max(patience / 2, _LEAST) if patience > 0 else _NEVER


def sd_notify(*lines: str) -> None:
    """Send lines like `READY=1` to the service manager; without one, nothing happens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    # If the manager is gone or no socket can be opened, katod continues without it.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.sendto("\n".join(lines).encode(), address)
