"""Conversations as spans: a whole tree, each span once and final, all that was used, and no word unless asked for."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event, SessionRef
from katod.formats.otlp import names
from katod.formats.otlp.spent import Spent
from katod.formatspec import open_format
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from katod.record.export import render_all
from tests.examples import examples, mostly
from tests.formats.otlp import golden
from tests.golden.cases import Case, cases
from tests.looping import each
from tests.otlp.receiver import TakenSpan, spans_in
from tests.support.anyevents import conversations
from tests.support.rendering import rendered

OPTIONS = (
    Options(recorder="katod 1"), Options(tools="none"), Options(tools="full", thinking=True, span_content=True)
)  # fmt: skip
REF = SessionRef("claude", "s")
WORDS = ("zanzibar", "quagga")
# What adapters choose from a few words of their own.
CHOSEN = {"scope", "reason", "what", "family", "subtype", "subagent", "toolCallId"}
CASES = mostly(cases()[::5], cases())


def event(number: int, kind: str, *, time: str = "", actor: str = "", **payload: Any) -> Event:
    """Return an event of a session; without a time, it is a second after the one before."""
    moment = time or f"2026-02-10T22:36:{number:02}Z"
    source = {"providerEventId": f"r{number}", "messageId": payload.pop("message", f"m{number}")}
    model = "claude-opus-4-6" if kind.startswith("assistant") else ""
    ref = REF._replace(subagent=actor)
    return Event(f"claude:s:{number}", kind, ref, payload, source, moment, "recorded", model=model)


def shown(*events: Event, options: Options = OPTIONS[0]) -> list[TakenSpan]:
    """Return the spans of some events."""
    return spans_in(rendered("otlp", events, options))


def named(spans: list[TakenSpan], start: str) -> list[TakenSpan]:
    """Return the spans whose name begins like this."""
    return [one for one in spans if one.span.name.startswith(start)]


# -- every session ------------------------------------------------------------------------------------


def assert_tree(spans: list[TakenSpan]) -> None:
    """Assert that the session is first, that all are of its trace, each once, and below one that is there."""
    ids = [one.id for one in spans]
    assert len(set(ids)) == len(ids)
    assert [one.span.name for one in spans if one.parent not in ids] == [spans[0].span.name]
    assert len({one.span.trace_id for one in spans}) == 1


def sums_of(spans: list[TakenSpan]) -> Counter[str]:
    """Return what all spans say that was used."""
    found: Counter[str] = Counter()
    for one in spans:
        for name in (names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ, names.REASONING, names.OI_COST):
            found[name] += one.attributes.get(name, 0)
    return found


def used_in(case: Case) -> dict[str, float]:
    """Return what the usage events of a session say."""
    found = dict.fromkeys(
        (names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ, names.REASONING, names.OI_COST), 0.0
    )
    for one, _ in case.events():
        if one.kind == ev.USAGE:
            spent = Spent.of(one.payload, AGENTS[case.agent].answers)
            assert one.payload["scope"] == "message"
            found[names.INPUT_TOKENS] += spent.prompt or 0
            found[names.OUTPUT_TOKENS] += spent.completion or 0
            found[names.CACHE_READ] += spent.cache_read or 0
            found[names.REASONING] += spent.reasoning or 0
            found[names.OI_COST] += spent.cost or 0
    return found


@pytest.mark.breaks
@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sessions_of_every_agent_are_whole_trees(case: Case) -> None:
    """A strict reader takes each line, and what was used is what the session's events say."""
    for options in OPTIONS:
        text = "".join(render_all(case.events(), "otlp", options))
        spans = spans_in(text)
        assert_tree(spans)
        assert dict(sums_of(spans)) == pytest.approx(used_in(case))


@pytest.mark.breaks
@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_printer_that_is_restarted_after_each_event_goes_on(case: Case) -> None:
    """Its state is all that it knows, and it is JSON."""
    for options in OPTIONS:
        printer, text = open_format("otlp", options), ""
        for one, metadata in case.events():
            text += printer.event(one, metadata)
            printer = open_format("otlp", options, json.loads(json.dumps(printer.state())))
        assert text + printer.pause() == "".join(render_all(case.events(), "otlp", options))


def test_a_session_gives_its_golden_file() -> None:
    """Byte for byte."""
    assert golden.text() == golden.GOLDEN.read_bytes(), "if meant: python -m tests.golden.update"


@examples(10, 400)
@given(events=conversations())
def test_any_conversation_is_a_whole_tree(events: list[Event]) -> None:
    """Whatever the order of events, and wherever they stop."""
    assert_tree(spans_in(rendered("otlp", events, OPTIONS[0])))


def planted(value: Any, key: str = "") -> Any:
    """Return a value with words in each of its texts."""
    if isinstance(value, dict):
        return {name: planted(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [planted(inner) for inner in value]
    return f"{WORDS[0]} {value}/{WORDS[1]}" if isinstance(value, str) and key not in CHOSEN else value


@examples(10, 400)
@given(events=conversations())
def test_no_word_is_told_without_content(events: list[Event]) -> None:
    """Neither of what was said nor of names that may be sentences or paths, wherever it is; with content, it is."""
    full = [
        one._replace(payload=planted(one.payload), model=f"/home/{WORDS[0]}/{one.model}" if one.model else "")
        for one in events
    ]
    for tools in ("none", "summary", "full"):
        text = rendered("otlp", full, Options(tools=tools, thinking=True))  # type: ignore[arg-type]
        assert [word for word in WORDS if word in text] == []


# -- one at a time ------------------------------------------------------------------------------------


def test_a_span_is_printed_when_it_is_final() -> None:
    """The session at once, a call with its result, an answer with its usage, a turn when it is over."""
    events = [
        event(0, ev.SESSION_START, cwd="/p"), event(1, ev.USER_MESSAGE, text="hello"),
        event(2, ev.TOOL_CALL, toolCallId="c", name="Bash", family="execute", input={}, message="a"),
        event(3, ev.USAGE, scope="message", input=7, output=2, message="a"),
        event(4, ev.TOOL_RESULT, toolCallId="c", text="ok"),
        event(5, ev.ASSISTANT_MESSAGE, text="done", message="b"), event(6, ev.TURN_END, reason="done"),
        event(7, ev.USAGE, scope="message", input=9, output=3, message="b"),
    ]  # fmt: skip
    printer, metadata = open_format("otlp", OPTIONS[0]), SessionMetadata(SessionKey("claude", "s"))
    texts = (printer.event(one, metadata) for one in metadata.observed(events))
    found = [[span.span.name for span in spans_in(text)] for text in texts]
    chat = "chat claude-opus-4-6"
    assert found == [
        ["session Claude Code"], [], [], [chat], ["execute_tool Bash"], [], ["invoke_agent Claude Code"], [chat]
    ]  # fmt: skip
    assert printer.pause() == ""


def test_times_are_those_of_events() -> None:
    """An answer lasts from what it answers to its usage, a call to its result, a turn from the prompt to its end."""
    spans = shown(
        event(1, ev.USER_MESSAGE, text="hello"),
        event(5, ev.TOOL_CALL, toolCallId="c", name="Bash", family="execute", input={}, message="a"),
        event(6, ev.USAGE, scope="message", output=2, message="a"),
        event(9, ev.TOOL_RESULT, toolCallId="c", text="ok"),
        event(11, ev.TURN_END, reason="done"),
    )
    second = 10**9
    start = spans[0].span.start_time_unix_nano
    times = {one.span.name.split()[0]: (one.span.start_time_unix_nano - start, one.span.end_time_unix_nano - start) for one in spans}  # fmt: skip
    assert times == {
        "session": (0, 0), "chat": (0, 5 * second), "execute_tool": (4 * second, 8 * second),
        "invoke_agent": (0, 10 * second),
    }  # fmt: skip


def test_a_time_that_is_not_recorded_is_that_of_the_event_before() -> None:
    """And says so; before the first one nothing is known, which is 0."""
    unknown = event(1, ev.USER_MESSAGE, text="a")._replace(time="", time_source="")
    said = event(2, ev.ASSISTANT_MESSAGE, text="b")._replace(time="", time_source="")
    for one in shown(unknown, said):
        assert (one.span.start_time_unix_nano, one.span.end_time_unix_nano) == (0, 0)
    spans = shown(event(1, ev.USER_MESSAGE, text="a"), said)
    assert {one.span.start_time_unix_nano for one in spans} == {spans[0].span.start_time_unix_nano} != {0}
    assert [one.attributes.get(names.NO_TIME) for one in named(spans, "chat")] == [True]


def test_a_span_never_ends_before_it_begins() -> None:
    """Clocks are set back, and a result may be recorded with an earlier time than its call."""
    spans = shown(
        event(9, ev.TOOL_CALL, toolCallId="c", name="Bash", family="execute", input={}),
        event(3, ev.TOOL_RESULT, toolCallId="c", text="ok"),
    )
    [call] = named(spans, "execute_tool")
    assert call.span.start_time_unix_nano == call.span.end_time_unix_nano


def test_two_recordings_of_a_session_begin_with_the_same_span() -> None:
    """Its time is that of the session, wherever the recording begins: a collector may get both."""
    events = [event(n, ev.USER_MESSAGE, text="x") for n in range(4)]
    firsts = []
    for begin in (0, 2):
        printer, metadata = open_format("otlp", OPTIONS[0]), SessionMetadata(SessionKey("claude", "s"))
        texts = [printer.event(one, metadata) if n >= begin else "" for n, one in enumerate(metadata.observed(events))]
        firsts.append("".join(texts).split("\n")[0])
    assert firsts[0] == firsts[1]


def test_what_a_session_sums_up_is_counted_beyond_its_answers() -> None:
    """In a span of its own: the tokens of prompts where answers have none, the cost, and nothing twice."""
    spans = shown(
        event(0, ev.SESSION_START, cwd="/p"), event(1, ev.USER_MESSAGE, text="x"),
        event(2, ev.ASSISTANT_MESSAGE, text="y"), event(3, ev.USAGE, scope="message", output=5, message="m2"),
        event(4, ev.USAGE, scope="session", input=100, output=7, costUsd=0.5),
        event(5, ev.USAGE, scope="session", input=100, output=7, costUsd=0.5),
        event(6, ev.USAGE, scope="session", input=120, output=9, costUsd=0.75),
    )  # fmt: skip
    found = sums_of(spans)
    assert (found[names.INPUT_TOKENS], found[names.OUTPUT_TOKENS], found[names.OI_COST]) == (120, 9, 0.75)
    assert len(named(spans, "session usage")) == 2


def test_a_sum_says_nothing_of_what_was_not_recorded() -> None:
    """If the recording begins later, only what is added to the first sum is known to belong to it."""
    spans = shown(
        event(1, ev.USER_MESSAGE, text="x"), event(4, ev.USAGE, scope="session", input=100, output=7),
        event(6, ev.USAGE, scope="session", input=120, output=9), event(7, ev.ASSISTANT_MESSAGE, text="y"),
    )  # fmt: skip
    assert named(spans, "session usage") == []
    assert sums_of(spans)[names.INPUT_TOKENS] == 0


def test_an_agent_that_counts_from_0_again_is_added() -> None:
    """As after a restart of its client."""
    sums = (100, 120, 30)
    spans = shown(
        event(0, ev.SESSION_START, cwd="/p"),
        *(event(n, ev.USAGE, scope="session", input=n_tokens, output=1) for n, n_tokens in enumerate(sums, 1)),
    )
    assert sums_of(spans)[names.INPUT_TOKENS] == 150


def test_without_tools_spans_say_nothing_of_calls() -> None:
    """What a sub-agent used in the session's file is below the turn then."""
    spans = shown(
        event(1, ev.USER_MESSAGE, text="x"),
        event(2, ev.TOOL_CALL, toolCallId="c", name="Task", family="agent", input={}),
        event(3, ev.ASSISTANT_MESSAGE, text="y", actor="sub"),
        event(4, ev.USAGE, scope="message", output=5, message="m3", actor="sub"),
        event(5, ev.TOOL_RESULT, toolCallId="c", text="z"), options=OPTIONS[1],
    )  # fmt: skip
    assert named(spans, "execute_tool") == named(spans, "invoke_agent subagent") == []
    assert sums_of(spans)[names.OUTPUT_TOKENS] == 5
    assert_tree(spans)


def test_switches_of_a_range_hold_from_its_mark_on() -> None:
    """As `::start -tools` says."""
    printer, metadata = open_format("otlp", OPTIONS[0]), SessionMetadata(SessionKey("claude", "s"))
    printer.mark(Mark("started", switches=(("tools", False),)))
    text = ""
    for one in metadata.observed([
        event(1, ev.USER_MESSAGE, text="x"), event(2, ev.TOOL_CALL, toolCallId="c", name="Bash", family="execute", input={}),
        event(3, ev.TOOL_RESULT, toolCallId="c", text="z"),
    ]):  # fmt: skip
        text += printer.event(one, metadata)
    assert "execute_tool" not in text + printer.pause()


@each(
    ("payload", "error"),
    [
        ({"isError": True}, "_OTHER"), ({"denied": True}, "permission_denied"), ({"status": "timeout"}, "timeout"),
        ({"status": "interrupted"}, "aborted"), ({"status": "launched"}, ""), ({}, ""),
    ],
)  # fmt: skip
def test_a_call_that_failed_says_how(payload: dict[str, Any], error: str) -> None:
    """By a class of errors, never by words; the status is that of an error then."""
    spans = shown(
        event(1, ev.TOOL_CALL, toolCallId="c", name="Bash", family="execute", input={}),
        event(2, ev.TOOL_RESULT, toolCallId="c", text="words", **payload),
    )
    [call] = named(spans, "execute_tool")
    assert (call.attributes.get(names.ERROR_TYPE, ""), call.span.status.code) == (error, 2 if error else 0)


@each(
    ("events", "error"),
    [
        ([event(3, ev.TURN_END, reason="aborted")], "aborted"),
        ([event(3, ev.ERROR, message="words", httpStatus=529), event(4, ev.TURN_END, reason="error")], "529"),
        ([event(3, ev.ERROR, message="words", code="rate_limit"), event(4, ev.TURN_END, reason="error")], "rate_limit"),
        ([event(3, ev.ERROR, message="words", code="my words"), event(4, ev.TURN_END, reason="error")], "_OTHER"),
        ([event(3, ev.ERROR, message="w", retry={"attempt": 1, "max": 3}), event(4, ev.TURN_END, reason="done")], ""),
        ([event(3, ev.TURN_END, reason="done")], ""),
    ],
)  # fmt: skip
def test_a_turn_that_failed_says_how(events: list[Event], error: str) -> None:
    """An error after which the request is made again is none."""
    spans = shown(event(1, ev.USER_MESSAGE, text="x"), event(2, ev.ASSISTANT_MESSAGE, text="y"), *events)
    turn = named(spans, "invoke_agent")[-1]
    assert turn.attributes.get(names.ERROR_TYPE, "") == error


def test_a_call_without_a_result_says_so_when_the_next_turn_begins() -> None:
    """It ends with what is known of it; the result that comes after that is none of its."""
    spans = shown(
        event(1, ev.USER_MESSAGE, text="x"),
        event(2, ev.TOOL_CALL, toolCallId="c", name="Bash", family="execute", input={}),
        event(3, ev.TURN_END, reason="aborted"), event(4, ev.USER_MESSAGE, text="y"),
        event(5, ev.TOOL_RESULT, toolCallId="c", text="late"),
    )  # fmt: skip
    [call] = named(spans, "execute_tool")
    assert call.attributes[names.NO_RESULT] is True


def test_a_sub_agent_is_below_the_call_that_started_it() -> None:
    """Whether its agent says that it starts, or it only speaks in the session's file; it ends with the result."""
    call = event(2, ev.TOOL_CALL, toolCallId="c", name="Task", family="agent", input={})
    speaks = [
        event(3, ev.USER_MESSAGE, text="look", subtype="task", actor="sub"),
        event(4, ev.ASSISTANT_MESSAGE, text="seen", actor="sub"),
    ]
    result = event(6, ev.TOOL_RESULT, toolCallId="c", text="z")
    started, ended = (
        event(3, ev.AGENT_START, subagent="sub"),
        event(7, ev.AGENT_END, subagent="sub", status="completed"),
    )
    for events in ([call, *speaks, result], [call, started, result, ended]):
        spans = shown(event(1, ev.USER_MESSAGE, text="x"), *events)
        [task], [work] = named(spans, "execute_tool"), named(spans, "invoke_agent subagent")
        assert work.parent == task.id
        assert work.attributes[names.SUBAGENT] == "sub"
        assert_tree(spans)


def test_a_sub_agent_with_a_file_of_its_own_is_in_the_trace_of_its_session() -> None:
    """Below the session, whose span follows from the key alone."""
    parent = shown(event(1, ev.USER_MESSAGE, text="x"))
    key = SessionKey("claude", "s", "sub")
    printer, metadata, text = open_format("otlp", OPTIONS[0]), SessionMetadata(key), ""
    for one in metadata.observed([event(2, ev.ASSISTANT_MESSAGE, text="y", actor="sub")]):
        text += printer.event(one, metadata)
    spans = spans_in(text + printer.pause())
    assert spans[0].parent == parent[0].id
    assert {one.span.trace_id for one in spans} == {parent[0].span.trace_id}


def test_a_session_that_another_one_started_links_to_it() -> None:
    """Whose trace and span follow from its id: nobody knows here whether that is below yet another one."""
    other = shown(event(1, ev.USER_MESSAGE, text="x")._replace(session=REF._replace(id="other")))
    start = event(0, ev.SESSION_START, cwd="/p")._replace(session=REF._replace(parent="other"))
    spans = shown(start, event(1, ev.USER_MESSAGE, text="x"))
    [link] = spans[0].span.links
    assert f"{link.trace_id.hex()}/{link.span_id.hex()}" == other[0].id
    assert spans[0].span.trace_id != link.trace_id


def test_content_is_what_the_recording_shows() -> None:
    """Thinking only with `thinking`, what tools were given and returned only with all of the tools; without secrets."""
    secret = "ghp_" + "x9YzQ2" * 6
    events = [
        event(1, ev.USER_MESSAGE, text=f"hello {secret}"), event(2, ev.ASSISTANT_THINKING, text="ponder", message="a"),
        event(3, ev.TOOL_CALL, toolCallId="c", name="Bash", family="execute", input={"command": "ls okapi"}, message="a"),
        event(4, ev.TOOL_RESULT, toolCallId="c", text="lemur"), event(5, ev.ASSISTANT_MESSAGE, text="bye", message="b"),
    ]  # fmt: skip
    found = {}
    for tools in ("none", "summary", "full"):
        text = rendered("otlp", events, replace(OPTIONS[0], span_content=True, tools=tools, thinking=tools == "full"))
        found[tools] = {word for word in ("hello", "ponder", "okapi", "lemur", "bye", "Bash") if word in text}
        assert secret not in text
    assert found == {
        "none": {"hello", "bye"}, "summary": {"hello", "bye", "Bash"},
        "full": {"hello", "ponder", "okapi", "lemur", "bye", "Bash"},
    }  # fmt: skip
    spans = shown(*events, options=OPTIONS[2])
    [said, *_] = [json.loads(one.attributes[names.OUTPUT_MESSAGES]) for one in named(spans, "chat")]
    assert [part["type"] for part in said[0]["parts"]] == ["reasoning", "tool_call"]


def test_long_content_is_cut() -> None:
    """State is small, and so is a span."""
    events = [event(1, ev.USER_MESSAGE, text="x" * 100_000), event(2, ev.ASSISTANT_MESSAGE, text="y" * 100_000)]
    assert len(rendered("otlp", events, OPTIONS[2])) < 40_000


def test_a_turn_in_which_nothing_happens_is_none() -> None:
    """Such as that of the command that stops the recording."""
    spans = shown(event(1, ev.USER_MESSAGE, text="x"), event(2, ev.USER_MESSAGE, text="y"))
    assert [one.span.name for one in spans] == ["session Claude Code"]
    assert open_format("otlp", OPTIONS[0]).state() == {}
    assert open_format("otlp", OPTIONS[0]).pause() == ""


def test_many_calls_and_sub_agents_without_an_end_are_bounded() -> None:
    """The oldest are printed as they are: the state does not grow with the session."""
    printer, metadata = open_format("otlp", OPTIONS[2]), SessionMetadata(SessionKey("claude", "s"))
    events = [
        one
        for n in range(400)
        for one in (
            Event(f"c{n}", ev.TOOL_CALL, REF, {"toolCallId": f"c{n}", "name": "Bash", "family": "execute", "input": "x" * 9000}, {}),
            Event(f"a{n}", ev.AGENT_START, REF, {"subagent": f"a{n}"}, {}),
        )
    ]  # fmt: skip
    text = "".join(printer.event(one, metadata) for one in metadata.observed(events))
    assert len(json.dumps(printer.state())) < 600_000
    assert_tree(spans_in(text + printer.pause()))
