"""Words to the service manager (sd_notify) and, if asked for, to the desktop."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress


def tell_manager(*lines: str) -> None:
    """Send lines like `READY=1` to the service manager; without one, nothing happens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    # The manager is gone, or nothing more can be opened: katod goes on without.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.sendto("\n".join(lines).encode(), address)


def desktop(title: str, text: str) -> None:
    """Show a desktop notification, where the machine has a program for it; never waits."""
    if sys.platform == "darwin":
        script = "on run {t, x}\ndisplay notification x with title t\nend run"
        command = ["osascript", "-e", script, title, text]
    else:
        command = ["notify-send", "--app-name=katod", "--", title, text]
    program = shutil.which(command[0])
    if program is not None:
        with suppress(OSError):  # what is told about is done all the same
            subprocess.Popen(  # noqa: S603 - fixed program, no shell, text only as arguments
                [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
