"""Messages to the service manager, in systemd's sd_notify protocol."""

import os
import socket
from contextlib import suppress


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
