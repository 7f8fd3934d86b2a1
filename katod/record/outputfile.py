"""Where an output is, how katod left it, and whether a file is it."""

import re
from functools import partial
from typing import Literal

from katod.errors import OutputError, TargetRefused
from katod.model import SessionKey
from katod.record.ownership import below_notes, is_in_front_matter, is_of
from katod.store.rows import UNMARKED, OutputRow
from katod.write.output import Comparison, FileFingerprint, OutputPath, detect_change, has_nothing_else
from katod.write.root import was_deleted

Integrity = Literal["whole", "changed", "unknown"]


def is_reverted(row: OutputRow) -> bool:
    """Return whether an older copy was saved over an output since katod last looked at it."""
    try:
        return compared(row).change == "reverted"
    except OutputError:
        return False


def integrity(row: OutputRow) -> Integrity:
    """Return whether an output is there, and as katod left it: nobody has added to it, or taken anything away.

    An intent that is still open in the ledger may be in it already, or a part of it. Only the size and the end of what
    was written before are compared, so another file with the same end does not count. What was overwritten in place
    further up, with as many bytes, is not noticed. If its disk is not mounted, or cannot be read, that is unknown: the
    output directory may be on one that is away, but a project's directory that is gone was deleted.
    """
    place = output_path(row)
    try:
        return "whole" if has_nothing_else(place, last_fingerprint(row), row.intent or b"") else "changed"
    except OutputError as error:
        if isinstance(error.__cause__, (TargetRefused, NotADirectoryError)):
            return "changed"
        return "changed" if not place.marker and was_deleted(place.root, row.dev) else "unknown"


def compared(row: OutputRow) -> Comparison:
    """Compare an output with how katod left it. Raises OutputError if it cannot be opened, or is not mounted."""
    return detect_change(output_path(row), last_fingerprint(row), partial(names_session, row))


def names_session(row: OutputRow, head: bytes) -> bool:
    """Return whether a file begins as a transcript of this recording's session: front matter or an event names it.

    There may be notes above that.
    """
    key, head = SessionKey(*row.head["key"][:3]), below_notes(head)
    is_named = is_in_front_matter(key, head) or is_of("jsonl", key, head)
    return is_named or is_of(row.format, key, head, head.partition(b"\n")[0])


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
