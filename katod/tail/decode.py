"""From bytes to lines to records: one JSON object per line, and whatever can be salvaged from one that is not. Pure.

Only a newline ends a line; offsets are in bytes.
"""

import json
import re
from typing import Any, Final

import orjson

from katod.model import Line, Record

_OPENING: Final = re.compile(r'\{"')
_QUOTE: Final = re.compile(r'(?<!\\)(?:\\\\)*"')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MOST_PIECES: Final = 64
_MOST_OPENINGS: Final = 10_000
_MOST_DIGITS: Final = 300
_BLANKS: Final = 64  # between a separator and its value, at most
# The characters before a nested value: an object after one of these is part of its record, not the next record.
_VALUE_FOLLOWS: Final = (":", "[", ",")
_INFINITY: Final = float("inf")
BOM: Final = b"\xef\xbb\xbf"


def decode(line: Line) -> list[Record]:
    """Decode one line; never raises. What cannot be decoded is returned as a record without a value."""
    if line.records:
        return list(line.records)
    if line.skipped:
        return [Record(line.offset, None, problem=f"a line of {line.skipped} bytes was too long to hold")]
    if not line.data:
        return []
    try:
        value = orjson.loads(line.data)
    except orjson.JSONDecodeError:
        return _salvage(line)
    if isinstance(value, dict):
        return [Record(line.offset, value)]
    return [Record(line.offset, None, raw=line.data.decode("utf-8", "replace"), problem="not an object")]


def value_of(document: bytes) -> Any:
    """Return what a whole document says, None if it is incomplete.

    As `decode` does, it takes an object with what strict JSON has no place for, such as half a character.
    """
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError:
        if not document.rstrip().endswith(b"}"):
            return None  # it is being written
        text = document.decode("utf-8", "replace")
        value, end = _parse_at(text, 0)
        return None if text[end:].strip() else value


def loads(text: bytes | str) -> Any:
    """Return the value of any JSON. Raises ValueError.

    As `decode` does, it takes what strict JSON has no place for, such as half a character: it hides nothing else.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return _storable(_DECODER.decode(text if isinstance(text, str) else text.decode("utf-8", "replace")))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error


def _salvage(line: Line) -> list[Record]:
    text = line.data.replace(b"\0", b"").decode("utf-8", "replace")
    records: list[Record] = []
    at = 0
    for _ in range(_MOST_PIECES):
        if at >= len(text):
            break
        value, end = _parse_at(text, at)
        if value is None:
            end = _next_record(text, at)
            bad = text[at:end]
            records.append(Record(line.offset, None, len(records), bad, "not valid JSON"))
        else:
            records.append(Record(line.offset, value, len(records)))
        at = _skip_blanks(text, end)
    if at < len(text):
        records.append(Record(line.offset, None, len(records), text[at:], "not valid JSON"))
    return records


def _parse_at(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
        if isinstance(value, dict):
            return _storable(value), end
    except (ValueError, RecursionError):
        pass
    return None, at


def _next_record(text: str, after: int) -> int:
    """Return where the next whole record after a torn one begins, or the end of the text.

    A record that was cut short has no newline, so the next one follows on its line. That one is an object that the line
    ends with, or that another object follows. An object in a value's position is part of the torn record, even if it
    looks like a record. Inside a string no object can begin, so one that does is the next record.
    """
    quotes, seen = 0, after
    for tried, match in enumerate(_OPENING.finditer(text, after + 1)):
        if tried >= _MOST_OPENINGS:
            break
        quotes += len(_QUOTE.findall(text, seen, match.start()))
        seen = match.start()
        if quotes % 2 == 0 and text[max(after, seen - _BLANKS) : seen].rstrip()[-1:] in _VALUE_FOLLOWS:
            continue
        value, end = _parse_at(text, seen)
        follows = _skip_blanks(text, end)
        if value is not None and (text[follows : follows + 1] in ("", "{") or _is_stamped(value)):
            return seen
        quotes, after = 0, seen  # a torn record itself, as a rule: what is nested in it is no record
    return len(text)


def _is_stamped(value: dict[str, Any]) -> bool:
    """Return whether an object says what it is and when or which one: a record, whatever follows it."""
    return "type" in value and bool(value.keys() & {"timestamp", "uuid", "sessionId"})


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r":
        at += 1
    return at


def _storable(value: Any) -> Any:
    """Return the value as strict JSON can represent it: no lone surrogates, no NaN or infinity."""
    text = json.dumps(value, ensure_ascii=False)
    return orjson.loads(_SURROGATE.sub("\ufffd", text))


def _finite(text: str) -> float | None:
    number = float(text)
    return number if abs(number) != _INFINITY else None


def _whole(text: str) -> int | None:
    return int(text) if len(text) <= _MOST_DIGITS else None


_DECODER: Final = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite, parse_int=_whole)


def frame(data: bytes, base: int) -> list[Line]:
    """Split `data`, which begins at offset `base`, into complete lines; an unterminated rest is left out.

    CRLF counts as a newline. A byte order mark at offset 0 and NUL bytes before a line are dropped. Blank lines are
    returned without data.
    """
    lines: list[Line] = []
    offset = base
    pieces = data.split(b"\n")
    pieces.pop()
    for piece in pieces:
        end = offset + len(piece) + 1
        whole = piece[:1] == b"{" and piece[-1:] == b"}"  # like nearly every line
        lines.append(Line(offset, end, piece if whole else strip_record(piece, offset)))
        offset = end
    return lines


def strip_record(piece: bytes, offset: int) -> bytes:
    """Strip what is not part of the record: a BOM at offset 0, leading NUL bytes, the CR of a CRLF."""
    if piece[-1:] == b"\r":
        piece = piece[:-1]
    if piece[:1] == b"{":
        return piece
    if offset == 0 and piece.startswith(BOM):
        piece = piece[len(BOM) :]
    return piece.lstrip(b"\0").strip()
