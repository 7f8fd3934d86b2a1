"""Reads a recording's output. Everything that shows one, or compares it, opens it here (`write.reading`)."""

import re
from io import BufferedReader, TextIOWrapper
from typing import Final

import orjson

from katod.errors import OutputUnreadable
from katod.formatspec import FORMATS
from katod.record.outputfile import last_fingerprint, output_path
from katod.store.rows import OutputRow
from katod.write.reading import open_output

_FRONT: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?---\r?\n((?:[^\r\n]+\r?\n)*?)---\r?\n")
_FIELD: Final = re.compile(rb"""^(session|subagent): *["']?(.*?)["']?\r?$""", re.MULTILINE)


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
    _, session, subagent, *_ = row.head["key"]
    named = (_in_front_matter(head), _in_event(head))
    return (session, subagent) in named or _is_in_line(row, head, subagent or session)


def _is_in_line(row: OutputRow, head: bytes, name: str) -> bool:
    """Return whether the first line of a format for machines, which have fields of their own, has an id as a value."""
    return not FORMATS[row.format].in_chat and orjson.dumps(name) in head.partition(b"\n")[0]


def _in_front_matter(head: bytes) -> tuple[str, str]:
    front = _FRONT.match(head)
    found = dict(_FIELD.findall(front[1])) if front else {}
    return found.get(b"session", b"").decode("utf-8", "replace"), found.get(b"subagent", b"").decode("utf-8", "replace")


def _in_event(head: bytes) -> tuple[str, str] | None:
    try:
        session = orjson.loads(head.partition(b"\n")[0])["session"]
        return session["id"], session.get("subagent", "")
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None
