"""Takes the rows of sessions out of the data sets that katod wrote."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from katod.agents import AGENTS
from katod.archive.drop import copies_in
from katod.archive.machine import Machine
from katod.archive.update import line_of
from katod.errors import KatodError
from katod.model import SessionKey
from katod.tables.address import S3, bucket_address
from katod.tables.dataset import DataSet, is_forgotten, is_list_damaged, known_sets, opened_set
from katod.tables.place import DirectoryPlace
from katod.tables.update import Where, place_of, require_extra

if TYPE_CHECKING:
    from katod.tables.partitions import PartitionWriter

DAMAGED_REQUEST: Final = "this request to forget a session is damaged: forget the session again, and delete the file"


def sets_with(state: Path, wanted: Callable[[SessionKey], bool]) -> list[str]:
    """Return the addresses of the data sets that have rows of the sessions that are wanted, as far as katod knows.

    Nothing is changed. An export that is running may add some.
    """
    return [address for address, root in known_sets(state) if any(entry.name for entry in copies_in(root, wanted))]


def known_sessions(state: Path) -> dict[SessionKey, str]:
    """Return the sessions of which some data set has rows, as far as katod knows, and which sessions started them."""
    entries = (one for _, root in known_sets(state) for one in copies_in(root, lambda key: key.agent in AGENTS))
    return {entry.slot[0]: entry.parent for entry in entries if entry.name}


def incomplete_sets(state: Path) -> list[str]:
    """Return the addresses of the data sets of which katod does not know what sessions they have."""
    return [address for address, root in known_sets(state) if is_list_damaged(root)]


def drop_rows(state: Path, machine: Machine, address: str) -> list[str]:
    """Write the partitions of the sessions again that were asked to be forgotten, without their rows; return notes.

    What fails now is done by the next export. Of a data set that was deleted, only the list goes. Raises KatodError or
    OSError, AlreadyRunning if an export is running there.
    """
    where = _where(address)
    with opened_set(state, address, machine) as data:
        notes = [f"{path}: {DAMAGED_REQUEST}" for path in data.damaged_requests]
        if not any(map(is_forgotten, data.sessions())):
            return notes
        if isinstance(where, Path) and _is_deleted(DirectoryPlace(where, machine)):
            data.drop_all()
            return [*notes, f"{where}: the tables there were deleted: katod drops its list of them"]
        require_extra()
        place = place_of(where, data)
        from katod.tables.partitions import PartitionWriter  # noqa: PLC0415 - loads pyarrow

        writer = PartitionWriter(data, place)
        writer.drop_forgotten()
        notes += _drop_unfinished(data, writer)
        data.save()
    return notes


def _drop_unfinished(data: DataSet, writer: "PartitionWriter") -> Iterator[str]:
    """Take out what a killed run left of sessions in partitions that are not theirs yet; yield why that fails."""
    for partition in sorted(data.begun()):
        try:
            writer.drop(partition, ())
        except (KatodError, OSError) as error:
            yield line_of(error)


def _is_deleted(place: DirectoryPlace) -> bool:
    place.tidy()  # what a killed run left is no table
    return place.is_deleted()


def _where(address: str) -> Where:
    return bucket_address(address) if address.startswith(S3) else Path(address)
