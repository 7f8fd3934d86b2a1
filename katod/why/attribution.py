"""Attributes lines of files to the edits that last wrote them, and says what explains these."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from katod.archive.parts import ArchivedSession
from katod.discover.found import FoundSession
from katod.edits.edits import Cause
from katod.store.ledger import Ledger
from katod.why.blame import Run, blame, runs
from katod.why.collect import EditCollector
from katod.why.explain import Explained
from katod.why.target import AskedFile, AskedLines


class AttributedFile(NamedTuple):
    """A file, and the runs of those of its lines that were asked about."""

    file: AskedFile
    runs: list[Run]


class LineReport(NamedTuple):
    """Files, what explains each edit by the id of its call, and what could not be read."""

    files: list[AttributedFile]
    explained: dict[str, Explained]
    problems: dict[str, str]

    def of(self, run: Run) -> Explained | None:
        """Return what explains the edit behind a run of lines, None if none is known."""
        return self.explained[run.origin.cause.call] if run.origin else None

    @property
    def runs(self) -> list[Run]:
        """All runs of all files."""
        return [run for file in self.files for run in file.runs]


def attribute(
    asked: Sequence[AskedLines],
    ledger: Ledger | None,
    sessions: Iterable[FoundSession],
    shared: Iterable[ArchivedSession] = (),
    *,
    everything: bool = True,
) -> LineReport:
    """Attribute lines to recorded edits, to those of these sessions, and of those that other machines share.

    Of these, all count, or only what was recorded. Raises SelectionError, GitError.
    """
    edits = EditCollector([one.file for one in asked], ledger)
    edits.recorded()
    edits.found(sessions)
    edits.shared(shared, everything=everything)
    files = []
    for number, one in enumerate(asked):
        rows = blame(one.file, edits.edits(number), edits.hasher)
        files.append(AttributedFile(one.file, list(runs(rows, one.numbers))))
    explained = edits.words.explained(_causes(files))
    return LineReport(files, explained, edits.problems | edits.words.problems)


def _causes(files: Iterable[AttributedFile]) -> list[Cause]:
    return [run.origin.cause for file in files for run in file.runs if run.origin is not None]
