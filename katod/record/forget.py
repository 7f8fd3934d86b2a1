"""Forgetting a session: deleting its transcripts on request, then all that the ledger has of it but tombstones."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from katod.discover.catalog import Catalog
from katod.discover.source import Source
from katod.errors import OutputError
from katod.record.history import rest_of
from katod.record.outputfile import output_path
from katod.record.reading import found_place, located
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, SessionRow
from katod.write.moved import MovedFiles
from katod.write.output import OutputPath
from katod.write.remove import remove_empty, remove_folder, remove_output, why_not_removed


class Remains(NamedTuple):
    """What the ledger has of a family of sessions: paths of sources, and outputs."""

    sessions: list[SessionRow]
    sources: list[str]
    outputs: list[OutputRow]
    others: list[OutputRow]  # those of all other sessions
    delivered: tuple[tuple[str, int], ...] = ()  # where to, and how much of these sessions

    @classmethod
    def of(cls, sessions: list[SessionRow], ledger: Ledger) -> "Remains":
        """Return the rows and files of these sessions."""
        numbers, outputs = {row.id for row in sessions}, ledger.outputs()
        return cls(
            sessions,
            [source.path for number in sorted(numbers) for source in ledger.sources_of(number)],
            [row for row in outputs if row.session in numbers],
            [row for row in outputs if row.session not in numbers],
            tuple(ledger.deliveries.destinations_of(numbers)),
        )

    @property
    def words(self) -> list[bytes]:
        """What a file contains that knows of them: the ids of sessions, the paths of sources and outputs."""
        names = {row.key.subagent or row.key.id for row in self.sessions} | {row.key.id for row in self.sessions}
        paths = {*self.sources, *(str(row.path) for row in self.outputs)}
        return [text.encode("utf-8", "surrogateescape") for text in names | paths]

    def transcripts(self) -> dict[int, tuple[Path, str]]:
        """Return the transcripts that are found, by the ids of their outputs: where, and why they cannot be deleted."""
        return {number: (place.path, why_not_removed(place)) for number, place in self.places().items()}

    def places(self) -> dict[int, OutputPath]:
        """Return where the transcripts are now, by the ids of their outputs; those that are not found have none."""
        moved = MovedFiles()
        found = {row.id: found_place(row, moved, surely=True) for row in self.outputs if row.ino}
        return {number: place for number, place in found.items() if place is not None}

    def folders(self) -> list[OutputPath]:
        """Return the folders beside the transcripts, without those of attachments that other sessions have, too.

        Those beside a transcript that was moved are where it was, and where it is.
        """
        others = (*self.others, *located(self.others))
        shared, found = {row.path.parent / row.options.assets for row in others}, self.places()
        beside = {
            place._replace(parts=(*place.parts[:-1], name))
            for row in self.outputs
            for place in {output_path(row), found.get(row.id, output_path(row))}
            for name in (row.options.assets, row.options.subagents_folder)
            if name
        }
        return sorted(place for place in beside if place.path not in shared)


def followed_by(sessions: Iterable[SessionRow], outputs: Iterable[OutputRow]) -> list[OutputRow]:
    """Take the ids of sessions out of the outputs that they followed; return those."""
    names = {str(row.key) for row in sessions}
    return [row._replace(successor="") for row in outputs if row.successor in names]


def delete_transcripts(remains: Remains) -> None:
    """Delete the transcripts that can be deleted, and the folders beside them."""
    folders = remains.folders()
    for place in remains.places().values():
        with suppress(OutputError):
            remove_output(place)
    for place in folders:
        with suppress(OutputError):
            remove_folder(place)
    for folder in {_folder_of(row) for row in remains.outputs if row.marker}:  # in the output directory, katod's own
        if folder.parts:
            with suppress(OutputError):
                remove_empty(folder)


def _folder_of(row: OutputRow) -> OutputPath:
    """Return the folder of the project in which an output is."""
    place = output_path(row)
    return place._replace(parts=place.parts[:-1])


def make_tombstones(remains: Remains, ledger: Ledger, catalog: Catalog) -> list[Source]:
    """Delete all that the ledger has of these sessions, in one transaction; return the sources that were forgotten.

    Tombstones stay, and the ids of all commands: whatever comes back of the sources, nothing old in it acts. What tells
    copies of them stays as well, as hashes.
    """
    sources = [source for row in remains.sessions for source in catalog.of_session(row.id)]
    rests = [(source, rest_of(source)) for source in sources]
    tombstones = catalog.make_tombstones(rests)
    with ledger.transaction():
        ledger.forget(remains.sessions, tombstones)
        for row in followed_by(remains.sessions, remains.others):
            ledger.save_output(row)
        for _, rest in rests:
            ledger.add_applied([*rest.commands, *map(ledger.tombstones.mark, filter(None, rest.said))])
    catalog.forget(sources, tombstones)
    return sources
