"""What to do for each session, given its entry in the manifest and the state of its file. Pure."""

from hashlib import blake2b
from typing import Literal, NamedTuple

from katod.archive.manifest import Entry, Slot, Sources
from katod.discover.found import FoundSession
from katod.write.whole import FileStamp

# `older`: a run was killed before it gave the new file its name.
State = Literal["same", "older", "gone", "edited"]
# `beside`: written to another file, because the present one has more than is left of the session.
Step = Literal["keep", "write", "replace", "leave", "beside", "exclude"]
Outcome = Literal["wrote", "updated", "unchanged", "empty", "excluded", "left alone", "failed", "removed"]


class FileLook(NamedTuple):
    """The state of a file, and what a stat says of it."""

    state: State
    stamp: FileStamp | None


class Task(NamedTuple):
    """One session that has to be exported."""

    found: FoundSession
    slot: Slot
    sources: Sources
    made: str
    step: Step
    entry: Entry | None = None  # what was noted of it
    look: FileLook = FileLook("gone", None)

    @property
    def name(self) -> str:
        """The name that its file keeps, empty for a new one."""
        return self.entry.name if self.entry is not None and self.step != "beside" else ""

    @property
    def present(self) -> str:
        """The hash of the file that has this name, empty if there is none."""
        if self.entry is None or self.look.state == "gone":
            return ""
        return self.entry.before if self.look.state == "older" else self.entry.digest


def decide(entry: Entry, sources: Sources, made: str, state: State) -> Step:
    """Return what is to do for a session of which a file was made.

    A file that is gone is written again: so it is a way to have a changed one replaced. Whether a session has less than
    its file, and is written `beside` it, is known only once it has been read.
    """
    if state == "edited":
        return "leave"
    if state == "gone":
        return "write"
    if state == "same" and (is_current(entry, sources, made) or _is_rest(sources, entry.sources)):
        return "keep"
    return "replace"


def empty(task: Task) -> Entry:
    """Return what is noted of a session of which no file was made: neither its files nor its project are named."""
    return Entry(task.slot, _mark(task.made, task.sources))


def is_known_empty(entry: Entry, sources: Sources, made: str) -> bool:
    """Return whether nothing was in a session, and nothing has changed since."""
    return entry.made == _mark(made, sources)


def _mark(made: str, sources: Sources) -> str:
    return blake2b(repr((made, sources)).encode("utf-8", "replace"), digest_size=8).hexdigest()


def is_current(entry: Entry, sources: Sources, made: str) -> bool:
    """Return whether a session is as it was when the entry was noted, and would be exported in the same way.

    An earlier version of katod did not note which recordings a mark is of: then it is to be read again.
    """
    is_named = bool(entry.recorded.of) or not entry.recorded.parts
    return entry.made == made and entry.sources == sources and is_named


def _is_rest(sources: Sources, before: Sources | tuple[()]) -> bool:
    """Return whether some of the files of a session were deleted, and nothing else happened: all is in the export."""
    return len(sources) < len(before) and all(source in before for source in sources)
