"""What is sent of a recording: the lines of the format `otlp`, as one request. Pure."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import orjson

_MOST_SPANS: Final = 128  # of one request
_LARGEST: Final = 1024 * 1024  # bytes of the lines of one request, unless one alone is larger
_IDS: Final = ("traceId", "spanId", "parentSpanId")


class SpanLine(NamedTuple):
    """One span to be sent: its id, what it is about (the resource, with one scope that has one span), its size."""

    txn: str
    about: dict[str, Any]
    size: int


def lines_of(text: str) -> Iterator[SpanLine]:
    """Yield the lines of a text in the format `otlp`."""
    for row in filter(None, text.split("\n")):
        [about] = orjson.loads(row)["resourceSpans"]
        yield SpanLine(_spans(about)[0]["spanId"], about, len(row))


def batch_of(lines: Iterable[SpanLine]) -> list[SpanLine]:
    """Return the first lines, as many as fit into one request; at least one."""
    batch: list[SpanLine] = []
    size = 0
    for line in lines:
        size += line.size
        if batch and (len(batch) >= _MOST_SPANS or size > _LARGEST):
            break
        batch.append(line)
    return batch


def request_of(lines: Iterable[SpanLine]) -> dict[str, Any]:
    """Return a request as JSON, with ids as protobuf's JSON has them; spans of one resource stand together."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        about = {**line.about, "scopeSpans": [{**line.about["scopeSpans"][0], "spans": []}]}
        if not rows or {**rows[-1], "scopeSpans": [{**rows[-1]["scopeSpans"][0], "spans": []}]} != about:
            rows.append(about)
        _spans(rows[-1]).append(_with_bytes(_spans(line.about)[0]))
    return {"resourceSpans": rows}


def _spans(about: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = about["scopeSpans"][0]["spans"]
    return found


def _with_bytes(row: dict[str, Any]) -> dict[str, Any]:
    """Return a span, or a link, with its ids in base64: OTLP writes them in hexadecimal, unlike all other bytes."""
    ids = {name: b64encode(bytes.fromhex(row[name])).decode() for name in _IDS if name in row}
    links = {"links": list(map(_with_bytes, row["links"]))} if "links" in row else {}
    return row | ids | links
