"""Which of the files that are asked about a path is of: compared as a whole, below the folder of a work tree.

A session calls a work tree by its path; through a link, by another one. Where its directory is not there, it was one of
another machine, or is gone: the work tree is the folder of the repository's name that it is in, or that was in it.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from katod.paths import is_windows
from katod.why.git import Repository
from katod.why.target import AskedFile


class FilePlace(NamedTuple):
    """The number of a file, and the work tree of a path: empty for the one that the file is in, or a clone elsewhere.

    It is not certain if the tree may have been on this machine, where another repository can have had its name.
    """

    number: int
    tree: str = ""
    is_certain: bool = True


class _Name(NamedTuple):
    name: str
    tree: str = ""
    is_certain: bool = True


_Trees = tuple[tuple[str, _Name], ...]


class FilePlaces:
    """The places of files, each as it is or as a hash of it."""

    def __init__(self, files: Sequence[AskedFile], form: Callable[[str], Any] = str) -> None:
        self._files = files
        self._form = form
        self._trees: dict[tuple[Path, str], _Trees] = {}
        self._known: dict[tuple[int, _Trees], dict[Hashable, _Name]] = {}

    def of(self, place: Hashable, cwd: str, time: float | None = None) -> list[FilePlace]:
        """Return the files that a whole path was of at a time (without one: ever); a session in `cwd` has it.

        Raises GitError.
        """
        found = ((number, self._names(number, cwd).get(place)) for number in range(len(self._files)))
        return [
            FilePlace(number, known.tree, known.is_certain)
            for number, known in found
            if known and (time is None or self._files[number].had_name(known.name, time))
        ]

    def _names(self, number: int, cwd: str) -> dict[Hashable, _Name]:
        """Return what a session in a directory may call a file."""
        file = self._files[number]
        trees = self._trees_of(file.repository, cwd) if file.repository else ()
        if (number, trees) not in self._known:
            if file.repository is None:
                paths = {path: _Name(file.name) for path in (str(file.path), os.path.realpath(file.path))}
            else:
                paths = {f"{root}/{name}": tree._replace(name=name) for root, tree in trees for name in file.names}
            self._known[number, trees] = {self._form(path): name for path, name in paths.items()}
        return self._known[number, trees]

    def _trees_of(self, repository: Repository, cwd: str) -> "_Trees":
        """Return the paths of work trees for a session in a directory: most directories have the same ones."""
        if (repository.root, cwd) not in self._trees:
            self._trees[repository.root, cwd] = tuple(dict(_trees(repository, cwd)).items())
        return self._trees[repository.root, cwd]


def _trees(repository: Repository, cwd: str) -> Iterator[tuple[str, _Name]]:
    """Yield the paths by which a session in a directory may call work trees, and which these are."""
    own, *others = repository.roots
    trees = {own: _Name(""), **{root: _Name("", root) for root in others}}
    yield from trees.items()
    if os.path.isabs(cwd) and os.path.isdir(cwd):
        yield from ((path, tree) for root, tree in trees.items() for path in _linked(root, cwd))
    else:
        is_gone = _may_be_gone(cwd)
        yield from ((path, _Name("", path if is_gone else "", not is_gone)) for path in _cloned(repository, cwd))


def _linked(root: str, cwd: str) -> Iterator[str]:
    """Yield the path of a work tree as it is seen from a directory on this machine, in it or above it."""
    seen, real, tree = Path(os.path.normpath(cwd)), Path(os.path.realpath(cwd)), Path(root)
    if tree.is_relative_to(real):
        yield str(seen / tree.relative_to(real))
    elif real.is_relative_to(tree):
        inside = real.relative_to(tree).parts
        if seen.parts[-len(inside) :] == inside:
            yield str(Path(*seen.parts[: -len(inside)]))


def _cloned(repository: Repository, cwd: str) -> Iterator[str]:
    """Yield the path of a work tree elsewhere, or that is gone, unless it is not clear which folder that is."""
    place: PurePath = PureWindowsPath(cwd) if is_windows(cwd) else PurePosixPath(cwd)
    if not place.is_absolute() or any(place.is_relative_to(root) for root in repository.roots):
        return
    for folder in _folders(repository, place):
        yield from _spellings(folder)


def _folders(repository: Repository, place: PurePath) -> list[PurePath]:
    """Return the folder with the repository's name that a place is in, or those that may be in it."""
    names = repository.names
    around = [folder for folder in (place, *place.parents) if folder.name in names]
    if not around:
        return [place / name for name in names]
    if len(around) > 1:
        around = [folder for folder in around if (repository.root / place.relative_to(folder)).is_dir()]
    return around if len(around) == 1 else []


def _spellings(folder: PurePath) -> tuple[str, ...]:
    """Return how a folder is called: the letter of a drive is written large or small."""
    path = folder.as_posix()
    return (path, path[0].swapcase() + path[1:]) if folder.drive[1:] == ":" else (path,)


def _may_be_gone(cwd: str) -> bool:
    """Return whether a directory that is not there may have been on this machine: what it was in is, not only homes."""
    homes = {"/home", "/Users", os.path.dirname(os.path.expanduser("~"))}
    return any(above.is_dir() for above in Path(cwd).parents if above.name and str(above) not in homes)
