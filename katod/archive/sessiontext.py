"""The text of a session's export, read and rendered here, or before its turn in another process. Loads formats."""

from collections.abc import Callable, Iterator
from copy import copy
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple, Protocol

from katod.archive.manifest import RecordedParts
from katod.archive.plan import Task
from katod.archive.recordedtally import KnownParts, RecordedTally
from katod.archive.tally import ExportedTexts, PrintedParts, TextTally
from katod.formats.text.linkbase import is_address
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Options, Target
from katod.processes import Done
from katod.record.export import (
    Begun,
    Stretch,
    Tally,
    for_export,
    linking_from,
    look_ahead,
    picture_folder,
    picture_saver,
    render,
    replay,
)
from katod.record.spawned import spawner_of

_PIECE: Final = 256 * 1024  # bytes


class Said(NamedTuple):
    """What was said in a session, known once its text was read: `text` is a short hash of each message."""

    text: str
    cwd: str
    parent: str
    recorded: RecordedParts
    is_spoken: bool
    is_unknown: bool  # some of it is kept raw
    problem: str


class SessionText(Protocol):
    """A session to be exported: its metadata as far as they name it, its text, and what was said once that was read."""

    @property
    def metadata(self) -> SessionMetadata:
        """What is known after its first events."""

    def text(self, target: Target, *, saving: bool) -> Iterator[bytes]:
        """Yield the text of its export to a target, and save its pictures."""

    def said(self) -> Said:
        """Return what was said."""


class Rendering:
    """Renders sessions in one format, with the same options."""

    def __init__(self, form: str, options: Options) -> None:
        self._form = form
        self._options = options

    def begin(self, task: Task) -> "ReadText | None":
        """Begin to read a session; None if there is nothing in it. Raises KatodError or OSError."""
        shown = PrintedParts.by(self._form, self._options)
        tally, said = Tally(), TextTally(task.found.key, shown)
        recorded = RecordedTally(task.found.outputs, task.found.unread, _known(task), said.provisional)
        stretches = [Stretch(path, identity) for path, identity, _ in task.found.files]
        events = replay(task.found.key, stretches, EventLog(), said=task.found.said, provisional=said.provisional)
        begun = look_ahead(recorded.over(said.over(tally.over(events))))
        return ReadText(self, begun, tally, said, recorded) if begun else None

    @property
    def is_the_same_anywhere(self) -> bool:
        """Whether a text without pictures does not depend on where it is written."""
        return not self._options.base or is_address(self._options.base)

    def text(self, begun: Begun, target: Target, *, saving: bool) -> Iterator[bytes]:
        """Yield the text of an export, and save its pictures."""
        folder = picture_folder(target.path.name, self._form, self._options)
        options = for_export(linking_from(self._options, target.path.parent), self._form, folder)
        save = picture_saver(target.root, target.parts, folder) if folder and saving else _save_nothing
        return self._pieces(begun, options, save)

    def text_anywhere(self, begun: Begun) -> Iterator[bytes]:
        """Yield the text of an export, wherever it will be. Raises `HasPicture` if it has one."""
        folder = picture_folder("x", self._form, self._options)
        return self._pieces(begun, for_export(self._options, self._form, folder), _refuse_pictures)

    def _pieces(self, begun: Begun, options: Options, save: Callable[[str, str], None]) -> Iterator[bytes]:
        for piece in render(begun, self._form, options, save):
            yield piece.encode("utf-8", "replace")


def _known(task: Task) -> KnownParts:
    """Return what the list says of the last export of a session: what is marked there, and what was said in it."""
    entry = task.entry
    if entry is None or not entry.recorded.parts:
        return (), None
    return entry.recorded.parts, ExportedTexts(task.found.key, entry.said)


class ReadText:
    """A session that is read here."""

    def __init__(
        self, rendering: Rendering, begun: Begun, tally: Tally, said: TextTally, recorded: RecordedTally
    ) -> None:
        self._rendering = rendering
        self._begun = begun
        self._tally = tally
        self._said = said
        self._recorded = recorded

    @property
    def metadata(self) -> SessionMetadata:
        """What is known so far."""
        return self._begun.metadata

    def text(self, target: Target, *, saving: bool) -> Iterator[bytes]:
        """Yield the text of its export to a target, and save its pictures."""
        return self._rendering.text(self._begun, target, saving=saving)

    def said(self) -> Said:
        """Return what was said so far."""
        tally = self._tally
        said, start, recorded = self._said.text, self.metadata.start, self._recorded.recorded
        parent = spawner_of(start)
        return Said(said, start.cwd, parent, recorded, tally.spoken > 0, tally.unknown > 0, tally.problem)

    def spooled(self) -> "Done[tuple[SessionMetadata, Said]] | None":
        """Return all of it, read to its end, for another process; None if its text depends on where it is written."""
        early, file = copy(self.metadata), TemporaryFile()  # noqa: SIM115 - whoever takes it closes it
        try:
            for data in self._rendering.text_anywhere(self._begun):
                file.write(data)
        except HasPicture:
            file.close()
            return None
        file.seek(0)
        return Done((early, self.said()), file)


class SpooledSession:
    """A session that another process has read."""

    def __init__(self, metadata: SessionMetadata, said: Said, file: IO[bytes]) -> None:
        self.metadata = metadata
        self._said = said
        self._file = file

    def text(self, _target: Target, *, saving: bool) -> Iterator[bytes]:  # noqa: ARG002 - it has no pictures
        """Yield the text of its export."""
        self._file.seek(0)
        while data := self._file.read(_PIECE):
            yield data

    def said(self) -> Said:
        """Return what was said."""
        return self._said


class HasPicture(Exception):
    """A text has a picture, which is saved beside it."""


def _save_nothing(_media: str, _data: str) -> None:
    pass


def _refuse_pictures(_media: str, _data: str) -> None:
    raise HasPicture
