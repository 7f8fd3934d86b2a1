"""A strict collector on loopback: it takes requests of protobuf alone, checks each span, and fails as it is told to.

A real one keeps what it takes, whatever becomes of its answer. So does this one.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from typing import Any, Final, NamedTuple, Self

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from katod.otlp.lines import SpanLine, lines_of, request_of
from tests.support.world import World

SECRET: Final = "x-api-key-of-the-fake-collector"
# What happens to one request, given its spans: a status is the answer and nothing is taken; `cut` takes it and closes
# the connection; `slow` takes it after a while; `reject N` takes all but so many; `nonsense` answers something else.
Fault = Callable[[list["TakenSpan"]], str]
_LATEST: Final = 4_000_000_000 * 10**9


class TakenSpan(NamedTuple):
    """A span that was taken: its bytes, and what can be asked of it."""

    data: bytes
    service: str

    @property
    def span(self) -> Any:
        """The message."""
        return Span.FromString(self.data)

    @property
    def id(self) -> str:
        """Its id, with that of its trace."""
        return f"{self.span.trace_id.hex()}/{self.span.span_id.hex()}"

    @property
    def parent(self) -> str:
        """The id of the one above it, empty for a root."""
        span = self.span
        return f"{span.trace_id.hex()}/{span.parent_span_id.hex()}" if span.parent_span_id else ""

    @property
    def attributes(self) -> dict[str, Any]:
        """Its attributes."""
        return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in self.span.attributes}


class Receiver:
    """One collector; within the block it listens, and it can go away and come back at the same address."""

    def __init__(self) -> None:
        self.requests: list[list[TakenSpan]] = []  # those that were taken, without the empty ones
        self.seen: list[int] = []  # the number of spans of every request, taken or not
        self.fault: Fault = lambda _spans: ""
        self.backend: Callable[[bytes], None] = lambda _body: None  # has each request that is taken, as it is
        self.headers: dict[str, str] = {}
        self.paths: set[str] = set()
        self.retry_after = ""
        self.kind = ""  # the media type of its answers
        self.slowness = 0.3
        self.lock = threading.Lock()
        self._listening: ThreadingHTTPServer | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, at the same address as before."""
        receiver = self

        class Handler(_Handler):
            collector = receiver

        self._listening = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._listening.daemon_threads = True
        self._port = self._listening.server_port
        threading.Thread(target=self._listening.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections."""
        if self._listening is not None:
            self._listening.shutdown()
            self._listening.server_close()
            self._listening = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def configure(self, world: World, **settings: Any) -> None:
        """Let katod in a world send spans here."""
        world.configure(**{"otlp.endpoint": self.url} | settings)

    # -- what it has ------------------------------------------------------------------------------------

    @property
    def taken(self) -> list[TakenSpan]:
        """All spans, in the order in which they came, also those that came twice."""
        return [span for request in self.requests for span in request]

    def spans(self) -> dict[str, TakenSpan]:
        """Return the spans by id; a second copy has to have the same bytes."""
        found: dict[str, TakenSpan] = {}
        for span in self.taken:
            assert found.setdefault(span.id, span) == span, differences(found[span.id], span)
        return found

    def names(self) -> list[str]:
        """Return the names of all spans, each span once."""
        return [one.span.name for one in self.spans().values()]

    def assert_whole(self) -> None:
        """Assert that each span but a session's is below one that is there."""
        spans = self.spans()
        assert [one.span.name for one in spans.values() if one.parent and one.parent not in spans] == []
        assert [one.span.name for one in spans.values() if not one.parent and "session" not in one.span.name] == []

    def sums(self) -> dict[str, Counter[str]]:
        """Return the tokens and the cost of each conversation."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for one in self.spans().values():
            about = one.attributes
            for name in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "llm.cost.total"):
                found[about["gen_ai.conversation.id"]][name] += about.get(name, 0)
        return found

    def take(self, body: bytes) -> tuple[int, bytes, bool]:
        """Take a request; return the status, the answer, and whether it is to arrive."""
        spans = parsed(body)
        with self.lock:
            self.seen.append(len(spans))
            fault = self.fault(spans)
            if fault.isdigit():
                return int(fault), b"words that nobody is to see", True
        if fault == "slow":
            time.sleep(self.slowness)
        rejected = int(fault.split()[1]) if fault.startswith("reject") else 0
        with self.lock:
            if spans:
                self.requests.append(spans[: len(spans) - rejected])
                self.backend(body)
        answer = ExportTraceServiceResponse()
        if rejected:
            answer.partial_success.rejected_spans = rejected
            answer.partial_success.error_message = "words that nobody is to see"
        return 200, b"<html>" if fault == "nonsense" else answer.SerializeToString(), fault != "cut"


def spans_in(text: str) -> list[TakenSpan]:
    """Return the spans of lines in the format, each of which is checked alone and together with the others."""
    lines = list(lines_of(text))
    found = [parsed(_protobuf([line])) for line in lines]
    assert [one for [one] in found] == parsed(_protobuf(lines))
    return [one for [one] in found]


def _protobuf(lines: list[SpanLine]) -> bytes:
    request: bytes = ParseDict(request_of(lines), ExportTraceServiceRequest()).SerializeToString()
    return request


def differences(one: TakenSpan, other: TakenSpan) -> list[str]:
    """Return the lines in which two copies of a span differ."""
    lines = [str(copy.span).splitlines() for copy in (one, other)]
    return [f"{mine} | {theirs}" for mine, theirs in zip_longest(*lines) if mine != theirs]


def parsed(body: bytes) -> list[TakenSpan]:
    """Return the spans of a request, each of which is checked."""
    request = ExportTraceServiceRequest.FromString(body)
    assert request.SerializeToString() == body
    found = []
    for group in request.resource_spans:
        [service] = [one.value.string_value for one in group.resource.attributes if one.key == "service.name"]
        for scope in group.scope_spans:
            assert scope.scope.name == "katod"
            assert scope.schema_url.startswith("https://opentelemetry.io/schemas/")
            found += [
                TakenSpan(span.SerializeToString(deterministic=True), service) for span in map(checked, scope.spans)
            ]
    return found


def checked(span: Any) -> Any:
    """Return a span that is valid."""
    assert (len(span.trace_id), len(span.span_id)) == (16, 8)
    assert any(span.trace_id)
    assert any(span.span_id)
    assert len(span.parent_span_id) in (0, 8)
    assert span.parent_span_id != span.span_id
    assert span.name
    assert span.kind in (1, 3)
    assert 0 <= span.start_time_unix_nano <= span.end_time_unix_nano < _LATEST
    keys = [one.key for one in span.attributes]
    assert len(keys) == len(set(keys))
    assert all(one.value.WhichOneof("value") for one in span.attributes)
    assert [len(link.trace_id) for link in span.links] == [16] * len(span.links)
    assert (span.status.code == 2) == ("error.type" in keys)
    return span


class _Handler(BaseHTTPRequestHandler):
    collector: Receiver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        assert self.headers["Content-Type"] == "application/x-protobuf"
        self.collector.headers = dict(self.headers)
        self.collector.paths.add(self.path)
        status, data, arrives = self.collector.take(body)
        if not arrives:
            self.close_connection = True
            return
        self._answer(status, data)

    def _answer(self, status: int, data: bytes) -> None:
        with suppress(OSError):  # katod has gone
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if self.collector.kind:
                self.send_header("Content-Type", self.collector.kind)
            if self.collector.retry_after:
                self.send_header("Retry-After", self.collector.retry_after)
            self.end_headers()
            self.wfile.write(data)


def in_order(faults: Iterable[str]) -> Fault:
    """Return faults for the next requests that have spans, one after the other; then nothing."""
    left = list(faults)
    return lambda spans: left.pop(0) if spans and left else ""
