"""Where an output is, and how katod left it."""

from katod.errors import OutputError
from katod.store.rows import OutputRow
from katod.write.output import Known, Place, detect_change


def is_reverted(row: OutputRow) -> bool:
    """Return whether an older copy was saved over an output since katod last looked at it."""
    try:
        return detect_change(place_of(row), known_of(row)).change == "reverted"
    except OutputError:
        return False


def place_of(row: OutputRow) -> Place:
    """Return where an output is."""
    return Place(row.root, row.parts, row.marker)


def known_of(row: OutputRow) -> Known:
    """Return an output as katod left it."""
    return Known(row.dev, row.ino, row.committed, row.tail)


def adopt(row: OutputRow, known: Known) -> None:
    """Take an output as it is now for as katod left it."""
    row.dev, row.ino, row.committed, row.tail = known
