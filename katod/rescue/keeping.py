"""What a new copy of a session takes over from the older one: no more than is needed for nothing to be lost."""

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

from katod.errors import RescueError
from katod.rescue.copyfile import BROKEN, CopyWriter, SavedFile, members, pieces, records
from katod.rescue.folder import LARGEST, MOST_FILES
from katod.tail.decode import loads

_IDS: Final = ("uuid", "id")  # what records are called, in the formats of the agents that delete sessions


class KeptFile(NamedTuple):
    """What a new copy takes over from the older one: its name there, the file in the new one, whether it `is_earlier`.

    The agent has deleted the file since, or has less of it (see `About`).
    """

    name: str
    file: SavedFile
    is_earlier: bool


class Move(NamedTuple):
    """A folder that may have been renamed: its old and new path, and the names of a file of the session in both copies.

    It was if that file begins in the new copy with all that it has in the older one. Or else, as it may have been cut
    or rewritten since, if it begins with the same record and the old folder is gone; in another root, where it may also
    be a copy with which another client went on, only if not each of the files has records that the other one lacks.
    While the old folder is there, both may be copies within a root, too: then it was moved only if it has all records.
    """

    old: str
    new: str
    name: str
    new_name: str
    is_old_gone: bool
    changes_root: bool


class TakenOver(NamedTuple):
    """What was taken over, and whether the older copy had all of it undamaged."""

    files: list[KeptFile]
    is_whole: bool


def moved_folders(moves: Collection[Move], place: Path, writer: CopyWriter) -> Generator[None, None, dict[str, str]]:
    """Return the folders that were renamed, by their old paths. Of a damaged older copy, none may be known.

    Raises OSError.
    """
    found: dict[str, str] = {}
    if not moves:
        return found
    with suppress(RescueError, FileNotFoundError), members(place) as (_, archive):
        for is_same in (_has_all, _begins_alike):
            for move in moves:
                with suppress(*BROKEN):
                    if move.old not in found and (yield from is_same(move, archive, writer.archive)):
                        found[move.old] = move.new
    return found


def _has_all(move: Move, older: ZipFile, new: ZipFile) -> Generator[None, None, bool]:
    return (yield from _begins_with(pieces(new, move.new_name), pieces(older, move.name)))


def _begins_alike(move: Move, older: ZipFile, new: ZipFile) -> Generator[None, None, bool]:
    """Compare the first records that have ids: what a session says elsewhere has ids of its own.

    Another root, or a folder beside the old one, may be a copy of it, in which a session went on by itself.
    """
    if move.changes_root and not move.is_old_gone:
        return False
    first = yield from _first_id(older, move.name)
    if not first or first != (yield from _first_id(new, move.new_name)):
        return False
    if move.is_old_gone and not move.changes_root:
        return True
    before = yield from _all_ids(older, move.name)
    after = yield from _all_ids(new, move.new_name)
    return before <= after or (move.is_old_gone and after <= before)


def _first_id(archive: ZipFile, name: str) -> Generator[None, None, str]:
    """Return the first id of a record: a line, or a message of a document; empty if there is none."""
    for data in records(archive, name):
        if found := next(_ids(data), ""):
            return found
        yield
    return ""


def _all_ids(archive: ZipFile, name: str) -> Generator[None, None, set[str]]:
    found: set[str] = set()
    for data in records(archive, name):
        found.update(_ids(data))
        yield
    return found


def _ids(data: bytes) -> Iterator[str]:
    """Yield the ids of a record, or of the messages of a document."""
    with suppress(ValueError):
        value = loads(data)
        messages = value.get("messages") if isinstance(value, dict) else None
        for record in (value, *(messages if isinstance(messages, list) else ())):
            if isinstance(record, dict):
                yield from (found for key in _IDS if isinstance(found := record.get(key), str) and found)


def keep_files(wanted: Collection[KeptFile], place: Path, writer: CopyWriter) -> Generator[None, None, TakenOver]:
    """Take over what is wanted of the older copy, step by step, as far as it is not damaged.

    What a file had earlier is left out if another file of its name begins with all of that: the new one, as it was put
    back, or what is kept from before another cut. The rest is kept within bounds, what has most first. Raises
    RescueError if the older copy is damaged meanwhile, OSError.
    """
    whole = yield from _undamaged(wanted, place)
    there = [kept for kept in wanted if kept.name in whole]
    files = [kept for kept in there if not kept.is_earlier]
    if there:
        with members(place) as (_, archive):
            files += yield from _needed([kept for kept in there if kept.is_earlier], archive, writer.archive)
            for kept in files:
                with writer.member(kept.file.name) as member:
                    for piece in pieces(archive, kept.name):
                        member.write(piece)
                        yield
    return TakenOver(files, len(there) == len(wanted))


def _undamaged(wanted: Collection[KeptFile], place: Path) -> Generator[None, None, set[str]]:
    """Return the names of the files that can be read to their ends: so nothing is in the new copy by half."""
    whole: set[str] = set()
    if not wanted:
        return whole
    with suppress(RescueError, FileNotFoundError), members(place) as (_, archive):
        for kept in wanted:
            with suppress(*BROKEN):
                for _ in pieces(archive, kept.name):
                    yield
                whole.add(kept.name)
    return whole


def _needed(earlier: Iterable[KeptFile], archive: ZipFile, new: ZipFile) -> Generator[None, None, list[KeptFile]]:
    """Return those of which no other file has all, what has most first, until they are too many or too much."""
    needed: list[KeptFile] = []
    total = 0
    for kept in sorted(earlier, key=lambda kept: _size(archive, kept.name), reverse=True):
        yield
        size = _size(archive, kept.name)
        if total + size > LARGEST or len(needed) == MOST_FILES:
            continue
        if not (yield from _is_elsewhere(kept, archive, needed, new)):
            needed.append(kept)
            total += size
    return needed


def _is_elsewhere(
    kept: KeptFile, archive: ZipFile, needed: Iterable[KeptFile], new: ZipFile
) -> Generator[None, None, bool]:
    """Return whether a file of the same name in the new copy, or one that is kept, begins with all that this one has.

    Copies are compared with copies: in each, secrets are replaced.
    """
    end, size = f"/{Path(kept.file.name).name}", _size(archive, kept.name)
    others = [(archive, other.name) for other in needed if other.file.name.endswith(end)]
    others += [(new, name) for name in new.namelist() if name.endswith(end)]
    for of, name in others:
        if _size(of, name) >= size and (yield from _begins_with(pieces(of, name), pieces(archive, kept.name))):
            return True
    return False


def _size(archive: ZipFile, name: str) -> int:
    return archive.getinfo(name).file_size


def _begins_with(longer: Iterator[bytes], shorter: Iterator[bytes]) -> Generator[None, None, bool]:
    """Compare two files, whose pieces have the same size but for the last one."""
    for piece in shorter:
        if not next(longer, b"").startswith(piece):
            return False
        yield
    return True
