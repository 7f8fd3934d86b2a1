"""Desktop notifications: through the session bus, or with `osascript` on macOS."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from html import escape
from queue import SimpleQueue
from typing import Any, Final, Literal

from katod.errors import ServiceError, safe_message

Mode = Literal["auto"] | bool  # `auto`: where a desktop is there
_SERVER: Final = "org.freedesktop.Notifications"
_REFUSED: Final = "the desktop refused the notification"
_NO_PROGRAM: Final = "the program that shows notifications is missing"
_PATIENCE: Final = 2.0  # seconds
_SCRIPT: Final = "on run {t, x}\ndisplay notification x with title t\nend run"


class Desktop:
    """Shows notifications, one after the other, in a thread of its own: nothing waits for a desktop.

    `failed` is called, once, with the reason if one could not be shown; not with `auto`: there is no desktop then.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed: Callable[[str], None] | None = failed
        self._waiting: SimpleQueue[tuple[Mode, str, str]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def show(self, mode: Mode, title: str, text: str) -> None:
        """Show a notification as soon as possible."""
        if not mode:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="notifications", daemon=True)
            self._thread.start()
        self._waiting.put((mode, title, text))

    def _work(self) -> None:
        while True:
            mode, title, text = self._waiting.get()
            try:
                _show(title, text)
            except Exception as error:  # noqa: BLE001 - libraries raise anything; notifications must not end katod
                if mode is True and self._failed is not None:
                    self._failed(_reason(error))
                    self._failed = None


def failure() -> str:
    """Return why no notification could be shown now, empty if one could; none is shown."""
    try:
        if sys.platform == "darwin":
            return "" if shutil.which("osascript") else f"{_NO_PROGRAM}: osascript"
        _call("GetServerInformation", "", ())
    except Exception as error:  # noqa: BLE001 - libraries raise anything
        return _reason(error)
    return ""


def _reason(error: Exception) -> str:
    """Return what is safe to say of a failure: the words of any other may repeat what should have been shown."""
    return error.what if isinstance(error, ServiceError) else f"{_REFUSED} ({safe_message(error)})"


def _show(title: str, text: str) -> None:
    """Show a notification. Raises whatever goes wrong."""
    if sys.platform == "darwin":
        program = shutil.which("osascript") or "osascript"
        subprocess.run([program, "-e", _SCRIPT, title, text], check=True, capture_output=True, timeout=_PATIENCE)  # noqa: S603 - text only as arguments
    else:
        _call("Notify", "susssasa{sv}i", ("katod", 0, "", title, escape(text, quote=False), [], {}, -1))


def _call(method: str, signature: str, body: tuple[Any, ...]) -> None:
    """Call the notification server; one that is not running is started by the bus, if there is one."""
    from jeepney import DBusAddress, new_method_call  # noqa: PLC0415 - only the daemon, and only if it has news
    from jeepney.io.blocking import open_dbus_connection  # noqa: PLC0415
    from jeepney.wrappers import unwrap_msg  # noqa: PLC0415

    server = DBusAddress("/org/freedesktop/Notifications", bus_name=_SERVER, interface=_SERVER)
    bus = _bus()
    try:
        opened = open_dbus_connection(bus)
    except (OSError, RuntimeError, ValueError) as error:
        raise ServiceError(f"D-Bus is missing: no session bus answers at {bus} ({safe_message(error)})") from error
    with opened as connection:
        unwrap_msg(connection.send_and_get_reply(new_method_call(server, method, signature, body), timeout=_PATIENCE))


def _bus() -> str:
    """Return the address of the session bus: where systemd puts it, if nothing else is said."""
    return os.environ.get("DBUS_SESSION_BUS_ADDRESS") or f"unix:path=/run/user/{os.getuid()}/bus"
