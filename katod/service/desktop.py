"""Desktop notifications."""

import shutil
import subprocess
import sys
from contextlib import suppress


def notify(title: str, text: str) -> None:
    """Show a desktop notification if the machine has a program for it; never waits."""
    if sys.platform == "darwin":
        script = "on run {t, x}\ndisplay notification x with title t\nend run"
        command = ["osascript", "-e", script, title, text]
    else:
        command = ["notify-send", "--app-name=katod", "--", title, text]
    program = shutil.which(command[0])
    if program is not None:
        with suppress(OSError):  # a failed notification has no consequences
            subprocess.Popen(  # noqa: S603 - fixed program, no shell, text only as arguments
                [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
