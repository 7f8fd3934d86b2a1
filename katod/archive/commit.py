"""`katod export --all --commit`: one commit of a folder of exports to the git repository that it is in.

The commit is made of what katod wrote, and nothing else: git neither looks at the work tree nor at what is staged, so
no hook, filter, merge driver or signature of the repository can run. Nothing is pushed.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b, sha1, sha256
from pathlib import Path
from typing import Final, NamedTuple

from katod.archive.manifest import INDEX, INDEX_SLOT, MANIFEST, Entry, Manifest
from katod.archive.takenback import TakenBack
from katod.errors import GitError, GitFailed, KatodError, OutputUnreadable
from katod.formatspec import MARKDOWN, split_name
from katod.gitcommand import GitUse, Given, run
from katod.smallfile import read_small
from katod.write.output import OutputPath
from katod.write.reading import open_plain
from katod.write.whole import hasher

_PATIENCE: Final = 300.0  # seconds for what is about each file
_LARGEST: Final = 256 * 1024 * 1024  # bytes of a list
_PLAIN: Final = b"100644"
_PICTURE: Final = re.compile(r"[0-9a-f]{16}(?:\.[A-Za-z0-9]{1,16})?")
# What git keeps in its folder while it is at something that a commit would end, or be lost in.
_BUSY: Final = {
    "MERGE_HEAD": "a merge", "SQUASH_MSG": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase",
    "REVERT_HEAD": "a revert", "CHERRY_PICK_HEAD": "a cherry-pick", "BISECT_START": "a bisection",
    "index.lock": "another git command",
}  # fmt: skip


class Commit(NamedTuple):
    """A commit that was made: its short name, its branch, how many files it has changed, and how many are ignored."""

    name: str
    branch: str
    files: int
    ignored: int


class _DraftCommit(NamedTuple):
    """A commit that is not on its branch yet: its whole name, and that of its parent, empty if it is the first."""

    name: str
    parent: str


class _ChangedFiles(NamedTuple):
    """What a commit changes: where its files are, or what they contain, the files that go, and hashes of contents."""

    changed: Mapping[str, Path | bytes]
    gone: set[str]
    digests: Mapping[str, str]


class _WorkTree(NamedTuple):
    """Where a folder is in its repository: the top of the work tree, git's own folder, and the path in between."""

    top: Path
    private: Path
    below: str


class ArchiveRepository:
    """The repository that a folder of exports is in, or will be."""

    def __init__(self, root: Path) -> None:
        """Find it. Raises GitError if there is none, or it is one in which katod commits nothing."""
        self._root = root
        there = next(folder for folder in (root, *root.parents) if folder.is_dir())
        self._tree = _found(there, root)

    def committed_list(self) -> Manifest | None:
        """Return the list of the folder in the last commit, None if there is none. Raises GitError."""
        before = self._committed()
        return self._list(before) if MANIFEST in before else None

    def commit(self, manifest: Manifest, message: str) -> Commit | None:
        """Commit the files of a manifest as katod wrote them, and that others are gone; None if nothing has changed.

        Raises GitError.
        """
        branch = self._begin()
        before = self._committed()
        known = self._known(before)
        new = dict(self._contents(manifest, before, known))
        gone = self._gone(known.keys() & before.keys() - new.keys(), manifest)
        new, ignored = self._not_ignored(new)
        changed = {name: path for name, path in new.items() if path is not None}
        digests = {entry.name: entry.digest for entry in manifest.entries.values()}
        return self._commit(branch, _ChangedFiles(changed, gone, digests), message, ignored)

    def commit_taken_back(self, taken: TakenBack, message: str) -> Commit | None:
        """Commit what is left of the committed list, and that files of which it has nothing more are gone.

        Nothing else is committed: neither other files, nor what the list on the disk has. Raises GitError.
        """
        branch = self._begin()
        before, left = self._committed(), taken.left
        known = self._known(before)
        beside = {_assets(name) for entry in left.entries.values() if entry.slot[1] == MARKDOWN for name in entry.names}
        gone = self._gone({name for name in known.keys() & before.keys() if _folder(name) not in beside}, left)
        gone |= {INDEX} & before.keys() if taken.drops_index else set()
        self._not_ignored({MANIFEST: self._root / MANIFEST})
        changed: dict[str, Path | bytes] = {MANIFEST: b"".join(left.lines())}
        if taken.has_index and INDEX in before:
            changed[INDEX] = self._root / INDEX
        digests = {INDEX: left.entries[INDEX_SLOT].digest} if taken.has_index else {}
        return self._commit(branch, _ChangedFiles(changed, gone, digests), message)

    def _begin(self) -> str:
        """Return the branch that is checked out, without what a killed run left behind. Raises GitError."""
        branch = self._branch()
        self._drop_draft()
        return branch

    def _commit(self, branch: str, change: _ChangedFiles, message: str, ignored: int = 0) -> Commit | None:
        """Commit a change; None if it is none. Raises GitError."""
        self._require_no_filter(change.changed)
        if not (names := {*change.changed, *change.gone}):
            return None
        try:
            made = self._import(change, message)
            self._publish(branch, made, names)
        finally:
            self._drop_draft()
        name = self._run("rev-parse", "--short", "HEAD").decode().strip()
        return Commit(name, branch, len(names), ignored)

    # -- what may be committed ----------------------------------------------------------------------------

    def _branch(self) -> str:
        """Return the branch that is checked out. Raises GitError while something is going on in the repository."""
        for name, what in _BUSY.items():
            if os.path.lexists(self._tree.private / name):
                raise self._refusal(f"{what} is in progress", "complete it first")
        found = run(self._root, "symbolic-ref", "-q", "HEAD", fails=True).decode("utf-8", "replace").strip()
        if not found.startswith("refs/heads/"):
            raise self._refusal("no branch is checked out", "check one out")
        if run(self._root, "config", "--name-only", "--get-regexp", r"^hook\..*\.command$", fails=True):
            raise self._refusal("its configuration has hooks, which katod does not run", "commit there yourself")
        return found.removeprefix("refs/heads/")

    def _refusal(self, what: str, hint: str) -> GitError:
        return GitError(f"{what}, so nothing was committed", path=self._tree.top, hint=hint)

    def _tip(self) -> str:
        """Return the name of the last commit, empty if there is none yet."""
        return run(self._root, "rev-parse", "-q", "--verify", "HEAD^{commit}", fails=True).decode().strip()

    def _committed(self, commit: str = "") -> dict[str, str]:
        """Return the files of the folder in a commit, or in the last one, with the hashes of their contents."""
        if not (commit := commit or self._tip()):
            return {}
        rows = self._run("ls-tree", "-r", "-z", commit).decode("utf-8", "surrogateescape").split("\0")
        found = (row.partition("\t") for row in rows if row)
        return {name: about.split(" ")[2] for about, _, name in found}

    def _known(self, before: Mapping[str, str]) -> dict[str, Entry]:
        """Return katod's own files in the last commit, by name, as the list says that is in it."""
        if MANIFEST not in before:
            return {}
        listed = self._list(before)
        known = {name: entry for entry in listed.entries.values() for name in reversed(entry.names)}
        beside = {_assets(name): entry for name, entry in known.items()}
        pictures = {name: beside[_folder(name)] for name in before if _folder(name) in beside}
        return pictures | known

    def _list(self, before: Mapping[str, str]) -> Manifest:
        try:
            return Manifest.read(self._run("cat-file", "blob", before[MANIFEST], most=_LARGEST))
        except KatodError as error:
            raise self._refusal(f"the list in the last commit {error.what}", "commit there yourself") from error

    def _gone(self, names: set[str], manifest: Manifest) -> set[str]:
        """Return which files of an earlier commit go: those that are not there, and of which katod knows nothing.

        One that its person changed, or that cannot be read, stays as it was committed.
        """
        return {name for name in names - manifest.names() if not os.path.lexists(self._root / name)}

    def _contents(
        self, manifest: Manifest, before: Mapping[str, str], known: Mapping[str, Entry]
    ) -> Iterator[tuple[str, Path | None]]:
        """Yield katod's files as it wrote them: None for one that the last commit has, else where it is."""
        is_same = _is_blob(read_small(self._root / MANIFEST, _LARGEST, own=True), before.get(MANIFEST, ""))
        yield MANIFEST, None if is_same else self._root / MANIFEST
        for entry in manifest.entries.values():
            if entry.name and not entry.edited:
                yield from self._content(entry, known.get(entry.name), before)
                yield from self._beside(entry, before)

    def _content(self, entry: Entry, old: Entry | None, before: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
        name = entry.name
        if name in before and old is not None and (old.name, old.digest) == (name, entry.digest):
            yield name, None
        elif _digest(self._root, entry.parts) == entry.digest:
            yield name, self._root / name

    def _beside(self, entry: Entry, before: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
        for picture in _pictures(self._root, _assets(entry.name)):
            if picture in before:
                yield picture, None
            elif _is_called_by_hash(self._root, picture):
                yield picture, self._root / picture

    def _not_ignored(self, new: dict[str, Path | None]) -> tuple[dict[str, Path | None], int]:
        """Return the files that the repository does not ignore, and how many it does. Raises GitError for the list."""
        names = [name for name, path in new.items() if path is not None]
        use = GitUse(_PATIENCE, literal=False)
        answer = run(self._root, "check-ignore", "-z", "--stdin", given=_listed(names), fails=True, use=use)
        ignored = set(filter(None, answer.decode("utf-8", "surrogateescape").split("\0")))
        if MANIFEST in ignored:
            raise self._refusal(f"it ignores {MANIFEST}, without which nobody can read the rest", "change .gitignore")
        return {name: path for name, path in new.items() if name not in ignored}, len(ignored)

    def _require_no_filter(self, names: Iterable[str]) -> None:
        """Raise GitError if a program would change what is committed: it would have to run, or be passed over."""
        arguments = ("check-attr", "-z", "--stdin", "filter")
        answer = run(self._root, *arguments, given=_listed(names), use=GitUse(_PATIENCE, attributes=True))
        rows = answer.decode("utf-8", "surrogateescape").split("\0")
        values = {value for value in rows[2::3] if value not in ("unspecified", "unset")}
        if values:
            what = f"its attributes set the filter {min(values)} for katod's files"
            raise self._refusal(what, "commit them yourself: katod runs no filters")

    # -- the commit ---------------------------------------------------------------------------------------

    @property
    def _draft(self) -> str:
        """The name of a commit that is not on its branch yet: of this folder, as others may be committed meanwhile."""
        return f"refs/worktree/katod/{blake2b(_encoded(self._tree.below), digest_size=8).hexdigest()}"

    def _drop_draft(self) -> None:
        run(self._root, "update-ref", "-d", self._draft, fails=True)

    def _import(self, change: _ChangedFiles, message: str) -> _DraftCommit:
        """Make the commit, on no branch yet. Raises GitError."""
        author, committer = (self._who(role) for role in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"))
        parent, ref = self._tip(), self._draft.encode()
        head = [b"commit ", ref, b"\nauthor ", author, b"\ncommitter ", committer, b"\n", _data(message.encode())]
        stream = [*head, b"from ", parent.encode(), b"\n"] if parent else head
        stream += [b"D " + _quoted(self._in_repository(name)) + b"\n" for name in sorted(change.gone)]
        self._run("fast-import", "--quiet", "--done", given=self._whole(stream, change))
        return _DraftCommit(self._run("rev-parse", self._draft).decode().strip(), parent)

    def _publish(self, branch: str, made: _DraftCommit, names: set[str]) -> None:
        """Move the branch to the commit. Raises GitError, also if the branch has moved meanwhile."""
        try:
            self._update_index(self._rows(made.name, names, len(made.name)))
        except GitError as error:
            raise self._refusal(f"git's index could not be updated: {error.what}", "run it again") from error
        ref = f"refs/heads/{branch}"
        try:  # an empty name says that there must be no such branch yet
            self._run("update-ref", "-m", "katod export", "--", ref, made.name, made.parent)
        except GitError as error:
            self._update_index(self._rows(self._tip(), names, len(made.name)))
            raise self._refusal(f"the branch could not be moved: {error.what}", "run it again") from error

    def _whole(self, head: list[bytes], change: _ChangedFiles) -> Iterator[bytes]:
        """Yield all that git is given, one file at a time: they may be large. Raises GitError if one was changed."""
        yield b"".join(head)
        for name, there in sorted(change.changed.items()):
            content, hashed = there if isinstance(there, bytes) else self._content_of(name), hasher()
            hashed.update(content)
            if name in change.digests and hashed.hexdigest() != change.digests[name]:
                raise self._refusal(f"{name} was changed meanwhile", "run it again")
            yield b"M " + _PLAIN + b" inline " + _quoted(self._in_repository(name)) + b"\n" + _data(content)
        yield b"done\n"

    def _content_of(self, name: str) -> bytes:
        try:
            with open_plain(OutputPath(self._root, tuple(name.split("/")))) as file:
                return file.read()
        except OutputUnreadable as error:
            raise self._refusal(f"{name} {error.what}", "run it again") from error

    def _who(self, role: str) -> bytes:
        try:
            return run(self._root, "var", role, use=GitUse(named=True)).strip()
        except GitFailed as error:
            raise self._refusal(
                "git does not know your name and e-mail address", "set user.name and user.email in git"
            ) from error

    def _rows(self, commit: str, names: Iterable[str], length: int) -> bytes:
        """Return what git's index is given to have these files as a commit has them, given the length of a hash."""
        now = self._committed(commit) if commit else {}
        rows = (
            b"%s %s\t%s" % (_PLAIN, now[name].encode(), _encoded(self._in_repository(name)))
            if name in now
            else b"0 " + b"0" * length + b"\t" + _encoded(self._in_repository(name))
            for name in sorted(names)
        )
        return b"".join(row + b"\0" for row in rows)

    def _update_index(self, rows: bytes) -> None:
        """Have git's index say this of some files: what else is staged stays so. Raises GitError."""
        run(self._tree.top, "update-index", "-z", "--index-info", given=rows, use=GitUse(_PATIENCE))

    def _in_repository(self, name: str) -> str:
        return f"{self._tree.below}/{name}" if self._tree.below else name

    def _run(self, *arguments: str, given: Given = b"", most: int = 0) -> bytes:
        return run(self._root, *arguments, given=given, use=GitUse(_PATIENCE), most=most)


def _found(there: Path, root: Path) -> _WorkTree:
    """Return where a folder is in its repository. Raises GitError if it is in none, or in one that is not its own."""
    try:
        answer = run(there, "rev-parse", "--show-toplevel", "--absolute-git-dir").decode("utf-8", "surrogateescape")
    except GitFailed as error:
        if "not a git repository" not in error.what:
            raise
        raise GitError(
            "is not in a git repository", path=root, hint="run `git init` there, or omit --commit"
        ) from error
    top, _, private = answer.rstrip("\n").partition("\n")
    place = Path(os.path.realpath(top))
    if not root.is_relative_to(place) or not _is_own(place / ".git", Path(private)):
        what = f"is in the work tree of a repository that is elsewhere, {private}, so nothing is committed"
        raise GitError(what, path=root, hint="commit there yourself")
    below = str(root.relative_to(place))
    return _WorkTree(place, Path(private), "" if below == "." else below)


def _is_own(mark: Path, private: Path) -> bool:
    """Return whether git's folder is in the work tree, or belongs to a work tree that it knows itself."""
    if mark.is_dir() and not mark.is_symlink():
        return mark.samefile(private)
    try:
        back = (private / "gitdir").read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return False
    return os.path.realpath(back) == os.path.realpath(mark)


def _digest(root: Path, parts: tuple[str, ...]) -> str:
    """Return the hash of a regular file of this user, empty for anything else."""
    try:
        with open_plain(OutputPath(root, parts)) as file:
            hashed = hasher()
            while data := file.read(1 << 20):
                hashed.update(data)
            return hashed.hexdigest()
    except (KatodError, OSError):
        return ""


def _pictures(root: Path, folder: str) -> Iterator[str]:
    """Yield the files beside an export that are called like pictures."""
    try:
        with os.scandir(root / folder) as found:
            names = [entry.name for entry in found if entry.is_file(follow_symlinks=False)]
    except OSError:
        return
    yield from (f"{folder}/{name}" for name in names if _PICTURE.fullmatch(name))


def _is_called_by_hash(root: Path, name: str) -> bool:
    """Return whether a file is a picture that katod saved: it has the beginning of its hash as its name."""
    try:
        with open_plain(OutputPath(root, tuple(name.split("/")))) as file:
            return sha256(file.read()).hexdigest().startswith(name.rpartition("/")[2].partition(".")[0])
    except (KatodError, OSError):
        return False


def _is_blob(content: bytes, name: str) -> bool:
    """Return whether git calls a content by this name."""
    whole = b"blob %d\0%s" % (len(content), content)
    made = sha256(whole) if len(name) == 64 else sha1(whole, usedforsecurity=False)
    return made.hexdigest() == name


def _assets(name: str) -> str:
    """Return the folder for the pictures of an export."""
    return f"{split_name(name)[0]}.assets"


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _listed(names: Iterable[str]) -> bytes:
    return b"".join(_encoded(name) + b"\0" for name in names)


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(name: str) -> bytes:
    """Return a path as git's import takes it."""
    return b'"' + _encoded(name).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
