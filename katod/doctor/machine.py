"""What the machine gives katod: enough watches, file systems that report changes, and a clock that is right."""

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from katod.agents import AGENTS
from katod.discover.found import find_sessions
from katod.discover.roots import Root, find_roots
from katod.discover.watch import folders_of
from katod.doctor.case import DAY_NS, Case
from katod.doctor.findings import Finding, count, ok, problem, warning
from katod.service.lock import holder

_PROC: Final = Path("/proc")
_MOST_FOLDERS: Final = 200_000  # that are counted
_WAKING: Final = 1  # the inotify instance that katod uses
_SLACK_NS: Final = 5 * 60 * 10**9
_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "fuse.rclone", "afs", "ceph", "davfs", "vboxsf"}
)
_SWEPT: Final = "katod finds changes within a minute by its sweeps"


def examine_watching(case: Case) -> Iterator[Finding]:
    """Yield whether katod is notified of changes, or has to poll for them."""
    roots = [root for root in find_roots(case.settings, AGENTS) if os.path.isdir(root.path)]
    if not case.settings.watch.use_events:
        yield ok("watching.off", f"file events are disabled (`watch.use_events`): {_SWEPT}")
        return
    yield from _remote(roots)
    if sys.platform == "linux":
        yield from _inotify(case, roots)


def _remote(roots: Iterable[Root]) -> Iterator[Finding]:
    mounts = _mounts()
    for root in roots:
        kind = _kind_of(root.path, mounts)
        if kind in _NETWORK:
            what = f"{root.path} is on a network file system ({kind}), where sweeps find what is not reported"
            yield ok("watching.remote", what, path=str(root.path), filesystem=kind)


def _mounts() -> dict[str, str]:
    """Return the kind of file system at each mount point."""
    try:
        rows = [line.split() for line in (_PROC / "self" / "mountinfo").read_text(errors="replace").splitlines()]
    except OSError:
        return {}
    return {row[4].replace("\\040", " "): row[row.index("-") + 1] for row in rows if "-" in row[:-1] and len(row) > 4}


def _kind_of(path: Path, mounts: dict[str, str]) -> str:
    return next((mounts[str(folder)] for folder in (path, *path.parents) if str(folder) in mounts), "")


# -- inotify --------------------------------------------------------------------------------------


def _inotify(case: Case, roots: list[Root]) -> Iterator[Finding]:
    """Yield whether the limits of inotify leave enough for katod, beside what other programs of this user use."""
    watches, instances = _limit("max_user_watches"), _limit("max_user_instances")
    if not watches or not instances:
        return
    needed = _folders(roots)
    used_instances, used_watches = _used(holder(case.state) or 0)
    data: dict[str, Any] = {"needed": needed, "limit": watches, "used": used_watches}
    left = max(0, watches - used_watches)
    if needed > left:
        what = f"{count(needed, 'directory')} to watch, only {left} of {watches} inotify watches are free: {_SWEPT}"
        yield problem("watching.watches", what, _raise("max_user_watches", 2 * (needed + used_watches)), **data)
    else:
        what = f"{count(needed, 'directory')} to watch, {left} of {watches} inotify watches are free"
        yield ok("watching.watches", what, **data)
    if used_instances + _WAKING > instances:
        what = f"all {instances} inotify instances are in use by other programs: {_SWEPT}"
        advice = _raise("max_user_instances", 2 * instances)
        yield problem("watching.instances", what, advice, limit=instances, used=used_instances)


def _raise(name: str, least: int) -> str:
    value = 1 << max(7, (least - 1).bit_length())
    return f"sudo sysctl fs.inotify.{name}={value} (to keep it: a file in /etc/sysctl.d), then restart katod"


def _limit(name: str) -> int:
    try:
        return int((_PROC / "sys" / "fs" / "inotify" / name).read_text())
    except (OSError, ValueError):
        return 0


def _folders(roots: list[Root]) -> int:
    """Return how many directories katod watches: those of the roots, and the one for requests."""
    single = [folder for folder, deep in folders_of(roots) if not deep and folder.is_dir()]
    walks = (folders for folder, deep in folders_of(roots) if deep for folders in os.walk(folder))
    return len(single) + 1 + sum(1 for _ in islice(walks, _MOST_FOLDERS))


def _used(besides: int) -> tuple[int, int]:
    """Return how many inotify instances and watches this user's processes have, without one of them."""
    instances = watches = 0
    for folder in _descriptors(besides):
        for name in _names(folder / "fd"):
            try:
                if os.readlink(folder / "fd" / name) == "anon_inode:inotify":
                    instances += 1
                    watches += (folder / "fdinfo" / name).read_text(errors="replace").count("\ninotify wd:")
            except OSError:
                continue
    return instances, watches


def _descriptors(besides: int) -> Iterator[Path]:
    """Yield the folder in /proc of each process of this user, without one of them."""
    for name in _names(_PROC):
        try:
            if name.isdigit() and int(name) != besides and (_PROC / name).stat().st_uid == os.getuid():
                yield _PROC / name
        except OSError:
            continue


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


# -- the clock ------------------------------------------------------------------------------------


def examine_clock(case: Case) -> Iterator[Finding]:
    """Yield whether the clock agrees with what it said before: no session file and no sweep is in the future."""
    swept = max(case.ledger.roots().values(), default=0) if case.ledger is not None else 0
    sessions = find_sessions(find_roots(case.settings, AGENTS), {}).values()
    future = [session.changed_ns for session in sessions if session.changed_ns > case.now_ns + _SLACK_NS]
    if swept > case.now_ns + _SLACK_NS:
        what = f"the clock is {_span(swept - case.now_ns)} behind katod's last sweep: new commands may be ignored"
        yield problem("clock.behind", what, "set the clock (timedatectl set-ntp true), then restart katod")
    elif future:
        what = f"{count(len(future), 'session')} changed in the future, by up to {_span(max(future) - case.now_ns)}"
        advice = "set the clock if it is wrong; if another machine wrote these files, this is harmless"
        yield warning("clock.future", what, advice, sessions=len(future))
    else:
        yield ok("clock.right", "no timestamps are in the future")


def _span(nanoseconds: int) -> str:
    if nanoseconds >= DAY_NS:
        return count(round(nanoseconds / DAY_NS), "day")
    return count(round(nanoseconds / (60 * 10**9)), "minute")
