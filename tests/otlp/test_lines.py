"""What is sent of a recording: requests that are bounded, with the ids as protobuf has them."""

import json

import pytest

from katod.otlp import lines as lines_
from katod.otlp.lines import SpanLine, batch_of, lines_of, request_of
from tests.formats.otlp.golden import text


def test_spans_of_one_resource_stand_together() -> None:
    """In their order; all ids are bytes, those of links, too."""
    found = list(lines_of(text().decode()))
    [group] = request_of(found)["resourceSpans"]
    spans = group["scopeSpans"][0]["spans"]
    assert [span["name"] for span in spans] == [line.about["scopeSpans"][0]["spans"][0]["name"] for line in found]
    assert {len(span["traceId"]) for span in spans} == {24}
    other = json.loads(text().decode().split("\n")[0].replace("Claude Code", "Codex"))["resourceSpans"][0]
    other["scopeSpans"][0]["spans"][0]["links"] = [{"traceId": "00" * 16, "spanId": "11" * 8}]
    more = request_of([found[0], SpanLine("x", other, 1), found[1]])["resourceSpans"]
    assert len(more) == 3
    assert more[1]["scopeSpans"][0]["spans"][0]["links"] == [{"traceId": "A" * 22 + "==", "spanId": "ERERERERERE="}]


def test_lines_are_as_they_were_after_a_request() -> None:
    """A request may have to be made again."""
    found = list(lines_of(text().decode()))
    before = json.dumps([line.about for line in found])
    request_of(found)
    assert json.dumps([line.about for line in found]) == before


def test_a_request_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the number of spans and by their bytes; a span that is larger goes alone."""
    monkeypatch.setattr(lines_, "_MOST_SPANS", 3)
    monkeypatch.setattr(lines_, "_LARGEST", 100)
    sizes = [[30, 30, 30, 1], [60, 60], [500, 1], [50, 50, 1]]
    assert [len(batch_of([SpanLine("x", {}, size) for size in some])) for some in sizes] == [3, 1, 1, 2]
    assert batch_of([]) == []
