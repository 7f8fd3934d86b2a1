"""Reads a recording's output. Everything that shows one, or compares it, opens it here (`write.reading`)."""

from io import BufferedReader, TextIOWrapper

import orjson

from katod.errors import OutputUnreadable
from katod.formatspec import FORMATS
from katod.model import SessionKey
from katod.record.outputfile import last_fingerprint, output_path
from katod.record.whose import is_in_front_matter, is_of
from katod.store.rows import OutputRow
from katod.write.reading import open_output


def opened(row: OutputRow) -> BufferedReader:
    """Return the output of a recording, open for reading. Raises OutputUnreadable with the reason."""
    return open_output(output_path(row), last_fingerprint(row), lambda head: names_session(row, head))


def content_of(row: OutputRow) -> bytes:
    """Return all that is in the output of a recording. Raises OutputUnreadable with the reason."""
    try:
        with opened(row) as file:
            return file.read()
    except OSError as error:
        raise OutputUnreadable(f"cannot be read: {error.strerror}", path=row.path) from error


def opened_text(row: OutputRow) -> TextIOWrapper:
    """Return the same as text."""
    return TextIOWrapper(opened(row), encoding="utf-8", errors="replace")


def names_session(row: OutputRow, head: bytes) -> bool:
    """Return whether a file begins as a transcript of this recording's session: front matter or an event names it."""
    key = SessionKey(*row.head["key"][:3])
    is_named = is_in_front_matter(key, head) or is_of("jsonl", key, head)
    return is_named or _is_in_line(row, head, key.subagent or key.id)


def _is_in_line(row: OutputRow, head: bytes, name: str) -> bool:
    """Return whether the first line of a format for machines, which have fields of their own, has an id as a value."""
    return not FORMATS[row.format].in_chat and orjson.dumps(name) in head.partition(b"\n")[0]
