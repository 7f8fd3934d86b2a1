"""Forgetting a session: deleting its transcripts on request, then all that the ledger has of it but tombstones."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from katod.discover.catalog import Catalog
from katod.discover.source import Source
from katod.errors import OutputError
from katod.model import signed
from katod.record.history import rest_of
from katod.record.outputfile import last_fingerprint, output_path
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, SessionRow
from katod.write.moved import find_moved
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
        """Return the transcripts that katod made, by the ids of their outputs: where they are, and why they would stay.

        The reason is empty for those that can be deleted, or are gone.
        """
        return {number: (place.path, why_not_removed(place)) for number, place in self.places().items()}

    def places(self) -> dict[int, OutputPath]:
        """Return where the transcripts are now, by the ids of their outputs; those that katod never made have none."""
        others = {row.path for row in self.others}
        return {row.id: _found(row, others) for row in self.outputs if row.ino}

    def folders(self) -> list[OutputPath]:
        """Return the folders beside the transcripts, without those of attachments that other sessions have, too."""
        shared = {row.path.parent / row.options.assets for row in self.others}
        beside = {
            place._replace(parts=(*place.parts[:-1], name))
            for row in self.outputs
            for name, place in (
                (row.options.assets, output_path(row)),
                (row.options.subagents_folder, output_path(row)),
            )
            if name
        }
        return sorted(place for place in beside if place.path not in shared)


def followed_by(sessions: Iterable[SessionRow], outputs: Iterable[OutputRow]) -> list[OutputRow]:
    """Take the ids of sessions out of the outputs that they followed; return those."""
    names = {str(row.key) for row in sessions}
    return [row._replace(successor="") for row in outputs if row.successor in names]


def delete_transcripts(remains: Remains) -> None:
    """Delete the transcripts that can be deleted, and the folders beside them."""
    for place in remains.places().values():
        with suppress(OutputError):
            remove_output(place)
    for place in remains.folders():
        with suppress(OutputError):
            remove_folder(place)
    for folder in {_folder_of(row) for row in remains.outputs if row.marker}:  # in the output directory, katod's own
        if folder.parts:
            with suppress(OutputError):
                remove_empty(folder)


def _found(row: OutputRow, others: Collection[Path]) -> OutputPath:
    """Return where a transcript is now: the same file, wherever the person moved it below the output directory."""
    place, known = output_path(row), last_fingerprint(row)
    if os.path.lexists(place.path):
        return place
    there = find_moved(place, known, row.intent or b"", [place._replace(parts=())] if row.marker else [])
    if there is None or there.path in others or signed(os.lstat(there.path).st_ino) != row.ino:
        return place
    return there


def _folder_of(row: OutputRow) -> OutputPath:
    """Return the folder of the project in which an output is."""
    place = output_path(row)
    return place._replace(parts=place.parts[:-1])


def bury(remains: Remains, ledger: Ledger, catalog: Catalog) -> list[Source]:
    """Delete all that the ledger has of these sessions, in one transaction; return the sources that were forgotten.

    Tombstones stay, and the ids of all commands: whatever comes back of the sources, nothing old in it acts. What tells
    copies of them stays as well, as hashes.
    """
    sources = [source for row in remains.sessions for source in catalog.of_session(row.id)]
    rests = [(source, rest_of(source)) for source in sources]
    tombstones = catalog.bury(rests)
    with ledger.transaction():
        ledger.forget(remains.sessions, tombstones)
        for row in followed_by(remains.sessions, remains.others):
            ledger.save_output(row)
        for _, rest in rests:
            ledger.add_applied([*rest.commands, *map(ledger.tombstones.mark, filter(None, rest.said))])
    catalog.forget(sources, tombstones)
    return sources
