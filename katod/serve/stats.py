"""What files are now, without reading them."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from katod.agents import AGENTS
from katod.discover.live import signature
from katod.discover.roots import Root
from katod.model import Identity, Stat, signed
from katod.serve.known import Known

Numbers = tuple[int, ...]


def stat_of(path: str, identity: Identity) -> Stat | None:
    """Return what a file is now, None if it does not exist or is a part of a database."""
    numbers = () if AGENTS[identity.key.agent].is_contained(path) else _numbers(path)
    return Stat(*map(signed, numbers)) if numbers else None


def renew(known: Known) -> None:
    """Look at the files of a session: they may have changed since they were found."""
    for path, identity, _ in known.files:
        if (now := stat_of(path, identity)) is not None:
            known.renew(path, now)


def is_gone(known: Known) -> bool:
    """Return whether no file of a session exists any more."""
    return all(signature(path, identity) is None for path, identity, _ in known.files)


def numbers_of(paths: Iterable[str | Path]) -> Numbers:
    """Return what is different once any of these files has changed."""
    return tuple(number for path in paths for number in _numbers(path))


def databases_of(roots: Iterable[Root]) -> Iterator[str]:
    """Yield the files of all databases with sessions in some roots."""
    for root in roots:
        if root.spec.container is not None:
            with suppress(OSError):  # the agent was never used
                for name in sorted(os.listdir(root.path)):
                    if name.endswith(root.spec.container.suffixes):
                        yield f"{root.path}/{name}"


def _numbers(path: str | Path) -> Numbers:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino
