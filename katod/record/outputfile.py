"""Where an output is, and how katod left it."""

import re

from katod.errors import OutputError
from katod.store.rows import UNMARKED, OutputRow
from katod.write.output import FileFingerprint, OutputPath, detect_change


def is_reverted(row: OutputRow) -> bool:
    """Return whether an older copy was saved over an output since katod last looked at it."""
    try:
        return detect_change(output_path(row), last_fingerprint(row)).change == "reverted"
    except OutputError:
        return False


def is_as_written(row: OutputRow) -> bool:
    """Return whether an output is there, and as katod left it: nobody has added to it, or taken anything away."""
    try:
        return detect_change(output_path(row), last_fingerprint(row)).change == "same"
    except OutputError:
        return False


def output_path(row: OutputRow) -> OutputPath:
    """Return where an output is."""
    return OutputPath(row.root, row.parts, "" if row.marker == UNMARKED else row.marker)


def last_fingerprint(row: OutputRow) -> FileFingerprint:
    """Return an output as katod left it."""
    return FileFingerprint(row.dev, row.ino, row.committed, row.tail)


def without_names(problem: str, row: OutputRow) -> str:
    """Return a problem of an output without the names of its files and directories, which may have a title in them."""
    names = {str(row.path), str(row.root), *row.parts, row.options.assets} - {""}
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{longest_first})(?![\w.-])", "…", problem)
