"""ATIF: the answers of a trajectory are those of the session, in their order, each with its own calls and tokens."""

import json
from typing import NamedTuple

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.formats.atif.metrics import Totals, added, metrics_of
from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, render_all, replay
from tests.formats.atif.test_document import Talk
from tests.looping import each
from tests.oracle.corpus import corpus_folder, corpus_sources, fixture_sources
from tests.support.rendering import rendered
from tests.support.translated import translated

SOURCES = corpus_sources()
COUNTS = {"cacheRead": 0, "cacheWrite": 0}


class Answer(NamedTuple):
    """One answer: its words, the names of the tools that it called, and what it used."""

    words: str = ""
    calls: tuple[str, ...] = ()
    metrics: str = ""

    def __add__(self, other):
        words = "\n\n".join(filter(None, (self.words, other.words)))
        used = [json.loads(text) for text in (self.metrics, other.metrics) if text]
        sums = json.dumps(added(*used) if len(used) == 2 else used[0], sort_keys=True) if used else ""
        return Answer(words, self.calls + other.calls, sums)


def part_of(event, asking):
    """Return what an event adds to an answer; a question is a part of the call that asks it, if one does."""
    payload, answers = event.payload, AGENTS[event.session.agent].answers
    if event.kind == ev.ASSISTANT_MESSAGE:
        return Answer(payload["text"])
    if event.kind == ev.DECISION_PROMPT and payload["decisionId"].rpartition(":")[0] not in asking:
        return Answer(payload["prompt"])
    if event.kind == ev.TOOL_CALL:
        asking.add(payload["toolCallId"])
        return Answer(calls=(payload["name"],))
    if event.kind == ev.USAGE and payload["scope"] == "message" and (metrics := metrics_of(payload, answers)):
        return Answer(metrics=json.dumps(metrics, sort_keys=True))
    return Answer()


def are_named(agent):
    """Return whether the parts of an answer, with its usage, name one message, or are of one record."""
    return AGENTS[agent].answers.have_names


def told(events):
    """Return the answers of a session by its events: parts with one name, else all up to the next usage."""
    found, places, asking = [], {}, set()
    for event in events:
        part = part_of(event, asking)
        if part == Answer():
            continue
        name = event.source.get("messageId") or event.source.get("offset")
        place = places.setdefault(name if are_named(event.session.agent) else "", len(found))
        found += [Answer()] if place == len(found) else []
        found[place] += part
        if part.metrics:
            places.pop("", None)
    return found


def shown(document, agent):
    """Return the answers of a trajectory; without names, steps are put together up to the next tokens."""
    found, is_open = [], False
    for step in document["steps"]:
        if step["source"] != "agent":
            continue
        metrics = json.dumps(step["metrics"], sort_keys=True) if "metrics" in step else ""
        calls = tuple(call["function_name"] for call in step.get("tool_calls", ()))
        answer = Answer(step["message"], calls, metrics)
        found = [*found[:-1], found[-1] + answer] if is_open else [*found, answer]
        is_open = not metrics and not are_named(agent)
    return [answer for answer in found if answer != Answer()]


def assert_same_answers(source):
    """Assert that the export of a session has its answers; those of sub-agents in its file are their own."""
    identity = AGENTS[source.agent].named(source.path)
    stretches = [Stretch(str(source.path), identity)]
    events = [event for event, _ in replay(identity.key, stretches, EventLog())]
    if any(event.source["providerEventType"] == "assistant_message" for event in events):
        return  # a stream of zot, which tells usage before its answer: see below
    if not events:
        return
    text = "".join(render_all(replay(identity.key, stretches, EventLog()), "atif", Options(redact=False)))
    document, speaker = json.loads(text), identity.key.subagent
    if not any(event.session.subagent == speaker for event in events):
        return
    assert shown(document, source.agent) == told([event for event in events if event.session.subagent == speaker])


# -- the law -------------------------------------------------------------------------------------------------


@each("source", fixture_sources()[::5], ids=lambda source: source.name)
def test_the_answers_of_a_fixture_are_those_of_its_session(source):
    """Their words, calls and tokens, one by one."""
    assert_same_answers(source)


@pytest.mark.slow
@pytest.mark.skipif(not SOURCES, reason=f"there are no real sessions in {corpus_folder()}")
@each("source", [*fixture_sources(), *SOURCES], ids=lambda source: source.name)
def test_the_answers_of_a_real_session_are_those_of_the_session(source):
    """Of every fixture and every real session."""
    assert_same_answers(source)


# -- requests that fail ----------------------------------------------------------------------------------------


def pi(number, stop, *content, **tokens):
    counts = {"input": 0, "output": 0, "totalTokens": 0} | COUNTS | tokens
    message = {"role": "assistant", "content": list(content), "usage": counts, "model": "m", "stopReason": stop}
    return {"type": "message", "id": f"a{number}", "timestamp": f"2026-07-21T09:48:0{number}Z", "message": message}


def says(text):
    return {"type": "text", "text": text}


def test_a_request_of_pi_that_failed_has_no_answer():
    """It has usage, of zeros, in a record of its own: the answers that follow keep their own."""
    events = translated(
        "pi", pi(1, "error"), pi(2, "toolUse", says("first"), output=11), pi(3, "toolUse", says("second"), output=22),
        pi(4, "stop", says("third"), output=33),
    )  # fmt: skip
    steps = json.loads(rendered("atif", events))["steps"]
    found = [(step["message"], step["metrics"]["completion_tokens"]) for step in steps if step["source"] == "agent"]
    assert found == [("", 0), ("first", 11), ("second", 22), ("third", 33)]


def test_usage_is_not_that_of_an_answer_of_another_record():
    """An answer that was not counted has no tokens, whatever the next request used."""
    events = translated("pi", pi(1, "stop", says("first")) | {"usage": {}}, pi(2, "error"), pi(3, "stop", says("b")))
    events = [event for event in events if event.kind != ev.USAGE or "a1:" not in event.id]
    steps = json.loads(rendered("atif", events))["steps"]
    found = [(step["message"], "metrics" in step) for step in steps if step["source"] == "agent"]
    assert found == [("first", False), ("", True), ("b", True)]


@each("name", ["codex", "opencode"])
def test_an_answer_without_a_name_ends_with_an_error(name):
    """What comes next is another attempt; the usage that follows is of that."""
    talk = Talk(name).user().says("I beg").add(ev.ERROR, message="500").says("I begin").used(output=2)
    assert talk.metrics() == [None, None, None, {"completion_tokens": 2}]
    assert [step["message"] for step in talk.steps()] == ["go", "I beg", "500", "I begin"]


def test_usage_before_an_error_is_not_that_of_the_next_answer():
    """A stream of zot tells the usage of an answer before it; that of a failed request has none."""
    talk = Talk("zot").user().used(output=1).add(ev.ERROR, message="401").says("a").used(output=2)
    assert talk.metrics() == [None, {"completion_tokens": 1}, None, {"completion_tokens": 2}]


def test_the_whole_is_at_least_what_the_answers_used():
    """What a client used that was killed is in no sum of the session; a sum may also have more than the answers."""
    totals = Totals()
    for given in (200, 100):
        totals.add("message", {"prompt_tokens": given, "completion_tokens": 10, "extra": {"reasoning_tokens": 4}})
    whole = {"prompt_tokens": 110, "completion_tokens": 50, "cost_usd": 0.5, "extra": {"reasoning_tokens": 4}}
    totals.add("session", whole)
    totals.add("message", {"prompt_tokens": 1, "completion_tokens": 1})
    assert totals.row(3) == {
        "total_prompt_tokens": 301, "total_completion_tokens": 51, "total_cost_usd": 0.5, "total_steps": 3,
        "extra": {"total_reasoning_tokens": 8},
    }  # fmt: skip
