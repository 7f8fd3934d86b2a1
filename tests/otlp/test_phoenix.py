"""The same against a real backend: Arize Phoenix shows the tree, the tokens and the sessions that were sent.

`KATOD_PHOENIX` names a Python that has `arize-phoenix`, which is too large to be installed for the run.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from katod.destinations import OtlpSettings
from katod.model import Options
from katod.otlp.client import CollectorClient
from katod.otlp.lines import lines_of
from katod.record.export import render_all
from tests.delivery.delivering import TALK
from tests.golden.cases import cases
from tests.otlp.phoenix import VARIABLE, Phoenix
from tests.otlp.receiver import Receiver
from tests.otlp.test_delivery import Exporting, recorded
from tests.otlp.test_outages import play, play_demo
from tests.support.records import MAKERS, says, user
from tests.support.world import World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.longest(240),
    pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no Python with arize-phoenix"),
]


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[Phoenix]:
    """Return a server, which ends with the test."""
    folder = tmp_path / "phoenix"
    folder.mkdir()
    found = Phoenix(Path(os.environ[VARIABLE]), folder)
    yield found
    found.stop()


def send_sessions(world: World, url: str) -> tuple[list[str], int, int]:
    """Record sessions of all agents, and send their spans; return the ids, and the tokens of prompts and answers."""
    world.configure(**{"otlp.endpoint": url})
    katod = Exporting(world)
    play_demo(world)
    for number, make in enumerate(MAKERS):
        maker = make(world, f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11").say(user("before"))
        katod.turn()
        maker.say(user("::start\nhello"), *TALK, user("::stop"), says("no"))
    katod.deliver(60)
    katod.stop()
    assert world.status()["otlp"]["unfinished"] == []
    spans, sums = recorded(world)
    return [span.id for span in spans], sums["gen_ai.usage.input_tokens"], sums["gen_ai.usage.output_tokens"]


def test_the_backend_has_what_was_sent(world: World, phoenix: Phoenix) -> None:
    """Each span once, each below the one that it was sent below, and the tokens of the sessions."""
    ids, prompt, completion = send_sessions(world, phoenix.url)
    phoenix.until_spans(len(ids))
    spans = {f"{one['context']['trace_id']}/{one['context']['span_id']}": one for one in phoenix.spans()}
    assert sorted(spans) == sorted(ids)
    assert len(phoenix.spans()) == len(ids)
    above = [f"{name.partition('/')[0]}/{one['parent_id']}" for name, one in spans.items() if one["parent_id"]]
    assert set(above) <= set(spans)
    assert {one["name"].split()[0] for one in spans.values() if not one["parent_id"]} == {"session"}
    assert {one["span_kind"] for one in spans.values()} == {"AGENT", "LLM", "TOOL"}
    found = phoenix.sums()
    assert (found["recordCount"], found["tokenCountPrompt"], found["tokenCountCompletion"]) == (
        len(ids), prompt, completion
    )  # fmt: skip
    assert found["traceCount"] == len(MAKERS) + 1
    assert prompt > 500
    assert "hello" not in json.dumps(phoenix.spans())


def test_what_is_sent_again_is_there_once(phoenix: Phoenix) -> None:
    """As after a lost answer: the ids are the same, so the backend has each span once."""
    [case] = [case for case in cases() if str(case) == "claude/subagent"]
    lines = list(lines_of("".join(render_all(case.events(), "otlp", Options()))))
    with closing(CollectorClient(OtlpSettings(phoenix.url))) as client:
        for _ in range(2):
            assert client.send(lines) == 0
            phoenix.until_spans(len(lines))
    assert len(phoenix.spans()) == len(lines)


@pytest.mark.longest(600)
def test_the_backend_has_each_span_once_through_kills_and_outages(
    world: World, phoenix: Phoenix, receiver: Receiver
) -> None:
    """Behind a collector that hands on each request that it takes, the copies of those in flight among them."""
    receiver.backend = phoenix.take
    play(world, receiver)
    expected = receiver.spans()
    assert len(receiver.taken) > len(expected)  # some came twice
    phoenix.until_spans(len(expected))
    spans = {f"{one['context']['trace_id']}/{one['context']['span_id']}": one for one in phoenix.spans()}
    assert sorted(spans) == sorted(expected)
    assert len(phoenix.spans()) == len(expected)
    above = {f"{name.partition('/')[0]}/{one['parent_id']}" for name, one in spans.items() if one["parent_id"]}
    assert above <= set(spans)
    sums, found = sum(receiver.sums().values(), Counter[str]()), phoenix.sums()
    assert found["tokenCountPrompt"] == sums["gen_ai.usage.input_tokens"]
    assert found["tokenCountCompletion"] == sums["gen_ai.usage.output_tokens"]
