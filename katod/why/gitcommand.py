"""Runs `git` on other people's repositories: only what is stored in them is read, and nothing of theirs runs.

A repository's own settings can name programs: for differences, for text, for a changed work tree, for signatures, for
connections. All are switched off, or not reached, as only stored objects are read. Time, memory and output are bounded.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Final

from katod.errors import GitError, GitFailed

_PATIENCE: Final = 20.0  # seconds
_MOST: Final = 64 * 1024 * 1024  # bytes of one answer
_OFF: Final = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.attributesFile=/dev/null",
    "core.sshCommand=false", "core.untrackedCache=false", "core.alternateRefsCommand=false", "core.quotePath=false",
    "log.showSignature=false", "log.follow=false", "log.mailmap=false", "protocol.allow=never", "gc.auto=0",
    "submodule.recurse=false", "fetch.recurseSubmodules=false", "maintenance.auto=false", "diff.external=",
    "diff.orderFile=/dev/null", "diff.renameLimit=1000", "core.bigFileThreshold=16m",
)  # fmt: skip
_ENVIRONMENT: Final = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_LITERAL_PATHSPECS": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
    "GIT_ALLOC_LIMIT": "512m",
}  # fmt: skip


@cache
def git_program() -> str | None:
    """Return the path of `git`, None if there is none in an absolute folder of `PATH`."""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which("git", path=os.pathsep.join(folders))


def run(folder: Path, *arguments: str, fails: bool = False) -> bytes:
    """Return what `git` prints; if it may fail and does, nothing. Raises GitError."""
    try:
        with answer_of(folder, *arguments) as answer:
            found = answer.read(_MOST + 1)
            if len(found) > _MOST:
                raise GitError(f"`git {arguments[0]}` answers with more than {_MOST >> 20} MB", path=folder)
    except GitFailed:
        if not fails:
            raise
        return b""
    return found


@contextmanager
def answer_of(folder: Path, *arguments: str, given: bytes = b"") -> Iterator[IO[bytes]]:
    """Run `git` while its answer is read, of any length. Raises GitError if it fails, or takes too long."""
    with TemporaryFile() as asked, TemporaryFile() as said:
        asked.write(given)
        asked.seek(0)
        with _started(folder, arguments, asked, said) as process, _ended_in_time(process) as late:
            assert process.stdout is not None
            yield process.stdout
            process.stdout.read(1)  # what is not read keeps it from ending
            process.stdout.close()
            process.wait()
        if late:
            raise GitError(f"`git {arguments[0]}` takes longer than {_PATIENCE:g} seconds", path=folder)
        if process.returncode:
            raise GitFailed(f"`git {arguments[0]}`: {_reason(said)}", path=folder)


def _started(folder: Path, arguments: tuple[str, ...], asked: IO[bytes], said: IO[bytes]) -> "subprocess.Popen[bytes]":
    program = git_program()
    if program is None:
        raise GitError("`git` is not installed", path=folder)
    options = [part for setting in _OFF for part in ("-c", setting)]
    command = [program, "--no-pager", *options, "-C", str(folder), *arguments]
    try:
        return subprocess.Popen(  # noqa: S603 - an absolute path, and no shell
            command, stdin=asked, stdout=subprocess.PIPE, stderr=said, env=_environment()
        )
    except (OSError, ValueError) as error:
        raise GitError(f"`git {arguments[0]}` cannot be run: {error}", path=folder) from error


@contextmanager
def _ended_in_time(process: "subprocess.Popen[bytes]") -> Iterator[list[bool]]:
    """End a process that takes too long, which is noted in the list, or whose answer is not wanted any more."""
    late: list[bool] = []

    def end() -> None:
        late.append(True)
        process.kill()

    timer = Timer(_PATIENCE, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()


def _reason(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read(1000).decode("utf-8", "replace").strip().splitlines()
    return lines[0] if lines else "failed"


def _environment() -> dict[str, str]:
    """Return the environment without what would have `git` work elsewhere."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return own | _ENVIRONMENT
