"""Puts a saved session back where its agent looks for it: new files only, and what is in them is history to katod."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from katod import durable
from katod.discover.roots import Root
from katod.errors import RescueError, TargetRefused, hint_for, safe_message
from katod.rescue.copyfile import About, SavedFile, locked, members, pieces
from katod.rescue.names import place_of
from katod.write.safe import make_root, open_parent

_DRAFT: Final = ".katod-part"
Expect = Callable[[Path, int], None]


def put_back(folder: Path, about: About, roots: Sequence[Root], now: str, expect: Expect) -> list[Path]:
    """Create the files of a saved session; return the paths of the session's own, with today's time.

    `expect` gets the path and the size of each source before its file appears, and may raise RescueError. Nothing is
    replaced: a file beside the session that exists by now stays as it is. Raises RescueError if the agent still has the
    session, if it is damaged, if its place is no longer one of the agent's, or if another process puts it back now;
    then nothing is left of this try, nor of an earlier one that was killed. Raises OSError.
    """
    place = place_of(folder, about.key)
    with locked(place):
        remove_drafts(about, roots)
        own = about.own_files
        _require_gone(own, about)
        beside = [file for file in about.files if file not in own and not os.path.lexists(file.path)]
        _make_all(place, about, [(file, "") for file in beside] + [(file, now) for file in own], roots, expect)
    return [Path(file.path) for file in own]


def _require_gone(own: Iterable[SavedFile], about: About) -> None:
    for file in own:
        if os.path.lexists(file.path):
            hint = f"`katod resume {about.key.id}` goes on with it; to put back the copy, move this file away"
            raise RescueError("the agent still has this session", path=file.path, hint=hint)


def _make_all(
    place: Path, about: About, wanted: Iterable[tuple[SavedFile, str]], roots: Sequence[Root], expect: Expect
) -> None:
    """Create files in this order: the session's own last, so that it is there for the agent when all else is."""
    made: list[Path] = []
    try:
        with members(place) as (_, archive):
            for file, now in wanted:
                _create(archive, file, _root_of(file, about, roots), now, expect)
                made.append(Path(file.path))
    except BaseException:
        for path in made:
            with suppress(OSError):
                durable.remove(path)
        raise


def remove_drafts(about: About, roots: Sequence[Root]) -> None:
    """Remove what was left in the agent's folders when katod was killed while it put a copy back. Raises OSError.

    While the copy is not `locked`, this ends another process that does so now: it removes what it made.
    """
    for file in about.files:
        if (root := _found_root(file, about, roots)) is not None:
            parts = Path(file.path).relative_to(root.path).parts
            with suppress(FileNotFoundError, TargetRefused), open_parent(root.path, parts, make=False) as parent:
                durable.remove(_draft_of(parts), folder=parent)


def _draft_of(parts: tuple[str, ...]) -> str:
    return f".{parts[-1]}{_DRAFT}"


def _found_root(file: SavedFile, about: About, roots: Iterable[Root]) -> Root | None:
    own = (root for root in roots if root.agent == about.key.agent and ".." not in Path(file.path).parts)
    return next((root for root in own if file.path.startswith(root.prefix)), None)


def _root_of(file: SavedFile, about: About, roots: Iterable[Root]) -> Root:
    found = _found_root(file, about, roots)
    if found is None:
        hint = "set `agents.<name>.roots` to the directory that it was in"
        raise RescueError("is in none of the agent's directories", path=file.path, hint=hint)
    return found


def _create(archive: ZipFile, file: SavedFile, root: Root, now: str, expect: Expect) -> None:
    """Create one file, under another name until it is complete. Raises RescueError."""
    make_root(root.path)
    parts = Path(file.path).relative_to(root.path).parts
    draft = _draft_of(parts)
    try:
        with open_parent(root.path, parts, make=True) as parent:
            try:
                size = _write(
                    archive, file, durable.create(draft, os.O_WRONLY, 0o600, folder=parent), _end(file, root, now)
                )
                if root.spec.identify(Path(file.path)) is not None:
                    expect(Path(file.path), size)
                _give_name(draft, file, parent)
            finally:
                durable.remove(draft, folder=parent, missing_ok=True)
    except OSError as error:
        what = f"cannot be written, so nothing was put back: {safe_message(error)}"
        raise RescueError(what, path=file.path, hint=hint_for(error)) from error
    except TargetRefused as error:
        hint = (
            "a copy is never put back through a link: take the file from its archive, which `katod rescue --json` names"
        )
        raise RescueError(error.what, path=file.path, hint=hint) from error


def _give_name(draft: str, file: SavedFile, parent: int) -> None:
    try:
        durable.link(draft, Path(file.path).name, folder=parent)  # fails if anything is there
    except FileNotFoundError as error:
        what = "its draft was removed before it was complete: the session was forgotten meanwhile"
        raise RescueError(what, path=file.path, hint="`katod rescue` lists what is still saved") from error
    durable.sync_names(parent)


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
