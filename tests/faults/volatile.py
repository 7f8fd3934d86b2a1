"""A file system in memory that knows what is on its disk, and what only will be: a model of power loss. Pure.

What is written to a file is pending until the file is synced, and what happens to names until their directory is: a
sync of a file promises neither its name nor the names of other files. This is less than ext4, XFS and Btrfs promise for
a new file; POSIX asks for no more.

* A file that is created, linked, renamed or removed is one operation, pending in each directory whose names it changes.
  A rename between two directories is on disk as a whole as soon as one of the two is synced; what happened before in
  the other one, too, then is: no disk has the rename and not what it was done to.
* At a crash, the directories keep the operations up to one moment, as a journal does; or each directory keeps its own
  up to a moment of its own, which is the weakest of all that file systems do.
* Each file keeps any of its pending writes, whole, torn or not at all, whatever became of other files and of its name.
  Its size may have grown for one that is lost, which is read as NUL bytes. What is added to a file may end at any byte;
  a sector that is overwritten is as it was or as it was to be, as on any disk of today (SQLite asks for less).
* The number of a file that is gone is given to the next new one.
"""

import errno
import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

ROOT = 1
SECTOR = 512
FATES = NOTHING, ALL, TORN, NUL = "nothing", "all", "a part", "NUL bytes"


@dataclass
class Node:
    """A file or directory as programs see it, and as it is on disk."""

    number: int
    mode: int
    times: tuple = (0, 0)  # read, changed
    data: bytearray = field(default_factory=bytearray)
    names: dict = field(default_factory=dict)  # of a directory: the number of the file with each name
    kept_mode: int = 0
    kept_times: tuple = (0, 0)
    kept_data: bytes = b""
    kept_names: dict = field(default_factory=dict)
    pending: list = field(default_factory=list)  # (offset, bytes) written, (size, None) truncated
    opened: int = 0

    @property
    def is_folder(self):
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    def sync(self):
        """Have the data and the attributes on disk."""
        self.kept_data, self.pending = bytes(self.data), []
        self.kept_mode, self.kept_times = self.mode, self.times


@dataclass
class Losses:
    """What was lost in a crash: operations on names, and of each file with pending writes, what the disk kept."""

    names: int = 0
    journalled: bool = False
    files: dict = field(default_factory=dict)  # fate, by the path that the file had


class VolatileDisk:
    """The file system; paths begin with a slash. Every failure is an OSError."""

    def __init__(self, now):
        self._now = now  # returns the time in nanoseconds
        self.nodes = {ROOT: Node(ROOT, stat.S_IFDIR | 0o755, (now(), now()))}
        self._changes = []  # pending: each a list of (directory, name, number or None)
        self.sync_all()

    # -- finding ----------------------------------------------------------------------------------------

    def find(self, path):
        """Return what has a path."""
        node = self.nodes[ROOT]
        for part in filter(None, path.split("/")):
            node = self.nodes[self._number(node, part)]
        return node

    def _number(self, folder, name):
        if not folder.is_folder:
            raise _error(errno.ENOTDIR)
        if name not in folder.names:
            raise _error(errno.ENOENT)
        return folder.names[name]

    def _place(self, path):
        """Return the directory of a path, and the name there."""
        above, _, name = path.rpartition("/")
        folder = self.find(above)
        if not folder.is_folder:
            raise _error(errno.ENOTDIR)
        return folder, name

    def links(self, node):
        """Return how many names a file has."""
        return sum(number == node.number for folder in self._folders() for number in folder.names.values())

    def _folders(self):
        return [node for node in self.nodes.values() if node.is_folder]

    def path_of(self, number):
        """Return a path of a file, empty if it has none."""
        return next((path for path, node in self._walk("", self.nodes[ROOT]) if node.number == number), "")

    def paths(self):
        """Return the paths of all files."""
        return {path: node for path, node in self._walk("", self.nodes[ROOT]) if not node.is_folder}

    def _walk(self, path, folder):
        for name, number in folder.names.items():
            node = self.nodes[number]
            yield f"{path}/{name}", node
            if node.is_folder:
                yield from self._walk(f"{path}/{name}", node)

    # -- names ------------------------------------------------------------------------------------------

    def create(self, path, mode):
        """Create an empty file or a directory."""
        folder, name = self._place(path)
        if name in folder.names:
            raise _error(errno.EEXIST)
        number = next(number for number in count(ROOT + 1) if number not in self.nodes)
        node = self.nodes[number] = Node(number, mode, (self._now(), self._now()), kept_mode=mode)
        node.kept_times = node.times
        self._change((folder, name, number))
        return node

    def link(self, old, new):
        """Give a file another name."""
        node, (folder, name) = self.find(old), self._place(new)
        if node.is_folder:
            raise _error(errno.EPERM)
        if name in folder.names:
            raise _error(errno.EEXIST)
        self._change((folder, name, node.number))

    def remove(self, path, *, is_folder):
        """Remove a name of a file, or an empty directory."""
        folder, name = self._place(path)
        node = self.nodes[self._number(folder, name)]
        if node.is_folder != is_folder:
            raise _error(errno.ENOTDIR if is_folder else errno.EISDIR)
        if node.names:
            raise _error(errno.ENOTEMPTY)
        self._change((folder, name, None))
        self._tidy()

    def rename(self, old, new):
        """Give a file or a directory another name, in place of what has that name."""
        (before, was), (after, name) = self._place(old), self._place(new)
        node = self.nodes[self._number(before, was)]
        there = self.nodes.get(after.names.get(name))
        if there is node:
            return
        if there is not None:
            _require_replaceable(node, there)
        self._change((before, was, None), (after, name, node.number))
        self._tidy()

    def _change(self, *changes):
        self._changes.append([(folder.number, name, number) for folder, name, number in changes])
        for folder, name, number in changes:
            _apply(folder.names, name, number)
            folder.times = (folder.times[0], self._now())

    # -- files ------------------------------------------------------------------------------------------

    def write(self, node, at, data):
        """Write to a file."""
        _write(node.data, at, data)
        node.pending.append((at, bytes(data)))
        self.touch(node)

    def truncate(self, node, size):
        """Give a file a size."""
        if size != len(node.data):
            _resize(node.data, size)
            node.pending.append((size, None))
        self.touch(node)

    def touch(self, node):
        """Note that a file has changed now."""
        node.times = (node.times[0], self._now())

    def close(self, node):
        """Note that a file is closed; one without a name is gone then."""
        node.opened -= 1
        self._tidy()

    def _tidy(self):
        """Forget what no program can reach any more, unless the disk may still have it after a crash."""
        known = {ROOT, *(number for change in self._changes for *_, number in change)}
        for folder in self.nodes.values():
            known.update(folder.names.values(), folder.kept_names.values())
        self.nodes = {number: node for number, node in self.nodes.items() if number in known or node.opened > 0}

    # -- the disk ---------------------------------------------------------------------------------------

    def sync(self, node):
        """Have a file or the names in a directory on disk."""
        node.sync()
        if node.is_folder:
            self._sync_names(node.number)

    def sync_path(self, path):
        """Have a file on disk, and all that leads to it."""
        parts = path.split("/")
        for depth in range(len(parts), 0, -1):
            self.sync(self.find("/".join(parts[:depth])))

    def _sync_names(self, number):
        touched, kept = {number}, []
        for change in reversed(self._changes):
            folders = {folder for folder, *_ in change}
            if folders & touched:
                touched |= folders
                kept.append(change)
        self._keep(reversed(kept))
        self._changes = [change for change in self._changes if not any(change is other for other in kept)]
        self._tidy()

    def _keep(self, changes):
        for change in changes:
            for folder, name, number in change:
                if folder in self.nodes:  # it may have been removed since
                    _apply(self.nodes[folder].kept_names, name, number)

    def sync_all(self):
        """Have everything on disk."""
        self._keep(self._changes)
        self._changes = []
        for node in self.nodes.values():
            node.sync()
        self._tidy()

    # -- a crash ----------------------------------------------------------------------------------------

    def crash(self, choose):
        """Become what a disk may have kept; `choose(low, high)` draws numbers. Return what was lost."""
        losses = Losses(journalled=bool(choose(0, 1)))
        before = {node.number: path for path, node in self.paths().items()}
        kept = self._first(choose) if losses.journalled else self._first_of_each(choose)
        losses.names = len(self._changes) - len(kept)
        self._keep(kept)
        self._changes = []
        for node in self.nodes.values():
            node.names = dict(node.kept_names)
            fate = _survive(node, choose)
            if fate and node.number in before:
                losses.files[before[node.number]] = fate
            node.opened = 0
        self._drop_unreachable()
        self.sync_all()
        return losses

    def _first(self, choose):
        """Return the operations up to a moment, as a journal keeps them."""
        return self._changes[: choose(0, len(self._changes))]

    def _first_of_each(self, choose):
        """Return the operations that directories kept, each up to a moment of its own."""
        numbers = Counter(folder for change in self._changes for folder in {folder for folder, *_ in change})
        left = {folder: choose(0, number) for folder, number in sorted(numbers.items())}
        kept = []
        for change in self._changes:
            folders = {folder for folder, *_ in change}
            is_kept = all(left[folder] > 0 for folder in folders)
            for folder in folders:
                left[folder] = left[folder] - 1 if is_kept else 0  # nothing later in this directory, either
            kept += [change] if is_kept else []
        return kept

    def _drop_unreachable(self):
        found = {ROOT, *(node.number for _, node in self._walk("", self.nodes[ROOT]))}
        self.nodes = {number: node for number, node in self.nodes.items() if number in found}


def _error(number):
    return OSError(number, os.strerror(number))


def _require_replaceable(node, there):
    """Raise OSError if a rename cannot replace this."""
    if there.is_folder and not node.is_folder:
        raise _error(errno.EISDIR)
    if node.is_folder and not there.is_folder:
        raise _error(errno.ENOTDIR)
    if there.names:
        raise _error(errno.ENOTEMPTY)


def _apply(names, name, number):
    if number is None:
        names.pop(name, None)
    else:
        names[name] = number


def _resize(data, size):
    if size < len(data):
        del data[size:]
    else:
        data.extend(bytes(size - len(data)))


def _write(data, at, piece):
    _resize(data, max(len(data), at))
    data[at : at + len(piece)] = piece


def _survive(node, choose):
    """Let a file become what the disk kept of it; return its fate, empty if nothing was pending."""
    if choose(0, 1):
        node.mode, node.times = node.kept_mode, node.kept_times
    if not node.pending:
        return ""
    fate, whole, data = FATES[choose(0, len(FATES) - 1)], bytes(node.data), bytearray(node.kept_data)
    for at, piece in node.pending:
        _keep_part(data, at, piece, fate, choose)
    node.data = data
    if bytes(data) == whole:
        return ALL
    return NOTHING if bytes(data) == node.kept_data else fate


def _keep_part(data, at, piece, fate, choose):
    """Apply what the disk kept of one write or truncation."""
    if fate == NOTHING or (piece is None and fate != ALL and choose(0, 1)):
        return
    if piece is None:
        _resize(data, at)
        return
    size = {ALL: len(piece), NUL: 0}.get(fate)
    size = _drawn(len(piece), choose) if size is None else size
    if size < len(piece) and at + size < len(data):
        size = max(0, (at + size) // SECTOR * SECTOR - at)
    _write(data, at, piece[:size])
    if fate == NUL or choose(0, 1):  # the size is on disk
        _resize(data, max(len(data), at + len(piece)))


def _drawn(size, choose):
    """Return how much of a write arrived: all, nothing, a number of sectors, or any number of bytes."""
    arrived = choose(0, size)
    return (size, 0, arrived // SECTOR * SECTOR, arrived)[choose(0, 3)]
