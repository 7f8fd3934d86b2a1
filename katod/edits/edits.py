"""Edits: what a call did to a file, with the file as hashed lines, and what the call was made for. Pure."""

import ntpath
import posixpath
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from katod.edits.lines import HashedLine, LineHasher
from katod.edits.textchanges import TextChange, text_changes
from katod.edits.tracker import EditingCall
from katod.model import LONGEST_NAME, SessionKey
from katod.paths import is_windows

_MOST_FILES: Final = 100  # of one call
_DEEPEST: Final = 64  # directories above a file


class LineChange(NamedTuple):
    """Lines that were replaced by others; the first and the last one may lack their beginning and their end.

    If it `is_whole`, the new lines are all of the file. Otherwise, without old lines, it is unknown where they are.
    """

    old: tuple[HashedLine, ...]
    new: tuple[HashedLine, ...]
    everywhere: bool = False
    is_whole: bool = False


class Cause(NamedTuple):
    """What led to an edit: its session, and the ids of events: the call, the prompt, and what the agent said before it.

    `time` is when the call was made, and `model` whose it is. A text is empty if there is none, or it is not recorded.
    """

    session: SessionKey
    call: str
    prompt: str
    answer: str
    time: str
    model: str = ""


class Edit(NamedTuple):
    """What one call did to one file, and in which work tree: empty for the one that is asked about.

    It is not certain if that may have been a folder of another repository that has its name.
    """

    cause: Cause
    changes: tuple[LineChange, ...]
    tree: str = ""
    is_certain: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the call wrote the whole file."""
        return any(change.is_whole for change in self.changes)


def edits_of(call: EditingCall, session: SessionKey, hasher: LineHasher) -> Iterator[tuple[str, Edit]]:
    """Yield the edits of a call, each with the whole path of its file; not of paths that no file has."""
    event = call.event
    cause = Cause(session, event.id, call.prompt, call.answer, _short(call.time), _short(event.model))
    for path, changes in islice(text_changes(event.payload).items(), _MOST_FILES):
        place = whole_path(path, call.cwd)
        if _short(place) and place.count("/") <= _DEEPEST:
            yield place, Edit(cause, tuple(_hashed(change, hasher) for change in changes))


def _short(text: str) -> str:
    """Return a text, or an empty one if it is too long to be kept."""
    return text if len(text) <= LONGEST_NAME else ""


def _hashed(change: TextChange, hasher: LineHasher) -> LineChange:
    old = () if change.old is None else hasher.lines(change.old)
    return LineChange(old, hasher.lines(change.new), change.everywhere, change.old is None)


def whole_path(path: str, cwd: str) -> str:
    """Return a path with the directory that it is relative to, with slashes."""
    if is_windows(cwd) or is_windows(path):
        return ntpath.normpath(ntpath.join(cwd, path)).replace("\\", "/")
    return posixpath.normpath(posixpath.join(cwd, path))


def ends_of(path: str) -> Iterator[str]:
    """Yield a path, and each end of it that begins with a name."""
    yield path
    at = path.find("/")
    while at >= 0:
        yield path[at + 1 :]
        at = path.find("/", at + 1)
