"""What is asked about: lines of a file as it is now, or of a commit."""

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from katod.edits.edits import Edit
from katod.edits.lines import split_lines
from katod.errors import SelectionError
from katod.events import seconds
from katod.why.git import LARGEST, FileVersion, Repository, version_ends

_LINES: Final = re.compile(r"(?P<file>.+?):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.DOTALL)
_BLOCK: Final = 8192


class LineRange(NamedTuple):
    """The lines from `first` to `last`, counted from 1; all of a file if `last` is 0."""

    first: int = 1
    last: int = 0

    def of(self, count: int) -> range:
        """Return the numbers of these lines in a file of so many. Raises SelectionError if it has none of them."""
        last = min(self.last or count, count)
        if self.last and self.first > last:
            raise SelectionError(f"the file has only {count} lines" if count else "the file is empty")
        return range(self.first, last + 1)


def parse_target(text: str) -> tuple[Path, LineRange]:
    """Return the file and the lines that `FILE[:LINE[-LINE]]` means; a file may itself be called like that."""
    match = None if os.path.lexists(text) else _LINES.fullmatch(text)
    if match is None:
        return Path(text), LineRange()
    first = int(match["first"])
    if not first:
        raise SelectionError("lines are counted from 1")
    last = int(match["last"] or first)
    return Path(match["file"]), LineRange(min(first, last), max(first, last))


class AskedFile(NamedTuple):
    """A file as it is asked about, with its past: its lines, where it is, and its versions in the repository."""

    path: Path
    name: str  # below the root of the repository; without one, the whole path
    lines: list[str]
    repository: Repository | None
    versions: list[FileVersion]
    commit: str = ""  # without one, it is on the disk, where it may be newer than its last version
    shared: frozenset[str] = frozenset()  # those of its names that another file has, or had before or after it

    @property
    def names(self) -> set[str]:
        """What the file was called, below the root of the repository."""
        return {self.name, *(version.name for version in self.versions)}

    def had_name(self, name: str, time: float) -> bool:
        """Return whether it may have been called so at a time.

        A name that no other file had counts at any time: a rebase gives all commits new times, and a branch may go on
        under the old name. Any other one counts from the version before that name to the one after it. If the time is
        unknown (0), only its present name counts.
        """
        if not time or not self.versions:
            return name == self.name
        if name not in self.shared:
            return name in self.names
        ends = version_ends(self.versions)
        names = [version.name for version in self.versions]
        nearest = bisect_right(ends, time)  # the first version that is later
        return name in (names[max(nearest - 1, 0)], names[min(nearest, len(names) - 1)])

    def may_have(self, edit: Edit) -> bool:
        """Return whether an edit was not made later than the version that is asked about."""
        return not (self.commit and self.versions) or seconds(edit.cause.time) < self.versions[-1].end


def file_on_disk(path: Path) -> AskedFile:
    """Return a file as it is now; of one that was deleted, as the last commit had it.

    Raises SelectionError if it is no text, GitError if its repository cannot be read.
    """
    place = Path(os.path.abspath(path))
    real = os.path.realpath(place)
    repository = Repository.around(Path(real).parent)
    if repository is None:
        return AskedFile(place, str(place), _lines(place), None, [])
    name = os.path.relpath(real, repository.root)
    versions = repository.versions(name)
    if not os.path.lexists(place) and (known := [version for version in versions if version.is_there]):
        return file_in_commit(repository, known[-1].name, known[-1].commit)
    return _with_shared_names(AskedFile(place, name, _lines(place), repository, versions))


def _lines(path: Path) -> list[str]:
    return split_lines(text_of(_read(path), path))


def file_in_commit(repository: Repository, name: str, commit: str) -> AskedFile:
    """Return a file as it is in a commit. Raises SelectionError if it is no text there, GitError."""
    place = repository.root / name
    versions = repository.versions(name, commit)
    if "\n" in name:
        raise SelectionError("has a line break in its name, and is not read from a commit", path=place)
    content = next(iter(repository.contents([FileVersion(commit, 0, name)])))
    if content is None:
        raise SelectionError(f"is not a file in {commit[:10]}, or larger than {LARGEST >> 20} MB", path=place)
    return _with_shared_names(
        AskedFile(place, name, split_lines(text_of(content, place)), repository, versions, commit)
    )


def _with_shared_names(file: AskedFile) -> AskedFile:
    """Return a file of which it is known which of its names another file has, or had."""
    if file.repository is None or len(file.names) == 1:
        return file
    shared = set(_named_otherwise(file, file.repository.namings(file.names, file.commit or "HEAD")))
    if not file.commit:
        shared |= {name for name in file.names - {file.name} if os.path.lexists(file.repository.root / name)}
    return file._replace(shared=frozenset(shared))


def _named_otherwise(file: AskedFile, namings: Iterable[FileVersion]) -> Iterator[str]:
    """Yield the names of a file that another one has at the end, or got or lost; the latest commit is first."""
    own, seen = {version.commit for version in file.versions}, {file.name}
    for naming in namings:
        is_there = naming.is_there and naming.name not in seen
        seen.add(naming.name)
        if is_there or naming.commit not in own:
            yield naming.name


class AskedLines(NamedTuple):
    """Lines of a file that are asked about, counted from 1."""

    file: AskedFile
    numbers: Sequence[int]


def text_of(content: bytes, path: Path) -> str:
    """Return the text of a file. Raises SelectionError for what has no lines to ask about."""
    if len(content) > LARGEST:
        raise SelectionError(f"is larger than {LARGEST >> 20} MB", path=path)
    if b"\0" in content[:_BLOCK]:
        raise SelectionError("is not a text file", path=path)
    return content.decode("utf-8", "replace")


def _read(path: Path) -> bytes:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read(LARGEST + 1)
    except FileNotFoundError:
        raise SelectionError("does not exist", path=path) from None
    except IsADirectoryError:
        pass
    except OSError as error:
        raise SelectionError(f"cannot be read: {error.strerror}", path=path) from error
    raise SelectionError("is not a file", path=path)
