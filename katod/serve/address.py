"""Where the running server listens: a small file beside its token, for `katod serve --url`."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from katod.smallfile import read_small, write_small

NAME: Final = "serve-address"
_LARGEST: Final = 4096
_PATIENCE: Final = 0.5  # seconds


class Address(NamedTuple):
    """An address of this machine, and the process that serves there."""

    host: str
    port: int
    pid: int


@contextmanager
def announced(state: Path, host: str, port: int) -> Iterator[None]:
    """Keep the address in the state directory while it is served. Failures are ignored: the server works without it."""
    path = state / NAME
    with suppress(OSError):
        write_small(path, f"{host}\n{port}\n{os.getpid()}\n".encode())
    try:
        yield
    finally:
        found = _read(path)
        if found is not None and found.pid == os.getpid():  # otherwise another server began since
            with suppress(OSError):
                path.unlink()


def running(state: Path) -> Address | None:
    """Return where the running server listens, None if none runs."""
    found = _read(state / NAME)
    return found if found is not None and _is_own_process(found.pid) and _answers(found) else None


def _is_own_process(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):  # it has ended; the number may be another user's by now
        return False
    return True


def _answers(address: Address) -> bool:
    """Return whether something listens there: the number may be another program's by now."""
    try:
        socket.create_connection(address[:2], timeout=_PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


def _read(path: Path) -> Address | None:
    try:
        host, port, pid = read_small(path, _LARGEST, own=True).decode().split()
        found = Address(host, int(port), int(pid))
    except (OSError, ValueError):
        return None
    return found if found.pid > 0 else None
