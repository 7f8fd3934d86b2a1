"""Spans as lines of OTLP/JSON: ids, times, names and attributes. Pure."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from katod.formats.otlp import names
from katod.formats.rows import timestamp
from katod.model import SessionKey

INTERNAL, CLIENT = 1, 3  # kinds of spans
_ERROR: Final = 2  # the status of a span
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LARGEST_TIME: Final = 2**63 - 1
# A name that can be neither a path nor a sentence.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,127}")
# With an owner, as model hubs have it; without a colon, which may end a drive or a scheme.
_MODEL: Final = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]*/)?[A-Za-z0-9][A-Za-z0-9_.:@+-]*")
_LONGEST_MODEL: Final = 128
_MODEL_FILE: Final = re.compile(
    r"\.(?:bin|ckpt|engine|ggml|gguf|h5|llamafile|mlmodel|mlpackage|onnx|pkl|pt|pth|safetensors|tflite)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}")

Attributes = dict[str, Any]
Value = dict[str, Any]


class Span(NamedTuple):
    """One span: ids in hexadecimal, times in nanoseconds since 1970 (0: not known).

    `error` is a class of errors, empty for none; `link` has the trace and the span that the session goes on from.
    """

    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: Attributes
    kind: int = INTERNAL
    error: str = ""
    link: tuple[str, str] | None = None


# -- ids ----------------------------------------------------------------------------------------------


def trace_of(key: SessionKey) -> str:
    """Return the trace of a session: that of a sub-agent with a file of its own is the one of its session."""
    return _hash(f"trace:{key._replace(subagent='')}")[:32]


def root_of(key: SessionKey) -> str:
    """Return the span of a session."""
    return _hash(f"session:{key}")[:16]


def span_of(key: SessionKey, event_id: str, part: str) -> str:
    """Return the span of a session that begins with an event: the same on every machine."""
    return _hash(f"{part}:{key}:{event_id}")[:16]


def _hash(text: str) -> str:
    return sha256(b"katod:" + text.encode("utf-8", "replace")).hexdigest()


# -- times and names ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def nanoseconds(time: str) -> int:
    """Return a recorded time in nanoseconds since 1970, 0 if it is none."""
    try:
        moment = datetime.fromisoformat(timestamp(time))
        found = (moment - _EPOCH) // _MICROSECOND * 1000
    except (ValueError, OverflowError):
        return 0
    return found if 0 < found <= _LARGEST_TIME else 0


def name_or(text: Any, other: str) -> str:
    """Return a text if it is a name and nothing that a person may have written, otherwise the other one."""
    return text if isinstance(text, str) and _NAME.fullmatch(text) else other


def id_of(text: str) -> str:
    """Return an id, or a hash of one that may say something."""
    return name_or(text, "") or _hash(f"id:{text}")[:32]


def model_of(text: str) -> str:
    """Return the name of a model, or `owner/model`; empty if it is none.

    Of what may be a path, only its last component counts, without the extension of a file.
    """
    components = re.split(r"[/\\]", text)
    is_path = len(components) > 1 and _MODEL_FILE.search(text) is not None
    if len(text) <= _LONGEST_MODEL and _MODEL.fullmatch(text) and not is_path:
        return text
    last = components[-1]
    return name_or(_MODEL_FILE.sub("", last) if len(components) > 1 else last, "")


def version_of(text: str) -> str:
    """Return the version of an agent, empty if it is none."""
    return text if _VERSION.fullmatch(text) else ""


def provider_of(named: str, model: str) -> str:
    """Return a provider as the conventions call it: the one that the agent names, else that of the model."""
    found = names.PROVIDERS.get(named.lower()) or name_or(named, "")
    by_model = (provider for start, provider in names.MODELS if model.rpartition("/")[2].lower().startswith(start))
    return found or next(by_model, names.UNKNOWN)


# -- lines ----------------------------------------------------------------------------------------------


class LineHead(NamedTuple):
    """What all spans of a recording have in common: the trace, the agent's product, and the version of katod."""

    trace: str
    service: str
    version: str

    def line(self, span: Span) -> str:
        """Return a span as a line: one ExportTraceServiceRequest."""
        scope = {"name": "katod"} | ({"version": self.version} if self.version else {})
        spans = {"scope": scope, "spans": [self._row(span)], "schemaUrl": names.SCHEMA_URL}
        resource = {"attributes": _attributes({names.SERVICE: self.service})}
        row = {"resourceSpans": [{"resource": resource, "scopeSpans": [spans], "schemaUrl": names.SCHEMA_URL}]}
        return orjson.dumps(row).decode() + "\n"

    def _row(self, span: Span) -> dict[str, Any]:
        row: dict[str, Any] = {"traceId": self.trace, "spanId": span.id}
        if span.parent:
            row["parentSpanId"] = span.parent
        row |= {"name": span.name, "kind": span.kind}
        row |= {"startTimeUnixNano": str(span.start), "endTimeUnixNano": str(max(span.start, span.end))}
        failed = {names.ERROR_TYPE: span.error} if span.error else {}
        row["attributes"] = _attributes(span.attributes | failed)
        if span.link:
            row["links"] = [{"traceId": span.link[0], "spanId": span.link[1]}]
        return row | ({"status": {"code": _ERROR}} if span.error else {})


def _attributes(given: Attributes) -> list[Value]:
    return [{"key": key, "value": _value(value)} for key, value in given.items() if value is not None and value != ""]


def _value(value: Any) -> Value:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": str(value).encode("utf-8", "replace").decode()}
