"""A person who writes notes into outputs, and renames and moves them, both while katod runs and while it does not."""

import fcntl
import os
import re
import tomllib
from contextlib import contextmanager

FOLDERS = ("read", "unread", "app")  # which the person sorts outputs into
_RENAMED = re.compile(r"^mine-\d+-")
COPIES = ("cap-", "exp-", "keep-")  # how the names of whole sessions and of parts begin
NUMBER = re.compile(r"-([0-9a-f]{8})[-.]")


def outputs(world):
    """Return all outputs by the part of their name that the writer knows."""
    files = [path for path in world.home.glob("katod*/*/*") if path.suffix in (".md", ".jsonl")]
    named = {name_of(path): path for path in files}
    assert len(named) == len(files), "a recording has two outputs"
    return named


def name_of(path):
    """Return the part of a name that the writer knows: generated names begin with a date and a title."""
    return path.name if path.name.startswith(COPIES) else path.name[-9 - len(path.suffix) :]


def is_odd(path):
    """Return whether the person writes to this output."""
    return int(NUMBER.search(name_of(path))[1], 16) % 2 == 1


@contextmanager
def held(lock):
    """Hold a lock within the block; None means none is needed."""
    with open(lock or os.devnull, "r+b") as file:
        if lock:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Person:
    """Writes notes into outputs with odd numbers, renames those with even ones, and unmounts the disk of all."""

    def __init__(self, world, rng):
        self._world, self._rng = world, rng
        self.notes = []
        self.saved = self.moved = self.unmounted = 0

    def disturb(self):
        """Edit an output while katod is not running."""
        chance = self._rng.random()
        if chance < 0.4:
            self.insert()
        else:
            self.append(end="\n" if chance < 0.85 else "")

    def disturb_a_running(self, lock):
        """Edit or rename an output while katod is running.

        `lock` stands in for the kernel's guarantee that two appends are not interleaved. What is appended between an
        editor's reading and its saving is lost, whatever katod does; the lock is held to prevent that, too.
        """
        chance = self._rng.random()
        if chance < 0.3:
            self.append(lock)
        elif chance < 0.65:
            self.insert(lock)
        else:
            self.move()

    def append(self, lock=None, end="\n"):
        """Append a line."""
        path = self._choose()
        if path is None:
            return
        with path.open("ab", buffering=0) as file, held(lock):
            if lock and not os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                return
            file.write(f"{self._note(path)}{end}".encode())

    def insert(self, lock=None):
        """Insert a line between two others, as an editor does: write a new file and rename it."""
        path = self._choose()
        if path is None:
            return
        with held(lock):
            lines = path.read_bytes().splitlines(keepends=True)
            lines.insert(self._rng.randrange(1, len(lines) + 1), f"{self._note(path)}\n".encode())
            fresh = path.with_name(f"{path.name}.new")
            fresh.write_bytes(b"".join(lines))
            if lock and self._rng.random() < 0.3:  # some move the old file away first
                path.rename(path.with_name(f"{path.name}~"))
            fresh.replace(path)
        self.saved += lock is not None

    def move(self):
        """Rename an output, or move it to another folder."""
        path = self._choose(odd=False)
        if path is None:
            return
        name = path.name
        if not name.startswith(COPIES) and self._rng.random() < 0.5:
            name = f"mine-{self.moved}-{_RENAMED.sub('', name)}"
        target = path.parents[1] / self._rng.choice(FOLDERS) / name
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            path.rename(target)
            self.moved += 1

    @contextmanager
    def disk_unmounted(self):
        """Take the output directory away within the block, and check that nothing was written in its place."""
        named = tomllib.loads(self._world.config.read_text())["output"].get("directory", "~/katod")
        folder = self._world.home / named.removeprefix("~/")
        if not any(path.stat().st_size for suffix in ("md", "jsonl") for path in folder.rglob(f"*.{suffix}")):
            yield  # without a word in it, katod may not know the directory yet
            return
        away, empty = folder.with_name(f"away-{folder.name}"), self._rng.random() < 0.5
        folder.rename(away)
        if empty:
            folder.mkdir()
        self.unmounted += 1
        try:
            yield
        finally:
            left = os.listdir(folder) if empty else folder.exists()
            assert not left, f"{left} where the disk should be mounted"
            if empty:
                folder.rmdir()
            away.rename(folder)

    def missing(self, files):
        """Return the notes that do not appear exactly once in the file they were written to.

        A note written after a torn append may follow half a character.
        """
        contents = {path: path.read_text(errors="replace") for path in files.values()}
        return [
            f"{path}: {note} is there {contents[path].count(note)} times"
            for path, note in self.notes
            if contents[path].count(note) != 1
        ]

    def _choose(self, *, odd=True):
        files = [path for path in outputs(self._world).values() if is_odd(path) == odd and path.stat().st_size]
        return self._rng.choice(sorted(files)) if files else None

    def _note(self, path):
        note = f"note-{len(self.notes):04d}-{self._rng.getrandbits(32):08x}."
        self.notes.append((path, note))
        return note
