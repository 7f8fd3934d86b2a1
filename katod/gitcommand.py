"""Runs `git` on other people's repositories: nothing of theirs runs.

A repository's own settings can name programs: for differences, for text, for a changed work tree, for signatures, for
connections. All are switched off, or not reached, where only stored objects are read. What adds files asks first
whether a filter is set for them. Time, memory and output are bounded.
"""

import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

from katod.errors import GitError, GitFailed

_PATIENCE: Final = 20.0  # seconds that are waited for one answer
_GRACE: Final = 2.0  # seconds to remove locks, for a process that is to end
_BLOCK: Final = 1 << 20
_MOST: Final = 64 * 1024 * 1024  # bytes of one answer
_OFF: Final = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "rerere.enabled=false",
    "core.sshCommand=false", "core.untrackedCache=false", "core.alternateRefsCommand=false", "core.quotePath=false",
    "log.showSignature=false", "log.follow=false", "log.mailmap=false", "log.showRoot=true", "protocol.allow=never",
    "gc.auto=0", "submodule.recurse=false", "fetch.recurseSubmodules=false", "maintenance.auto=false", "diff.external=",
    "diff.orderFile=/dev/null", "diff.renameLimit=1000", "core.bigFileThreshold=16m",
)  # fmt: skip
_ATTRIBUTES: Final = "core.attributesFile=/dev/null"
_LITERAL: Final = "GIT_LITERAL_PATHSPECS"
_ENVIRONMENT: Final = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1", _LITERAL: "1", "GIT_PAGER": "cat", "LC_ALL": "C",
    "GIT_ALLOC_LIMIT": "512m",
}  # fmt: skip

_NAMES: Final = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")


Given = bytes | Iterable[bytes]


@cache
def git_program() -> str | None:
    """Return the path of `git`, None if there is none in an absolute folder of `PATH`."""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which("git", path=os.pathsep.join(folders))


class GitUse(NamedTuple):
    """How `git` is run: how long it is waited for (0: as usual), and what is passed on to it."""

    patience: float = 0.0
    named: bool = False  # who makes a commit, as the environment says
    literal: bool = True  # names of files are not patterns; some commands do not know that
    attributes: bool = False  # what the user says of files in all repositories


AS_USUAL: Final = GitUse()


def run(
    folder: Path, *arguments: str, fails: bool = False, given: Given = b"", use: GitUse = AS_USUAL, most: int = 0
) -> bytes:
    """Return what `git` prints, `most` bytes at most; if it may fail and does, nothing. Raises GitError."""
    most = most or _MOST
    try:
        with answer_of(folder, *arguments, given=given, use=use) as answer:
            found = answer.read(most + 1)
            if len(found) > most:
                raise GitError(f"`git {arguments[0]}` answers with more than {most >> 20} MB", path=folder)
    except GitFailed:
        if not fails:
            raise
        return b""
    return found


class GitAnswer:
    """What `git` prints, read as it comes; how long it is waited for, in all, is bounded."""

    def __init__(self, file: IO[bytes], patience: float) -> None:
        self._file = file
        self._left = patience
        self._read = bytearray()

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end. Raises TimeoutError."""
        while len(self._read) < size and self._has_more():
            pass
        return self._taken(size)

    def readline(self) -> bytes:
        """Return the next line with its line feed, empty at the end. Raises TimeoutError."""
        while b"\n" not in self._read and len(self._read) < _MOST and self._has_more():
            pass
        return self._taken(self._read.find(b"\n") + 1 or len(self._read))

    def wait(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the end of what is not read any more, and of the process. Raises TimeoutError."""
        while self._has_more():
            self._read.clear()
        try:
            process.wait(max(self._left, 0))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._read[:size])
        del self._read[:size]
        return taken

    def _has_more(self) -> bool:
        began = time.monotonic()
        if not select.select([self._file], [], [], max(self._left, 0))[0]:
            raise TimeoutError
        self._left -= time.monotonic() - began
        more = os.read(self._file.fileno(), _BLOCK)
        self._read += more
        return bool(more)


@contextmanager
def answer_of(folder: Path, *arguments: str, given: Given = b"", use: GitUse = AS_USUAL) -> Iterator[GitAnswer]:
    """Run `git` while its answer is read, of any length. Raises GitError if it fails, or takes too long."""
    patience = use.patience or _PATIENCE
    with TemporaryFile() as asked, TemporaryFile() as said:
        asked.writelines([given] if isinstance(given, bytes) else given)
        asked.seek(0)
        with _started(folder, arguments, asked, said, use) as process:
            assert process.stdout is not None
            answer = GitAnswer(process.stdout, patience)
            try:
                yield answer
                answer.wait(process)
            except TimeoutError:
                raise GitError(f"`git {arguments[0]}` takes longer than {patience:g} seconds", path=folder) from None
            finally:
                _end(process)
        if process.returncode:
            raise GitFailed(f"`git {arguments[0]}`: {_reason(said)}", path=folder)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process that may still run; it may remove its locks first."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def _started(
    folder: Path, arguments: tuple[str, ...], asked: IO[bytes], said: IO[bytes], use: GitUse
) -> "subprocess.Popen[bytes]":
    program = git_program()
    if program is None:
        raise GitError("`git` is not installed", path=folder)
    settings = _OFF if use.attributes else (*_OFF, _ATTRIBUTES)
    options = [part for setting in settings for part in ("-c", setting)]
    command = [program, "--no-pager", *options, "-C", str(folder), *arguments]
    try:
        return subprocess.Popen(  # noqa: S603 - an absolute path, and no shell
            command, bufsize=0, stdin=asked, stdout=subprocess.PIPE, stderr=said, env=_environment(use)
        )
    except (OSError, ValueError) as error:
        raise GitError(f"`git {arguments[0]}` cannot be run: {error}", path=folder) from error


def _reason(said: IO[bytes]) -> str:
    """Return the line that says why `git` failed, the first one if none is marked as that."""
    said.seek(0)
    lines = said.read(10_000).decode("utf-8", "replace").strip().splitlines()
    marked = (line for line in lines if line.startswith(("fatal:", "error:")))
    return next(marked, lines[0] if lines else "failed")


def _environment(use: GitUse) -> dict[str, str]:
    """Return the environment without what would have `git` work elsewhere."""
    kept = _NAMES if use.named else ()
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in kept}
    return own | {name: value for name, value in _ENVIRONMENT.items() if use.literal or name != _LITERAL}
