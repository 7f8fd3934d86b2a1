"""Reads other people's repositories with `git`: only what is stored in them, and nothing of theirs runs.

A repository's own settings can name programs: for differences, for text, for a changed work tree, for signatures, for
connections. All are switched off, or not reached, as only stored objects are read. Time and output are bounded.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Final, NamedTuple

from katod.errors import GitError

_PATIENCE: Final = 20.0  # seconds
_MOST: Final = 64 * 1024 * 1024  # bytes of one answer
_OFF: Final = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.attributesFile=/dev/null",
    "core.sshCommand=false", "core.untrackedCache=false", "core.alternateRefsCommand=false", "core.quotePath=false",
    "log.showSignature=false", "log.follow=false", "log.mailmap=false", "protocol.allow=never", "gc.auto=0",
    "submodule.recurse=false", "fetch.recurseSubmodules=false", "maintenance.auto=false", "diff.external=",
)  # fmt: skip
_ENVIRONMENT: Final = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_LITERAL_PATHSPECS": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
}  # fmt: skip
_HUNK: Final = re.compile(rb"@@ -[0-9]+(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")
_VERSIONS: Final = 1000  # of a file that are read at most, the latest ones


class FileVersion(NamedTuple):
    """A file in a commit: when that was made (seconds since 1970), and what the file was called."""

    commit: str
    time: int
    name: str


class Repository:
    """The repository around a file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def around(cls, folder: Path) -> "Repository | None":
        """Return the repository that a directory is in, None if there is none, or no `git`. Raises GitError."""
        if git_program() is None or not any((above / ".git").exists() for above in (folder, *folder.parents)):
            return None
        return cls(Path(os.fsdecode(_run(folder, "rev-parse", "--show-toplevel").rstrip(b"\n"))))

    @cached_property
    def roots(self) -> list[str]:
        """The directories of its work trees: this one, and others of the same repository. Raises GitError."""
        answer = _run(self.root, "worktree", "list", "--porcelain", "-z")
        found = [os.fsdecode(line[9:]) for line in answer.split(b"\0") if line.startswith(b"worktree ")]
        return list(dict.fromkeys([str(self.root), *found]))

    def added(self, commit: str) -> dict[str, list[int]]:
        """Return the lines that a commit adds to each file, against its first parent. Raises GitError."""
        answer = _run(
            self.root, "diff-tree", "-p", "-U0", "-r", "-M", "--root", "--no-commit-id", "-m", "--first-parent",
            "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--end-of-options",
            commit,
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
        answer = _run(
            self.root, "log", "--follow", "-M", "--no-ext-diff", "--no-textconv", f"--max-count={_VERSIONS}", "-z",
            "--name-status", "--format=%x01%H %ct", revision, "--", name,
        )  # fmt: skip
        return list(_versions(answer))[::-1]

    def has_commits(self, revision: str) -> bool:
        """Return whether there is such a revision."""
        return bool(self._name_of(revision))

    def _name_of(self, revision: str) -> str:
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return _run(self.root, *asked, fails=True).decode().strip()

    def contents(self, versions: list[FileVersion]) -> Iterator[bytes]:
        """Yield the content of each version, empty for what is no file. Raises GitError."""
        asked = "".join(f"{version.commit}:{version.name}\n" for version in versions if "\n" not in version.name)
        answer = _run(self.root, "cat-file", "--batch", given=os.fsencode(asked))
        at = 0
        for version in versions:
            if "\n" in version.name:
                yield b""
                continue
            end = answer.index(b"\n", at)
            head = answer[at:end].split(b" ")
            size = int(head[-1]) if len(head) == 3 and head[1] == b"blob" else -1
            yield answer[end + 1 : end + 1 + size] if size >= 0 else b""
            at = end + 1 + size + 1 if size >= 0 else end + 1


@cache
def git_program() -> str | None:
    """Return the path of `git`, None if there is none in an absolute folder of `PATH`."""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which("git", path=os.pathsep.join(folders))


def _added(lines: list[bytes]) -> Iterator[tuple[str, list[int]]]:
    """Yield the files of a patch, and the numbers of the lines that it adds; a hunk's length says where it ends."""
    at, numbers = 0, list[int]()
    while at < len(lines):
        if lines[at].startswith(b"+++ b/"):
            numbers = []
            yield os.fsdecode(lines[at][6:].rstrip(b"\t")), numbers
        elif hunk := _HUNK.match(lines[at]):
            first, count = int(hunk[2]), int(hunk[3] or 1)
            numbers += range(first, first + count)
            at += int(hunk[1] or 1) + count
        at += 1


def _versions(answer: bytes) -> Iterator[FileVersion]:
    """Yield what `log -z --name-status` says: after each commit, a status and its one or two names."""
    for block in answer.split(b"\x01")[1:]:
        head, *names = [part.lstrip(b"\n") for part in block.split(b"\0") if part.strip(b"\n")]
        commit, time = head.decode().split(" ")
        if len(names) >= 2 and not names[0].startswith(b"D"):
            yield FileVersion(commit, int(time), os.fsdecode(names[-1]))


def _run(folder: Path, *arguments: str, given: bytes = b"", fails: bool = False) -> bytes:
    """Return what `git` prints; if it `fails`, nothing. Raises GitError."""
    program = git_program()
    if program is None:
        raise GitError("`git` is not installed", path=folder)
    options = [part for setting in _OFF for part in ("-c", setting)]
    command = [program, "--no-pager", *options, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - an absolute path, and no shell
            command, input=given, capture_output=True, timeout=_PATIENCE, env=_environment(), check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"`git {arguments[0]}` cannot be run: {error}", path=folder) from error
    if done.returncode and not fails:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(f"`git {arguments[0]}`: {reason[0] if reason else 'failed'}", path=folder)
    return done.stdout[:_MOST] if not done.returncode else b""


def _environment() -> dict[str, str]:
    """Return the environment without what would have `git` work elsewhere."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return own | _ENVIRONMENT
