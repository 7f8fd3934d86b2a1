"""Where an output is, how katod left it, and whether a file is it."""

import re
from functools import partial

from katod.errors import OutputError
from katod.model import SessionKey
from katod.record.ownership import is_in_front_matter, is_of
from katod.store.rows import UNMARKED, OutputRow
from katod.write.output import Comparison, FileFingerprint, OutputPath, detect_change


def is_reverted(row: OutputRow) -> bool:
    """Return whether an older copy was saved over an output since katod last looked at it."""
    try:
        return compared(row).change == "reverted"
    except OutputError:
        return False


def is_as_written(row: OutputRow) -> bool:
    """Return whether an output is there, and as katod left it: nobody has added to it, or taken anything away.

    Only the size and the end of a file are compared, so another file with the same end does not count. What was
    overwritten in place further up, with as many bytes, is not noticed.
    """
    try:
        return compared(row) == ("same", last_fingerprint(row))
    except OutputError:
        return False


def compared(row: OutputRow) -> Comparison:
    """Compare an output with how katod left it. Raises OutputError if it cannot be opened, or is not mounted."""
    return detect_change(output_path(row), last_fingerprint(row), partial(names_session, row))


def names_session(row: OutputRow, head: bytes) -> bool:
    """Return whether a file begins as a transcript of this recording's session: front matter or an event names it."""
    key = SessionKey(*row.head["key"][:3])
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
