"""Reads a recording's output. Everything that shows one, or compares it, opens it here (`write.reading`)."""

from collections.abc import Iterable
from functools import partial
from io import BufferedReader, TextIOWrapper

from katod.errors import OutputError, OutputUnreadable
from katod.record.outputfile import compared, last_fingerprint, names_session, output_path
from katod.store.rows import OutputRow
from katod.write.moved import MovedFiles, is_at
from katod.write.output import ABSENT, OutputPath, has_words_of
from katod.write.reading import open_output


def opened(row: OutputRow) -> BufferedReader:
    """Return the output of a recording, open for reading. Raises OutputUnreadable with the reason."""
    return open_output(output_path(row), last_fingerprint(row), partial(names_session, row))


def located(rows: Iterable[OutputRow]) -> list[OutputRow]:
    """Return outputs with the paths where their files are now; those whose files are nowhere as they are.

    A recording follows its file when it writes to it: one that has ended does not. Nothing is changed. Each
    directory is listed once for all of them.
    """
    moved = MovedFiles()
    return [_located(row, moved) if row.ino else row for row in rows]


def _located(row: OutputRow, moved: MovedFiles) -> OutputRow:
    place = found_place(row, moved)
    return row if place is None else row._replace(root=place.root, path=place.path)


def content_of(row: OutputRow) -> bytes:
    """Return all that is in the output of a recording. Raises OutputUnreadable with the reason."""
    try:
        with opened(row) as file:
            return file.read()
    except OSError as error:
        raise OutputUnreadable(f"cannot be read: {error.strerror}", path=row.path) from error


def opened_text(row: OutputRow) -> TextIOWrapper:
    """Return the same as text."""
    return TextIOWrapper(opened(row), encoding="utf-8", errors="replace")


def found_place(row: OutputRow, moved: MovedFiles, *, surely: bool = False) -> OutputPath | None:
    """Return where the file of an output is now, None if it is nowhere.

    It is looked for in its folder, and below the output directory if it is there. A place that cannot be looked at is
    the one where it was. To be told `surely` from another file that uses its inode again, each file is read.
    """
    place, known = output_path(row), last_fingerprint(row)
    try:
        if surely:
            is_there = has_words_of(place, known, partial(names_session, row))
        else:
            is_there = is_at(place, row.ino) or compared(row).change not in ABSENT
    except FileNotFoundError:
        is_there = False
    except OutputError:
        return place
    return place if is_there else moved.find(place, known, row.intent or b"", deep=bool(row.marker))


def has_its_file(row: OutputRow) -> bool:
    """Return whether the file with the path of an output is it, by what is in the file."""
    place = found_place(row, MovedFiles(), surely=True)
    return place is not None and place.path == row.path
