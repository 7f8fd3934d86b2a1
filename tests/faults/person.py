"""A person who writes notes into outputs, both while katod runs and while it does not."""

import fcntl
import os
import re

NUMBER = re.compile(r"-([0-9a-f]{8})[-.]")


def outputs(world):
    """Return all outputs by the part of their name that the writer knows."""
    files = [path for path in world.home.glob("katod*/*/*") if path.suffix in (".md", ".jsonl")]
    named = {name_of(path): path for path in files}
    assert len(named) == len(files), "a recording has two outputs"
    return named


def name_of(path):
    """Return the part of a name that the writer knows: generated names begin with a date and a title."""
    return path.name if path.name.startswith(("cap-", "exp-")) else path.name[-9 - len(path.suffix) :]


def is_odd(path):
    """Return whether the person writes to this output."""
    return int(NUMBER.search(name_of(path))[1], 16) % 2 == 1


class Person:
    """Writes notes into outputs with odd numbers."""

    def __init__(self, world, rng):
        self._world, self._rng = world, rng
        self.notes = []

    def disturb(self):
        """Edit an output while katod is not running."""
        chance = self._rng.random()
        if chance < 0.4:
            self.insert()
        else:
            self.append(end="\n" if chance < 0.85 else "")

    def append(self, lock=None, end="\n"):
        """Append a line. `lock` stands in for the kernel's guarantee that two appends are not interleaved."""
        path = self._choose()
        if path is None:
            return
        with path.open("ab", buffering=0) as file, open(lock or os.devnull, "r+b") as held:
            if lock:
                fcntl.flock(held, fcntl.LOCK_EX)
            file.write(f"{self._note(path)}{end}".encode())

    def insert(self):
        """Insert a line between two others, as an editor does: write a new file and rename it."""
        path = self._choose()
        if path is None:
            return
        lines = path.read_bytes().splitlines(keepends=True)
        lines.insert(self._rng.randrange(1, len(lines) + 1), f"{self._note(path)}\n".encode())
        fresh = path.with_name(f"{path.name}.new")
        fresh.write_bytes(b"".join(lines))
        fresh.replace(path)

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

    def _choose(self):
        files = [path for path in outputs(self._world).values() if is_odd(path) and path.stat().st_size]
        return self._rng.choice(sorted(files)) if files else None

    def _note(self, path):
        note = f"note-{len(self.notes):04d}-{self._rng.getrandbits(32):08x}."
        self.notes.append((path, note))
        return note
