"""The past of a file, from the git repository that it is in."""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from katod.errors import GitError
from katod.gitcommand import GitAnswer, answer_of, git_program, run

LARGEST: Final = 4 * 1024 * 1024  # bytes of a file whose lines can be asked about
_VERSIONS: Final = 1000  # of a file that are read at most, the latest ones
_BLOCK: Final = 65_536
_PLAIN: Final = ("--no-ext-diff", "--no-textconv", "-O/dev/null")
_NEW: Final = re.compile(rb'\+\+\+ (?:"b/(.*)"|b/(.*?)\t?)')
_ESCAPE: Final = re.compile(rb"\\([0-7]{3}|.)")
_SIGNS: Final = dict(zip(map(bytes, zip(b'abfnrtv"\\')), map(bytes, zip(b'\a\b\f\n\r\t\v"\\')), strict=True))
_HUNK: Final = re.compile(rb"@@ -[0-9]+(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")
_COMMIT: Final = re.compile(rb"[0-9a-f]{40,64}")
_OBJECT: Final = re.compile(rb"[0-9a-f]{40,64} (\w+) ([0-9]+)\n")
_LOGGED: Final = re.compile(rb"\n?([0-9a-f]{40,64}) (-?[0-9]*)")
_STATUS: Final = re.compile(rb"\n?([A-Z])[0-9]*")


class FileVersion(NamedTuple):
    """A file in a commit: when that was made (seconds since 1970), what it was called, and if it was not deleted."""

    commit: str
    time: int
    name: str
    is_there: bool = True

    @property
    def end(self) -> float:
        """The end of its second, of which git does not keep parts: an edit in it was made before the commit."""
        return self.time + 1.0


def version_ends(versions: Iterable[FileVersion]) -> list[float]:
    """Return when versions were made at the latest, rising: clocks differ, the order does not."""
    return list(accumulate((version.end for version in versions), max))


class Repository:
    """The repository around a file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def around(cls, folder: Path) -> "Repository | None":
        """Return the repository that a directory is in, or was, None if there is none. Raises GitError."""
        if not any((above / ".git").exists() for above in (folder, *folder.parents)):
            return None
        if git_program() is None:
            raise GitError("this is in a git repository, and `git` is not installed", path=folder)
        present = next(above for above in (folder, *folder.parents) if above.is_dir())
        return cls(Path(os.fsdecode(run(present, "rev-parse", "--show-toplevel").rstrip(b"\n"))))

    @cached_property
    def roots(self) -> list[str]:
        """The directories of its work trees: this one, and others of the same repository. Raises GitError."""
        return list(dict.fromkeys([str(self.root), *self._listed]))

    @cached_property
    def names(self) -> list[str]:
        """How a clone of it may be called: like this work tree, or like the main one. Raises GitError."""
        main = [Path(root).name.removesuffix(".git") for root in self._listed[:1]]
        return list(dict.fromkeys(filter(None, [self.root.name, *main])))

    @cached_property
    def _listed(self) -> list[str]:
        answer = run(self.root, "worktree", "list", "--porcelain", "-z")
        return [os.fsdecode(line[9:]) for line in answer.split(b"\0") if line.startswith(b"worktree ")]

    def added(self, commit: str) -> dict[str, list[int]]:
        """Return the lines that a commit adds to each file, against its first parent. Raises GitError."""
        answer = run(
            self.root, "diff-tree", "-p", "-U0", "-r", "-M", "--root", "--no-commit-id", "-m", "--first-parent",
            *_PLAIN, "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--end-of-options", commit,
        )  # fmt: skip
        return dict(_added(answer.split(b"\n")))

    def commit(self, revision: str) -> str:
        """Return the full name of a commit. Raises GitError if there is none."""
        found = self._name_of(revision)
        if not found:
            raise GitError(f"no commit is called {revision!r}", path=self.root)
        return found

    def versions(self, name: str, revision: str = "HEAD") -> list[FileVersion]:
        """Return the versions of a file up to a revision, the oldest first, also under its earlier names.

        Empty if no commit has it. Raises GitError.
        """
        if not self.has_commits(revision):
            return []
        answer = run(
            self.root, "log", "--follow", "-M", *_PLAIN, f"--max-count={_VERSIONS}", "-z", "--name-status",
            "--format=%H %ct", revision, "--", name,
        )  # fmt: skip
        return list(_versions(answer))[::-1]

    def namings(self, names: Iterable[str], revision: str = "HEAD") -> list[FileVersion]:
        """Return where files got or lost one of these names up to a revision, the latest first. Raises GitError."""
        answer = run(
            self.root, "log", "--no-renames", "--diff-filter=AD", *_PLAIN, f"--max-count={_VERSIONS}", "-z",
            "--name-status", "--format=%H %ct", revision, "--", *names,
        )  # fmt: skip
        return list(_versions(answer))

    def has_commits(self, revision: str) -> bool:
        """Return whether there is such a revision."""
        return bool(self._name_of(revision))

    def _name_of(self, revision: str) -> str:
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = run(self.root, *asked, fails=True).strip()
        return found.decode() if _COMMIT.fullmatch(found) else ""

    def contents(self, versions: list[FileVersion]) -> Iterator[bytes | None]:
        """Yield the content of each version, None for what is not there, no file, or too large. Raises GitError."""
        asked = "".join(f"{version.commit}:{version.name}\n" for version in versions if "\n" not in version.name)
        with answer_of(self.root, "cat-file", "--batch", given=os.fsencode(asked)) as answer:
            for version in versions:
                yield None if "\n" in version.name else _next_object(answer)


def _next_object(answer: GitAnswer) -> bytes | None:
    """Return the next file that `cat-file --batch` prints; for what is not there, it says so in one line."""
    head = _OBJECT.fullmatch(answer.readline())
    if head is None:
        return None
    size = int(head[2])
    if head[1] == b"blob" and size <= LARGEST:
        return answer.read(size + 1)[:size]
    for at in range(0, size + 1, _BLOCK):
        answer.read(min(_BLOCK, size + 1 - at))
    return None


def _added(lines: list[bytes]) -> Iterator[tuple[str, list[int]]]:
    """Yield the files of a patch, and the numbers of the lines that it adds; a hunk's length says where it ends."""
    at, numbers = 0, list[int]()
    while at < len(lines):
        if name := _NEW.fullmatch(lines[at]):
            numbers = []
            yield os.fsdecode(name[2] or _unquoted(name[1])), numbers
        elif lines[at].startswith(b"diff --git "):
            numbers = []
        elif hunk := _HUNK.match(lines[at]):
            first, count = int(hunk[2]), int(hunk[3] or 1)
            numbers += range(first, first + count)
            at += int(hunk[1] or 1) + count
        at += 1


def _unquoted(name: bytes) -> bytes:
    """Return a name that git wrote as a string in C."""
    return _ESCAPE.sub(lambda part: bytes([int(part[1], 8)]) if part[1].isdigit() else _SIGNS[part[1]], name)


def _versions(answer: bytes) -> Iterator[FileVersion]:
    """Yield what `log -z --name-status` says: after each commit, a status and its one or two names."""
    parts, commit, time = iter(answer.split(b"\0")), "", 0
    for part in parts:
        if head := _LOGGED.fullmatch(part):
            commit, time = head[1].decode(), int(head[2] or 0)
        elif status := _STATUS.fullmatch(part):
            names = [next(parts, b"") for _ in range(2 if status[1] in b"RC" else 1)]
            yield FileVersion(commit, time, os.fsdecode(names[-1]), status[1] != b"D")
