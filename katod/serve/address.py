"""Where the running servers listen: a small file beside their token, for `katod serve --url`. A line for each."""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from katod import durable
from katod.smallfile import locked, read_small, write_small

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
    own = Address(host, port, os.getpid())
    _replace(state, add=[own])
    try:
        yield
    finally:
        _replace(state, without=own)


def running(state: Path) -> Address | None:
    """Return where a running server listens, the one that began last if there are several; None if none runs."""
    known = reversed(_read(state / NAME))
    return next((found for found in known if _is_own_process(found.pid) and _answers(found)), None)


def _replace(state: Path, *, add: Iterable[Address] = (), without: Address | None = None) -> None:
    """Add an address or remove one, and those of servers that were killed; other servers may do so at the same time."""
    path = state / NAME
    with suppress(OSError), locked(state):
        left = [one for one in _read(path) if one != without and _is_own_process(one.pid)]
        if left := [*left, *add]:
            durable.claim_folder(state)
            write_small(path, "".join(f"{one.host} {one.port} {one.pid}\n" for one in left).encode())
        else:
            path.unlink(missing_ok=True)


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


def _read(path: Path) -> list[Address]:
    """Return what servers wrote, in the order in which they began."""
    try:
        lines = read_small(path, _LARGEST, own=True).decode().splitlines()
    except (OSError, ValueError):
        return []
    return [found for line in lines if (found := _address(line)) is not None]


def _address(line: str) -> Address | None:
    try:
        host, port, pid = line.split()
        found = Address(host, int(port), int(pid))
    except ValueError:
        return None
    return found if found.pid > 0 else None
