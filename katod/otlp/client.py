"""The requests that katod makes of a collector: spans, in protobuf over HTTP."""

import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from katod.delivery.http import HttpAnswer, HttpServer, missing_extra, read_private, require_httpx
from katod.destinations import TRACES, OtlpSettings
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.otlp.lines import SpanLine, request_of

_WHO: Final = "the collector"
_EXTRA: Final = "otlp"
_TYPE: Final = "application/x-protobuf"
_JSON: Final = "application/json"
_PAGE: Final = "text/html"
_LARGEST_HEADERS: Final = 16 * 1024
_HEADER: Final = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)[ \t]*")
_BUSY: Final = frozenset({429, 502, 503, 504})  # the same request may be taken later


class _Protobuf(NamedTuple):
    """What a request is made with: the messages, what reads JSON into them, and the error for bytes that are none."""

    messages: ModuleType
    json: ModuleType
    error: type[Exception]


def _require_protobuf() -> _Protobuf:
    try:
        from google.protobuf import json_format, message  # noqa: PLC0415 - an extra: only those who send spans need it
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: PLC0415
    except ImportError as error:
        raise missing_extra(_EXTRA) from error
    return _Protobuf(trace_service_pb2, json_format, message.DecodeError)


def read_headers(path: Path) -> dict[str, str]:
    """Return the headers in a file that nobody else has access to. Raises DeliveryStopped."""
    rows = [row for row in read_private(path, "file with headers", _LARGEST_HEADERS).splitlines() if row.strip()]
    found = [_HEADER.fullmatch(row) for row in rows]
    headers = {match[1]: match[2] for match in found if match}
    if not headers or None in found:
        what = "the file with headers has something else in it, or none"
        raise DeliveryStopped(what, hint="it must contain only lines like `Name: value`, in ASCII")
    return headers


class CollectorClient:
    """A connection to a collector."""

    def __init__(self, settings: OtlpSettings) -> None:
        """Open nothing yet. Raises DeliveryStopped without the extra, or with headers that cannot be used."""
        httpx = require_httpx(_EXTRA)
        self._protobuf = _require_protobuf()
        headers = read_headers(Path(settings.headers_file)) if settings.headers_file else {}
        self._server = HttpServer(httpx, _WHO, settings.destination, headers)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def send(self, lines: Sequence[SpanLine]) -> int:
        """Send spans in one request; return how many of them the collector says that it rejected.

        Raises DeliveryRefused for a request that is not taken, DeliveryStopped, and DeliveryError to wait.
        """
        request = self._protobuf.messages.ExportTraceServiceRequest()
        self._protobuf.json.ParseDict(request_of(lines), request)
        answer = self._server.ask("POST", TRACES, request.SerializeToString(), _TYPE)
        if 200 <= answer.status < 300:
            return min(len(lines), self._rejected(answer))
        problem = f"{_WHO} answers {answer.status}"
        if answer.status in {401, 403}:
            raise DeliveryStopped(f"katod is not let in: {problem}", hint="check `otlp.headers_file`")
        if answer.status in _BUSY:
            raise DeliveryError(problem, wait=answer.wait or 0.0)
        raise DeliveryRefused(problem, status=answer.status)

    def _rejected(self, answer: HttpAnswer) -> int:
        """Return how many spans were rejected; an answer that is not from a collector says nothing of that.

        Some answer in JSON, whatever they are asked in. Raises DeliveryRefused for a page, as one where people log in:
        no collector answers with that.
        """
        if answer.kind == _PAGE and answer.body:
            what = f"{_WHO} answers {answer.status} with a web page, so it is not a collector"
            raise DeliveryRefused(what, status=answer.status)
        response = self._protobuf.messages.ExportTraceServiceResponse()
        try:
            if answer.kind == _JSON:
                self._protobuf.json.Parse(answer.body, response, ignore_unknown_fields=True)
            else:
                response.ParseFromString(answer.body)
        except (UnicodeDecodeError, self._protobuf.json.ParseError, self._protobuf.error):
            return 0
        return max(0, int(response.partial_success.rejected_spans))
