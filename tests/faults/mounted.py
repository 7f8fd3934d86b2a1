"""A disk that loses power, mounted for a test: the other end of `fusedisk`, which runs in a process of its own."""

import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec

from tests.support.world import SOURCE

PATIENCE = 60  # seconds


def missing():
    """Return what must be installed before a disk can be mounted, empty if nothing has to be."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "there is no /dev/fuse that can be used: load the kernel's module `fuse`"
    if shutil.which("fusermount3") is None:
        return "libfuse 3 is missing: install the package `fuse3`"
    return "" if find_spec("mfusepy") else "mfusepy is missing: pip install mfusepy"


class Mounted:
    """A mounted disk, and the power it has."""

    def __init__(self, folder, connection):
        self.folder = folder
        self._lines = connection.makefile("rw")
        assert json.loads(self._lines.readline()) == "mounted"

    def _ask(self, *words):
        print(json.dumps(words), file=self._lines, flush=True)
        return json.loads(self._lines.readline())

    def arm(self, kind, number):
        """Let the power fail at the sync or the change with this number from now on; without a kind, never."""
        self._ask("arm", kind, number)

    @property
    def failed_at(self):
        """The operation at which the power failed, empty if it did not."""
        return self._ask("state")["failed_at"]

    def count(self, kind):
        """Return how many syncs or changes there were."""
        return self._ask("state")[kind]

    def settle(self, path=None):
        """Have everything on disk, or one file and its name."""
        self._ask("settle", f"/{path.relative_to(self.folder)}" if path else "")

    def survive(self, seed):
        """Let the power fail, if it has not yet, and return; return what was lost."""
        return self._ask("survive", seed)

    def close(self):
        """Unmount it."""
        self._lines.close()


@contextmanager
def mounted(folder):
    """Yield a new disk that is mounted within the block, in a folder."""
    mountpoint, control = folder / "disk", folder / "control"
    mountpoint.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(control))
        server.listen(1)
        server.settimeout(PATIENCE)
        command = [sys.executable, "-m", "tests.faults.fusedisk", str(mountpoint), str(control)]
        with subprocess.Popen(command, cwd=SOURCE) as process:
            with server.accept()[0] as connection:
                disk = Mounted(mountpoint, connection)
                try:
                    yield disk
                finally:
                    disk.close()
            assert process.wait(timeout=PATIENCE) == 0
