"""Takes the rows of sessions out of the data sets that katod wrote."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from katod.archive.drop import copies_in
from katod.archive.machine import Machine
from katod.model import SessionKey
from katod.tables.address import S3, Partition, bucket_address
from katod.tables.dataset import ask_to_forget, is_forgotten, known_sets, opened_set
from katod.tables.update import Where, place_of, require_extra


class KnownRows(NamedTuple):
    """A data set that has rows of some sessions, as far as katod knows."""

    address: str
    sessions: list[SessionKey]


def known_rows(state: Path, wanted: Callable[[SessionKey], bool]) -> list[KnownRows]:
    """Return the data sets that have rows of the sessions that are wanted. Nothing is changed."""
    found = ((address, copies_in(root, wanted)) for address, root in known_sets(state))
    rows = (KnownRows(address, [one.slot[0] for one in entries if one.name]) for address, entries in found)
    return [one for one in rows if one.sessions]


def drop_rows(state: Path, machine: Machine, rows: KnownRows) -> None:
    """Write the partitions of these sessions again without their rows.

    First it is noted that they have to go: what fails now is done by the next export. Raises KatodError or OSError.
    """
    ask_to_forget(state, rows.address, rows.sessions)
    with opened_set(state, rows.address, machine) as data:
        require_extra()
        place = place_of(_where(rows.address), data)
        from katod.tables.partitions import PartitionWriter  # noqa: PLC0415 - loads pyarrow

        writer = PartitionWriter(data, place)
        gone = [entry for entry in data.sessions() if is_forgotten(entry)]
        for name in sorted({entry.name for entry in gone}):
            writer.drop(Partition.named(name), [entry for entry in gone if entry.name == name])
        data.save()


def _where(address: str) -> Where:
    return bucket_address(address) if address.startswith(S3) else Path(address)
