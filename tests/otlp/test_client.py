"""Requests of a collector, and what becomes of its answers."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from katod.destinations import OtlpSettings
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.otlp.client import CollectorClient, read_headers
from katod.otlp.lines import lines_of
from tests.formats.otlp.golden import text
from tests.looping import each
from tests.otlp.receiver import Receiver

LINES = list(lines_of(text().decode()))


@pytest.fixture
def client(receiver: Receiver) -> Iterator[CollectorClient]:
    """Return a client of the collector."""
    found = CollectorClient(OtlpSettings(f"{receiver.url}/"))
    yield found
    found.close()


def test_spans_arrive_in_one_request(client: CollectorClient, receiver: Receiver) -> None:
    """In protobuf; an empty request is one, too."""
    assert client.send(LINES) == client.send([]) == 0
    assert receiver.seen == [len(LINES), 0]
    assert len(receiver.spans()) == len(LINES)


def test_the_path_is_appended_to_that_of_the_endpoint(receiver: Receiver) -> None:
    """As backends have it that take more than spans."""
    found = CollectorClient(OtlpSettings(f"{receiver.url}/api/public/otel/"))
    found.send([])
    found.close()
    assert receiver.paths == {"/api/public/otel/v1/traces"}


@each("end", ["", "/", "/v1/traces", "/v1/traces/"])
def test_an_address_with_the_path_of_spans_is_the_same_collector(end: str) -> None:
    """Other exporters' documents give it with that; what was started for the one is sent to the other."""
    with Receiver() as receiver:
        settings = OtlpSettings(f"{receiver.url}/otel{end}")
        with closing(CollectorClient(settings)) as found:
            found.send([])
        assert receiver.paths == {"/otel/v1/traces"}
        assert settings.destination == f"{receiver.url}/otel"


@pytest.mark.parametrize(
    ("status", "error", "wait"),
    [
        ("400", DeliveryRefused, None), ("404", DeliveryRefused, None), ("413", DeliveryRefused, None),
        ("307", DeliveryRefused, None), ("500", DeliveryRefused, None), ("401", DeliveryStopped, None),
        ("403", DeliveryStopped, None), ("429", DeliveryError, 0.0), ("503", DeliveryError, 0.0),
    ],
)  # fmt: skip
def test_an_answer_says_what_to_do(
    client: CollectorClient, receiver: Receiver, status: str, error: type[DeliveryError], wait: float | None
) -> None:
    """Of what it says else, nothing is kept; a redirect is not followed."""
    receiver.fault = lambda _spans: status
    with pytest.raises(DeliveryError) as caught:
        client.send(LINES)
    assert (type(caught.value), caught.value.wait) == (error, wait)
    assert caught.value.what.endswith(f"the collector answers {status}")
    assert len(receiver.seen) == 1


def test_what_is_rejected_is_a_number_of_spans_that_were_sent(client: CollectorClient, receiver: Receiver) -> None:
    """Whatever the collector says; an answer that is none says nothing."""
    receiver.fault = lambda _spans: "reject 2"
    assert client.send(LINES) == 2
    receiver.fault = lambda _spans: "reject 2000"
    assert client.send(LINES) == len(LINES)
    receiver.fault = lambda _spans: "nonsense"
    assert client.send(LINES) == 0


def test_an_answer_may_be_json(client: CollectorClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the request is in protobuf; what is no answer says nothing."""
    receiver.kind = "application/json; charset=utf-8"
    found = []
    for body in (b'{"partialSuccess":{"rejectedSpans":"3"}}', b'{"partialSuccess":{},"id":1}', b"{}", b"\xff", b"[1]"):
        monkeypatch.setattr(receiver, "take", lambda _request, body=body: (200, body, True))
        found.append(client.send(LINES))
    assert found == [3, 0, 0, 0, 0]


def test_a_web_page_is_no_answer_of_a_collector(client: CollectorClient, receiver: Receiver) -> None:
    """As one where people log in, or of another program: nothing counts as sent."""
    receiver.kind, receiver.fault = "text/html; charset=utf-8", lambda _spans: "nonsense"
    with pytest.raises(DeliveryRefused, match="with a web page, so it is not a collector"):
        client.send(LINES)
    receiver.fault = lambda _spans: ""
    assert client.send([]) == 0  # without a body, whatever it is said to be


def test_headers_are_lines_of_a_private_file(tmp_path: Path) -> None:
    """In every other case, the problem says what to do and nothing of the content."""
    file = tmp_path / "headers"
    file.touch(0o600)
    file.write_text("Authorization: Bearer secret word\n\nX-Tenant:shop\n")
    assert read_headers(file) == {"Authorization": "Bearer secret word", "X-Tenant": "shop"}
    for content in (
        "",
        "secret",
        "Name: ",
        "A: b\nsecret",
        "A b: c",
        "X: \N{LATIN SMALL LETTER E WITH ACUTE}",
        "X: a\x1bb",
    ):
        file.write_text(content)
        with pytest.raises(DeliveryStopped, match="something else in it, or none") as caught:
            read_headers(file)
        assert "secret" not in str(caught.value)
    file.chmod(0o604)
    with pytest.raises(DeliveryStopped, match="others have access"):
        read_headers(file)


@each("module", ["httpx", "google.protobuf", "opentelemetry.proto.collector.trace.v1"])
def test_without_the_extra_it_is_named(module: str) -> None:
    """In one line, with what to install."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module, None)
        with pytest.raises(DeliveryStopped, match="the extra `otlp` is not installed") as caught:
            CollectorClient(OtlpSettings("http://127.0.0.1:9"))
        assert "'.[fast,otlp]'" in caught.value.hint


def test_no_answer_is_a_problem_that_may_pass(receiver: Receiver, client: CollectorClient) -> None:
    """As is one that is cut."""
    receiver.fault = lambda _spans: "cut"
    with pytest.raises(DeliveryError, match="the collector cannot be reached"):
        client.send(LINES)
    receiver.stop()
    with pytest.raises(DeliveryError, match="the collector cannot be reached: ConnectError"):
        client.send(LINES)
