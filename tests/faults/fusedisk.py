"""A disk that loses power: mounts `volatile.VolatileDisk` with FUSE, for any program to use.

Usage: `python -m tests.faults.fusedisk MOUNTPOINT CONTROL_SOCKET`. It connects to the socket, and answers each line of
JSON there with one: `["arm", kind, number]` has the power fail at the sync or the change with this number from now on
(`kind` is the name of the counter, empty: never), from when every operation fails; `["state"]` says how many there were,
and at which operation the power failed; `["settle", path]` has everything on disk, or
one file with its name, and `["survive", seed]` mounts what a
disk may have kept. It unmounts and ends when the connection does.

Nothing stands between programs and the model: names and attributes are not cached, a write is with the model when it
returns, and what was read is dropped when a file is opened. Only what is mapped into memory (SQLite's `-shm`) stays
with the kernel.
"""

import errno
import json
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from dataclasses import asdict

import mfusepy

from .volatile import VolatileDisk

SYNCS, CHANGES = "syncs", "changes"
MAPPED = "-shm"
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2  # UTIME_NOW and UTIME_OMIT
SPACE = 1 << 24  # blocks
OPTIONS = {"attr_timeout": 0, "entry_timeout": 0, "negative_timeout": 0, "use_ino": True, "hard_remove": True}


class Power:
    """Counts what is done to a disk, and fails at a moment."""

    def __init__(self):
        self.counts = {SYNCS: 0, CHANGES: 0}
        self.failed_at = ""
        self._kind, self._left = "", 0

    def arm(self, kind, number):
        """Fail at the operation of a kind with this number from now on."""
        self._kind, self._left = kind, number

    def require(self):
        """Raise OSError if the power has failed."""
        if self.failed_at:
            raise mfusepy.FuseOSError(errno.EIO)

    def spend(self, kind, what):
        """Count an operation, or let the power fail before it. Raises OSError."""
        self.require()
        self.counts[kind] += 1
        if self._kind == kind:
            self._left -= 1
            if self._left == 0:
                self.failed_at = what
                self.require()

    def restore(self):
        """Have power again."""
        self.failed_at, self._kind = "", ""


class DiskOperations(mfusepy.Operations):
    """What the kernel asks for. Descriptors are numbers of files, so that one without a name can be used."""

    use_ns = True
    flag_nopath = flag_nullpath_ok = True

    def __init__(self, disk, power, lock, mounted):
        self._disk, self._power, self._lock, self._mounted = disk, power, lock, mounted

    def init(self, _path):
        """Note that it is mounted."""
        self._mounted.set()

    def _node(self, path, number=None):
        """Return a file by its descriptor, or by its path."""
        self._power.require()
        return self._disk.nodes[number] if number is not None else self._disk.find(path)

    def _changing(self, what, path):
        """Count a change; the kernel decides when memory that is mapped is written."""
        if not (path or "").endswith(MAPPED):
            self._power.spend(CHANGES, f"{what} {path or ''}")
        self._power.require()

    # -- attributes -------------------------------------------------------------------------------------

    def getattr(self, path, number=None):
        """Return the attributes of a file."""
        with self._lock:
            node = self._node(path, number)
            links = 2 if node.is_folder else self._disk.links(node)
            read, changed = node.times
        return {
            "st_ino": node.number, "st_mode": node.mode, "st_nlink": links, "st_size": len(node.data),
            "st_uid": os.getuid(), "st_gid": os.getgid(), "st_blocks": -(-len(node.data) // 512),
            "st_atime": read, "st_mtime": changed, "st_ctime": changed,
        }  # fmt: skip

    def chmod(self, path, mode):
        """Change a mode."""
        with self._lock:
            self._changing("chmod", path)
            node = self._node(path)
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)

    def chown(self, path, _user, _group):
        """Do nothing: everything belongs to one user."""
        self._node(path)

    def utimens(self, path, times=None):
        """Change the times."""
        with self._lock:
            self._changing("utimens", path)
            node, now = self._node(path), time.time_ns()
            given = zip(times or (NOW, NOW), node.times, strict=True)
            node.times = tuple({NOW: now, OMIT: before}.get(wanted, wanted) for wanted, before in given)

    def statfs(self, _path):
        """Return that there is space."""
        free = dict.fromkeys(("f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail"), SPACE)
        return free | {"f_bsize": 4096, "f_frsize": 4096, "f_namemax": 255}

    # -- names ------------------------------------------------------------------------------------------

    def mkdir(self, path, mode):
        """Create a directory."""
        with self._lock:
            self._changing("mkdir", path)
            self._disk.create(path, stat.S_IFDIR | mode)

    def link(self, target, source):
        """Give a file another name."""
        with self._lock:
            self._changing("link", target)
            self._disk.link(source, target)

    def unlink(self, path):
        """Remove a name."""
        with self._lock:
            self._changing("unlink", path)
            self._disk.remove(path, is_folder=False)

    def rmdir(self, path):
        """Remove a directory."""
        with self._lock:
            self._changing("rmdir", path)
            self._disk.remove(path, is_folder=True)

    def rename(self, old, new):
        """Rename a file or a directory."""
        with self._lock:
            self._changing("rename", new)
            self._disk.rename(old, new)

    def opendir(self, path):
        """Open a directory."""
        return self._opened(self._node(path))

    def readdir(self, _path, number):
        """Return the names in a directory."""
        with self._lock:
            folder = self._node(None, number)
            nodes = [(name, self._disk.nodes[found]) for name, found in folder.names.items()]
        return [(name, {"st_ino": node.number, "st_mode": node.mode}, 0) for name, node in nodes]

    def releasedir(self, _path, number):
        """Close a directory."""
        return self.release(None, number)

    def fsyncdir(self, _path, _datasync, number):
        """Have the names in a directory on disk."""
        self._sync("fsyncdir", number)

    # -- files ------------------------------------------------------------------------------------------

    def _opened(self, node):
        with self._lock:
            node.opened += 1
        return node.number

    def create(self, path, mode):
        """Create a file."""
        with self._lock:
            self._changing("create", path)
            return self._opened(self._disk.create(path, stat.S_IFREG | stat.S_IMODE(mode)))

    def open(self, path, flags):
        """Open a file."""
        with self._lock:
            node = self._node(path)
            if flags & os.O_TRUNC:
                self._changing("truncate", path)
                self._disk.truncate(node, 0)
            return self._opened(node)

    def read(self, _path, size, offset, number):
        """Return a part of a file."""
        return bytes(self._node(None, number).data[offset : offset + size])

    def write(self, _path, data, offset, number):
        """Write to a file."""
        with self._lock:
            self._changing("write", self._disk.path_of(number))
            self._disk.write(self._node(None, number), offset, data)
        return len(data)

    def truncate(self, path, length, number=None):
        """Give a file a size."""
        with self._lock:
            node = self._node(path, number)
            self._changing("truncate", self._disk.path_of(node.number))
            self._disk.truncate(node, length)

    def fsync(self, _path, _datasync, number):
        """Have a file on disk."""
        self._sync("fsync", number)

    def _sync(self, what, number):
        with self._lock:
            path = self._disk.path_of(number)
            self._changing(what, path)
            self._power.spend(SYNCS, f"{what} {path}")
            self._disk.sync(self._node(None, number))

    def release(self, _path, number):
        """Close a file."""
        with self._lock:
            if number in self._disk.nodes:
                self._disk.close(self._disk.nodes[number])


class KernelMount(mfusepy.FUSE):
    """A mount that can truncate an open file without a name: its descriptor is passed on, too."""

    def truncate_fuse_3(self, path, length, info):
        """Truncate a file."""
        return self.ftruncate(path, length, info)


class Control:
    """Does what the other end of a connection asks for."""

    def __init__(self, mountpoint, connection):
        self._mountpoint, self._connection = mountpoint, connection
        self._disk, self._power = VolatileDisk(time.time_ns), Power()
        self._lock, self._mounted = threading.RLock(), threading.Event()
        self._ended = False

    def serve(self):
        """Mount the disk, again after each unmount, until the connection ends."""
        threading.Thread(target=self._answer, daemon=True).start()
        while not self._ended:
            operations = DiskOperations(self._disk, self._power, self._lock, self._mounted)
            KernelMount(operations, self._mountpoint, foreground=True, nothreads=True, **OPTIONS)

    def _answer(self):
        with self._connection.makefile("rw") as lines:
            self._mounted.wait()
            print(json.dumps("mounted"), file=lines, flush=True)
            for line in lines:
                name, *arguments = json.loads(line)
                print(json.dumps(getattr(self, f"do_{name}")(*arguments)), file=lines, flush=True)
        self._ended = True
        self._unmount("-z")  # whatever a failed test has open

    def _unmount(self, *options):
        command = [shutil.which("fusermount3"), "-u", *options, "--", self._mountpoint]
        subprocess.run(command, check=True, timeout=60)

    def do_arm(self, kind, number):
        """Let the power fail at an operation."""
        with self._lock:
            self._power.arm(kind, number)

    def do_state(self):
        """Return what was counted, and where the power failed."""
        return self._power.counts | {"failed_at": self._power.failed_at}

    def do_settle(self, path):
        """Have everything on disk, or what has a path; after a power failure, nothing any more."""
        with self._lock:
            if path and not self._power.failed_at:
                self._disk.sync_path(path)
            elif not path:
                self._disk.sync_all()

    def do_survive(self, seed):
        """Mount what a disk may have kept; return what was lost."""
        rng = random.Random(seed)
        self._mounted.clear()
        with self._lock:
            losses = self._disk.crash(rng.randint)
            for path in [path for path in self._disk.paths() if path.endswith(MAPPED) and rng.random() < 0.5]:
                self._disk.remove(path, is_folder=False)
            self._disk.sync_all()
            self._power.failed_at = "survivors"  # what the kernel still writes must not change them
        self._unmount()
        self._mounted.wait()
        self._power.restore()
        return asdict(losses)


def main(mountpoint, control):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(control)
        Control(mountpoint, connection).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
