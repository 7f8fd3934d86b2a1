"""`katod export --all --commit`: one commit of a machine's part to the git repository that it is in.

Only files that katod wrote, or deleted since, are in it, whatever else is staged. No hook, signature, filter or push.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from katod.archive.manifest import MANIFEST, Manifest
from katod.errors import GitError, KatodError, TargetRefused
from katod.formatspec import split_name
from katod.gitcommand import run
from katod.write.output import OutputPath
from katod.write.reading import open_plain

_PATIENCE: Final = 300.0  # seconds for what looks at each file
_LARGEST: Final = 256 * 1024 * 1024  # bytes of a list
# What git keeps in its folder while it is at something that a commit would end, or be lost in.
_BUSY: Final = {
    "MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase", "REVERT_HEAD": "a revert",
    "CHERRY_PICK_HEAD": "a cherry-pick", "BISECT_START": "a bisection",
}  # fmt: skip


class Commit(NamedTuple):
    """A commit that was made: its short name, its branch, and how many files it has changed."""

    name: str
    branch: str
    files: int


class ArchiveRepository:
    """The repository that a folder of exports is in."""

    def __init__(self, root: Path) -> None:
        """Find it. Raises GitError if there is none, or it is one in which katod commits nothing."""
        self._root = root
        found = run(root, "rev-parse", "--show-toplevel", "--absolute-git-dir", fails=True).decode("utf-8", "replace")
        top, _, private = found.strip().partition("\n")
        if not private or not root.is_relative_to(os.path.realpath(top)):
            raise GitError("is not in a git repository", path=root, hint="run `git init` there, or omit --commit")
        self._top = Path(top)
        self._private = Path(private)

    def require_rest(self) -> None:
        """Raise GitError while something is going on in the repository, or no branch is checked out."""
        for name, what in _BUSY.items():
            if os.path.lexists(self._private / name):
                raise GitError(
                    f"{what} is in progress, so nothing was committed", path=self._top, hint="complete it first"
                )
        if not self._branch():
            raise GitError("no branch is checked out, so nothing was committed", path=self._top, hint="check one out")
        if run(self._root, "config", "--name-only", "--get-regexp", r"^hook\..*\.command$", fails=True):
            what = "its configuration has hooks, which katod does not run, so nothing was committed"
            raise GitError(what, path=self._top, hint="commit there yourself")

    def commit(self, manifest: Manifest, message: str) -> Commit | None:
        """Commit the files of a manifest as they are now, and that others are gone; None if nothing has changed.

        Raises GitError.
        """
        self.require_rest()
        present = sorted(_files(self._root, manifest))
        gone = self._gone(present)
        names = self._not_ignored([*present, *gone])
        if not names:
            return None
        self._require_no_filter(names)
        self._run("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul", given=_listed(names))
        if not (changed := sorted(self._staged() & set(names))):
            return None
        options = ("--only", "--no-verify", "--no-gpg-sign", "--no-status", "--quiet", "--cleanup=verbatim")
        listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._run("commit", *options, "-m", message, *listed, given=_listed(changed), named=True)
        name = self._run("rev-parse", "--short", "HEAD").decode().strip()
        return Commit(name, self._branch(), len(changed))

    def _branch(self) -> str:
        return run(self._root, "symbolic-ref", "-q", "--short", "HEAD", fails=True).decode("utf-8", "replace").strip()

    def _gone(self, present: Collection[str]) -> list[str]:
        """Return the files that katod committed before, and that are not there now."""
        data = run(self._root, "show", f"HEAD:./{MANIFEST}", fails=True)
        try:
            before = Manifest.read(data).names() if data else set()
        except KatodError:  # of a later version
            return []
        candidates = before - set(present)
        tracked = self._names("ls-files", "-z")
        beside = {name for name in tracked if any(name.startswith(f"{folder}/") for folder in map(_folder, candidates))}
        lost = (candidates & tracked) | (beside - set(present))
        return sorted(name for name in lost if not os.path.lexists(self._root / name))

    def _not_ignored(self, names: list[str]) -> list[str]:
        """Return the files that the repository does not ignore, or already has."""
        left = self._names("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return [name for name in names if name in left]

    def _require_no_filter(self, names: list[str]) -> None:
        """Raise GitError if a program would change what is committed: it would have to run, or be passed over."""
        answer = self._run("check-attr", "-z", "--stdin", "filter", given=_listed(names)).decode("utf-8", "replace")
        values = {value for value in answer.split("\0")[2::3] if value not in ("unspecified", "unset")}
        if values:
            what = f"its attributes set the filter {min(values)} for katod's files, so nothing was committed"
            raise GitError(what, path=self._top, hint="commit them yourself: katod runs no filters")

    def _staged(self) -> set[str]:
        """Return what of the folder is staged; where nothing was committed yet, all of it."""
        if not run(self._root, "rev-parse", "-q", "--verify", "HEAD^{commit}", fails=True):
            return self._names("ls-files", "-z")
        return self._names(
            "diff-index", "--cached", "--name-only", "--relative", "--no-renames", "-z", "HEAD", "--", "."
        )

    def _names(self, *arguments: str) -> set[str]:
        """Return the names that git answers with."""
        return set(filter(None, self._run(*arguments).decode("utf-8", "surrogateescape").split("\0")))

    def _run(self, *arguments: str, given: bytes = b"", named: bool = False) -> bytes:
        return run(self._root, *arguments, given=given, patience=_PATIENCE, named=named)


def _files(root: Path, manifest: Manifest) -> Iterator[str]:
    """Yield the files of a folder that are katod's and as it wrote them, and its list."""
    yield MANIFEST
    for entry in manifest.entries.values():
        if entry.name and not entry.edited and _is_plain(root, entry.parts):
            yield entry.name
            yield from _beside(root, _folder(entry.name))


def _beside(root: Path, folder: str) -> Iterator[str]:
    """Yield the pictures in the folder of an export."""
    try:
        with os.scandir(root / folder) as found:
            names = [entry.name for entry in found if entry.is_file(follow_symlinks=False)]
    except OSError:
        return
    yield from (f"{folder}/{name}" for name in names)


def _is_plain(root: Path, parts: tuple[str, ...]) -> bool:
    """Return whether this is a regular file, and no link is on the way to it."""
    try:
        open_plain(OutputPath(root, parts)).close()
    except (KatodError, TargetRefused):
        return False
    return True


def _folder(name: str) -> str:
    """Return the folder for the pictures of an export."""
    return f"{split_name(name)[0]}.assets"


def _listed(names: Iterable[str]) -> bytes:
    return b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
