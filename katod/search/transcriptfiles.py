"""Finds the transcripts that are searched: of recordings, in a folder of the user, and of other machines."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from katod.archive.parts import ArchivedSession
from katod.formatspec import format_of
from katod.model import SessionKey, changed_ns
from katod.record.reading import opened
from katod.store.rows import OutputRow
from katod.write.output import OutputPath
from katod.write.reading import open_plain


class TranscriptFile(NamedTuple):
    """A file that katod may have written, when it last changed (ns), and what opens it; raises OutputUnreadable.

    `key` is that of its session, if the ledger knows it: pages of HTML do not name it.
    """

    path: Path
    changed_ns: int
    open: Callable[[], BufferedReader]
    key: SessionKey | None = None


def transcripts_below(root: Path) -> Iterator[TranscriptFile]:
    """Yield the files below a folder that may be transcripts; links are not followed, hidden files are left out."""
    yield from _below(root, root)


def _below(folder: Path, root: Path) -> Iterator[TranscriptFile]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return
    for entry in found:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _below(path, root)
        elif format_of(entry.name) is not None and entry.is_file(follow_symlinks=False):
            yield from _existing(path, partial(open_plain, OutputPath(root, path.relative_to(root).parts)))


def existing(rows: Iterable[OutputRow]) -> Iterator[TranscriptFile]:
    """Yield the outputs that exist, whether or not they can be read; in a form for machines, words are not found."""
    for row in rows:
        yield from _existing(row.path, partial(opened, row), SessionKey(*row.head["key"]) if row.head else None)


def shared_file(found: ArchivedSession) -> TranscriptFile:
    """Return the file that shows best a session that another machine shares."""
    return TranscriptFile(found.path, found.changed_ns, found.open)


def _existing(
    path: Path, opens: Callable[[], BufferedReader], key: SessionKey | None = None
) -> Iterator[TranscriptFile]:
    spec = format_of(path.name)
    if spec is None or spec.in_chat:
        with suppress(OSError):
            yield TranscriptFile(path, changed_ns(path.lstat()), opens, key)
