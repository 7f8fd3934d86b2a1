"""Puts a saved session back where its agent looks for it: new files only, and what is in them is history to katod."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from katod import durable
from katod.discover.roots import Root
from katod.errors import RescueError, TargetRefused
from katod.rescue.copyfile import About, SavedFile, members, pieces
from katod.rescue.names import place_of
from katod.write.safe import make_root, open_parent

_DRAFT: Final = ".katod-part"
Expect = Callable[[Path, int], None]


def put_back(folder: Path, about: About, roots: Iterable[Root], now: str, expect: Expect) -> list[Path]:
    """Create the files of a saved session; return the paths of the session's own, with today's time.

    `expect` gets the path and the size of each source before its file appears. Nothing is replaced: a file beside the
    session that exists by now stays as it is. Raises RescueError if the agent still has the session, if it is
    damaged, or if its place is no longer one of the agent's; then nothing is left of this try. Raises OSError.
    """
    own = about.own_files
    for file in own:
        if os.path.lexists(file.path):
            hint = f"`katod resume {about.key.id}` goes on with it; to put back the copy, move this file away"
            raise RescueError("the agent still has this session", path=file.path, hint=hint)
    beside = [file for file in about.files if file not in own and not os.path.lexists(file.path)]
    made: list[Path] = []
    try:
        with members(place_of(folder, about.key)) as (_, archive):
            for file in (*beside, *own):  # it is there for the agent when all else is
                root = _root_of(file, about, roots)
                _create(archive, file, root, now if file in own else "", expect)
                made.append(Path(file.path))
    except BaseException:
        for path in made:
            with suppress(OSError):
                durable.remove(path)
        raise
    return [Path(file.path) for file in own]


def _root_of(file: SavedFile, about: About, roots: Iterable[Root]) -> Root:
    own = (root for root in roots if root.agent == about.key.agent)
    found = next((root for root in own if file.path.startswith(root.prefix)), None)
    if found is None or ".." in Path(file.path).parts:
        hint = "set `agents.<name>.roots` to the directory that it was in"
        raise RescueError("is in none of the agent's directories", path=file.path, hint=hint)
    return found


def _create(archive: ZipFile, file: SavedFile, root: Root, now: str, expect: Expect) -> None:
    """Create one file, under another name until it is complete. Raises RescueError, OSError."""
    make_root(root.path)
    parts = Path(file.path).relative_to(root.path).parts
    draft = f".{parts[-1]}{_DRAFT}"
    try:
        with open_parent(root.path, parts, make=True) as parent:
            durable.remove(draft, folder=parent, missing_ok=True)
            try:
                size = _write(
                    archive, file, durable.create(draft, os.O_WRONLY, 0o600, folder=parent), _end(file, root, now)
                )
                if root.spec.identify(Path(file.path)) is not None:
                    expect(Path(file.path), size)
                durable.link(draft, parts[-1], folder=parent)  # fails if anything is there
                durable.sync_names(parent)
            finally:
                durable.remove(draft, folder=parent)
    except TargetRefused as error:
        hint = (
            "a copy is never put back through a link: take the file from its archive, which `katod rescue --json` names"
        )
        raise RescueError(error.what, path=file.path, hint=hint) from error


def _end(file: SavedFile, root: Root, now: str) -> bytes:
    return root.spec.put_back(Path(file.path), now) if now else b""


def _write(archive: ZipFile, file: SavedFile, fd: int, end: bytes) -> int:
    """Write a file with a line at its end; return its size."""
    last = b"\n"
    with os.fdopen(fd, "wb") as target:
        for piece in pieces(archive, file.name):
            target.write(piece)
            last = piece[-1:]
        target.write((b"" if last == b"\n" or not end else b"\n") + end)
        target.flush()
        durable.sync(target.fileno())
        return target.tell()
