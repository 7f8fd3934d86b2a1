"""The output directory: can katod write to it, is it the right one, who else can read it, and where does it go?"""

import errno
import grp
import os
import pwd
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from katod.doctor.case import Case
from katod.doctor.findings import Finding, count, ok, problem, warning
from katod.errors import advice_on, hint_for
from katod.shell import pasted
from katod.store.rows import UNMARKED, OutputRow
from katod.write.root import write_marker

_ALL: Final = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
_LITTLE: Final = 100 * 10**6  # bytes
_MOST_LOOKED_AT: Final = 10_000  # transcripts
# Programs that synchronise folders: what is in a folder that they synchronise (at its top), or how it is called.
_IN_FOLDER: Final = {
    ".dropbox.cache": "Dropbox",
    ".849C9593-D756-4E56-8D6E-42412F2A707B": "OneDrive",
    ".stfolder": "Syncthing",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
    ".tmp.drivedownload": "Google Drive",
    ".SynologyWorkingDirectory": "Synology Drive",
    ".megaignore": "MEGA",
}
_DATABASES: Final = re.compile(r"\.(?:_sync_|sync_)[0-9a-f]+\.db")  # of Nextcloud and ownCloud
_CALLED: Final = (
    (re.compile(r"Dropbox(?: \(.*\))?"), "Dropbox"),
    (re.compile(r"OneDrive(?: ?-.*)?"), "OneDrive"),
    (re.compile(r"Mobile Documents|com~apple~CloudDocs|iCloud ?Drive"), "iCloud"),
    (re.compile(r"Google ?Drive"), "Google Drive"),
    (re.compile(r"Nextcloud"), "Nextcloud"),
    (re.compile(r"pCloud ?Drive"), "pCloud"),
    (re.compile(r"Proton ?Drive"), "Proton Drive"),
)
_SYNCED: Final = (
    "transcripts leave this machine, and an older copy may overwrite one that is being recorded: set"
    " `output.directory` to another place, unless this is intended"
)


def examine(case: Case) -> Iterator[Finding]:
    """Yield what is found about the output directory, and about others with recordings."""
    root = case.output_directory
    lost = lost_markers(case)
    if not os.path.lexists(root) and root not in dict(lost):
        yield _to_be_created(root)
    elif os.path.isdir(root):
        yield _writable(root)
        yield _private(case, root)
    elif root not in dict(lost):
        yield problem("output.writable", f"{root} is not a directory", "set `output.directory`", path=str(root))
    if refused := case.policy().refused_output():
        what, advice = f"nothing is written to {root}: {refused}", "set `output.directory` to another place"
        yield problem("output.allowed", what, advice, path=str(root))
    yield from map(_lost, lost)
    yield from _mounted(case, root, lost)
    if service := synced_by(root):
        what = f"{root} is synchronised by {service}"
        yield warning("output.synced", what, _SYNCED, path=str(root), service=service)


def lost_markers(case: Case) -> list[tuple[Path, str]]:
    """Return the directories in which a marker that katod knows is missing: the present one, and those in use."""
    here = case.output_directory
    known = {(row.root, row.marker) for row in _marked(case) if row.open or row.problem or row.root == here}
    return sorted((root, marker) for root, marker in known if not os.path.lexists(root / marker))


def write_markers(case: Case) -> list[Path]:
    """Write every lost marker again; return their paths. Raises OutputError."""
    found = lost_markers(case)
    for root, marker in found:
        write_marker(root, marker)
    return [root / marker for root, marker in found]


def _marked(case: Case) -> Iterator[OutputRow]:
    return (row for row in case.outputs() if row.marker not in ("", UNMARKED))


def _lost(found: tuple[Path, str]) -> Finding:
    root, marker = found
    if not os.path.isdir(root):
        what, advice = (
            f"{root} does not exist",
            f"mount its disk; to create a new one: mkdir -p {pasted(str(root))}, then ",
        )
    else:
        what, advice = f"the marker {marker} of {root} is missing", "mount its disk; if this is the right directory, "
    return problem(
        "output.marker", f"{what}: nothing is written there, and recordings wait",
        f"{advice}`katod doctor --write-marker`", path=str(root), marker=marker,
    )  # fmt: skip


def _mounted(case: Case, root: Path, lost: list[tuple[Path, str]]) -> Iterator[Finding]:
    markers = sorted({row.marker for row in _marked(case) if row.root == root})
    if markers and root not in dict(lost):
        yield ok(
            "output.marker",
            "its marker is present: it is the directory that katod created",
            path=str(root),
            marker=markers[-1],
        )


def _to_be_created(root: Path) -> Finding:
    above = next((folder for folder in root.parents if os.path.lexists(folder)), Path("/"))
    if os.access(above, os.W_OK | os.X_OK):
        return ok("output.writable", f"{root} is created when the first recording starts", path=str(root))
    what = f"{root} cannot be created: {above} is not writable"
    return problem("output.writable", what, "set `output.directory` to another place", path=str(root))


def _writable(root: Path) -> Finding:
    try:
        system = os.statvfs(root)
    except OSError as error:
        return problem(
            "output.writable", f"{root}: {error.strerror}", hint_for(error) or advice_on(errno.EACCES), path=str(root)
        )
    if system.f_flag & os.ST_RDONLY:
        advice = f"{advice_on(errno.EROFS)}: recordings wait until then"
        return problem("output.writable", f"{root} is on a read-only file system", advice, path=str(root))
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        advice = f"{advice_on(errno.EACCES)}: ls -ld {pasted(str(root))}"
        return problem("output.writable", f"{root} is not writable by you", advice, path=str(root))
    free = system.f_bavail * system.f_frsize
    if free < _LITTLE:
        what = f"{root} has {free // 10**6} MB of free space"
        return warning(
            "output.writable",
            what,
            f"{advice_on(errno.ENOSPC)}: recordings wait while it is full",
            path=str(root),
            free=free,
        )
    return ok("output.writable", f"{root} is writable", path=str(root), free=free)


# -- who can read it ------------------------------------------------------------------------------


def _private(case: Case, root: Path) -> Finding:
    """Return whether others can read the directory or a transcript in it."""
    inside = [row.path for row in case.outputs() if row.made and row.path.is_relative_to(root)][-_MOST_LOOKED_AT:]
    loose = [path for path in inside if seen_by_others(path)]
    if loose:
        what, files = f"other users can read {count(len(loose), 'transcript')} in {root}", len(loose)
    elif mode := seen_by_others(root):
        what, files = f"other users can see the names of the transcripts in {root} (mode {mode:o})", 0
    else:
        return ok("output.private", "only you can read it", path=str(root))
    advice = f"chmod {'-R ' if loose else ''}go= {pasted(str(root))}"
    return warning("output.private", what, advice, path=str(root), files=files)


def seen_by_others(path: Path) -> int:
    """Return the mode of a path that users other than its owner can read, 0 if none can get there and read it."""
    real = Path(os.path.realpath(path))
    mode = _mode(real)
    allowed = mode & (stat.S_IRGRP | stat.S_IROTH)
    for folder in real.parents:
        through = _mode(folder)
        if not through & stat.S_IXOTH:
            allowed &= ~stat.S_IROTH
            if not through & stat.S_IXGRP:
                allowed &= ~stat.S_IRGRP
    return os.stat(real).st_mode & _ALL if allowed else 0


def _mode(path: Path) -> int:
    """Return the mode of a path, without the rights of a group that only its owner is in."""
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_mode & ~stat.S_IRWXG if _is_private(status) else status.st_mode


def _is_private(status: os.stat_result) -> bool:
    try:
        group, owner = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        return False
    return group.gr_name == owner and set(group.gr_mem) <= {owner}


# -- where it goes --------------------------------------------------------------------------------


def synced_by(path: Path) -> str:
    """Return the program that synchronises a directory or one above it, empty if none is recognised."""
    real = Path(os.path.realpath(path))
    return next(filter(None, map(_synced, (real, *real.parents))), "")


def _synced(folder: Path) -> str:
    names = _names(folder)
    if found := next((_IN_FOLDER[name] for name in names if name in _IN_FOLDER), ""):
        return found
    if any(map(_DATABASES.fullmatch, names)):
        return "Nextcloud"
    if folder.parent.name == "CloudStorage":  # where macOS has them all: `Library/CloudStorage/<service>-<account>`
        return folder.name.partition("-")[0]
    return next((service for pattern, service in _CALLED if pattern.fullmatch(folder.name)), "")


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
