"""What a session is doing: lines that nest, and the states that follow from them."""

import json

import pytest
from hypothesis import given

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event, SessionRef
from katod.lifecycle import Lifecycle, after
from katod.metadata import Replay
from katod.states import Need, State, judged
from tests.examples import examples, mostly
from tests.golden.cases import cases
from tests.support.anyevents import conversations
from tests.support.translated import translated

REF = SessionRef("claude", "s")
# A stream of zot: its rows in two runs, one that failed and one with a tool, and what each row says of the session.
FAILED = [
    ({"type": "response", "command": "prompt", "data": {"started": True}, "id": "1", "success": True}, None),
    ({"type": "user_message", "content": [{"type": "text", "text": "check the directory"}]}, "message_update"),
    ({"type": "turn_start", "step": 1}, "turn_start"),
    ({"type": "turn_end", "stop": "error", "error": "http 401"}, "turn_end"),
    ({"type": "error", "message": "http 401"}, "error"),
    ({"type": "done"}, "agent_end"),
]
CALL = {"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "uname -a"}}
RAN = [
    ({"type": "response", "command": "prompt", "data": {"started": True}, "id": "1", "success": True}, None),
    ({"type": "user_message", "content": [{"type": "text", "text": "run uname -a"}]}, "message_update"),
    ({"type": "turn_start", "step": 1}, "turn_start"),
    ({"type": "assistant_start"}, "message_start"),
    ({"type": "tool_use_start", "id": "c1", "name": "bash"}, "tool_execution_start"),
    ({"type": "tool_use_args", "id": "c1", "delta": '{"command": '}, "tool_execution_update"),
    ({"type": "tool_use_args", "id": "c1", "delta": '"uname -a"}'}, "tool_execution_update"),
    ({"type": "tool_use_end", "id": "c1"}, "tool_execution_update"),
    ({"type": "usage", "input": 10, "output": 5, "cache_read": 896}, None),
    ({"type": "assistant_message", "content": [CALL]}, "message_end"),
    (CALL, None),
    ({"type": "turn_end", "stop": "tool_use"}, "turn_end"),
    ({"type": "tool_progress", "id": "c1", "text": "FreeBSD"}, "tool_execution_update"),
    ({"type": "tool_result", "id": "c1", "is_error": False, "content": [{"text": "FreeBSD"}]}, "tool_execution_end"),
    ({"type": "turn_start", "step": 2}, "turn_start"),
    ({"type": "assistant_start"}, "message_start"),
    ({"type": "text_delta", "delta": "This"}, "message_update"),
    ({"type": "text_delta", "delta": " system"}, "message_update"),
    ({"type": "usage", "input": 10, "output": 5, "cache_read": 896}, None),
    ({"type": "assistant_message", "content": [{"type": "text", "text": "This system"}]}, "message_end"),
    ({"type": "turn_end", "stop": "end"}, "turn_end"),
    ({"type": "done"}, "agent_end"),
]


def event(kind, payload=None, *, subagent="", **source):
    """Return an event with this payload."""
    return Event("e", kind, REF._replace(subagent=subagent), payload or {}, source)


def told(*events, lifecycle=None):
    """Return the types of the lines of these events, and the state after them."""
    lifecycle = lifecycle or Lifecycle()
    lines = [line["type"] for one in events for line in lifecycle.take(one)]
    return lines, lifecycle.state


def assert_nested(lines):
    """Check that each start has its end, inside of what it began in, and that nothing ends that did not start."""
    opened, calls = [], []
    for line in lines:
        kind = line["type"]
        if kind == "tool_execution_start":
            assert "turn" in opened
            calls.append(line["toolCallId"])
        elif kind == "tool_execution_end":
            calls.remove(line["toolCallId"])
        elif kind == "tool_execution_update":
            assert line["toolCallId"] in calls
        elif kind.endswith("_start"):
            name = kind.removesuffix("_start")
            assert opened == {"agent": [], "turn": ["agent"], "message": ["agent", "turn"]}.get(name, opened)
            opened.append(name)
        elif kind.endswith("_end"):
            assert opened.pop() == kind.removesuffix("_end")
            assert opened != ["agent"] or not calls, "calls end in their turn"


# -- zot, by the letter -----------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [FAILED, RAN], ids=["failed", "ran"])
def test_a_stream_of_zot_says_its_steps_itself(rows):
    """Row by row; `tool_call` says nothing, as `tool_use_start` said it. No text is repeated in pieces."""
    lifecycle = Lifecycle()
    events = translated("zot", *(row for row, _ in rows))
    by_row = [[one for one in events if one.source["offset"] == n * 100] for n in range(len(rows))]
    said = [told(*some, lifecycle=lifecycle)[0] for some in by_row]
    assert said == [[line] if line else [] for _, line in rows]
    assert lifecycle.state is State.DONE
    steps = [one.payload for one in events if one.payload.get("subtype") == "lifecycle"]
    assert "system" not in json.dumps(steps)


# -- for any events -----------------------------------------------------------------------------------


@examples(4, 1_000)
@given(events=conversations())
def test_starts_and_ends_nest_whatever_happens(events):
    """Each call ends once, and the state is the one that the table gives for the lines."""
    lifecycle, lines = Lifecycle(), []
    state = State.IDLE
    for one in events:
        new = lifecycle.take(one)
        lines += new
        for line in new:
            state = after(state, line["type"])
        assert lifecycle.state is state
        lifecycle = Lifecycle(kept=json.loads(json.dumps(lifecycle.kept())))
    assert_nested(lines)


@pytest.mark.parametrize("case", mostly(set(cases()[::9]), cases()), ids=str)
def test_lines_of_real_records_nest(case):
    """In every fixture; what a captured stream says itself nests if it does so itself."""
    replay: Replay = list(case.events())
    lifecycle = AGENTS[replay[0][1].key.agent].lifecycle(replay[0][1].key.subagent) if replay else Lifecycle()
    lines = [line for one, _ in replay for line in lifecycle.take(one)]
    if not any(one.payload.get("subtype") == "lifecycle" for one, _ in replay):
        assert_nested(lines)


ENDING = [
    "claude/plain-turn",
    "codex/plain-legacy",
    "codex/plain-paginated",
    "cursor/plain",
    "gemini/plain",
    "opencode/plain",
]
ASKING = [
    "claude/ask-user-question",
    "codex/request-user-input",
    "copilot/question-sub-agent-abort",
    "cursor/questions",
]


@pytest.mark.parametrize("name", [*ENDING, *ASKING])
def test_what_agents_record_says_what_they_do(name):
    """They work from the prompt on, are blocked by a question, and are done in the end, or failed."""
    (case,) = (case for case in cases() if str(case) == name)
    events = list(case.events())
    lifecycle, states = AGENTS[events[0][1].key.agent].lifecycle(events[0][1].key.subagent), [State.IDLE]
    for one, _ in events:
        for line in lifecycle.take(one):
            state = after(states[-1], line["type"])
            states += [state] if state is not states[-1] else []
    states += [judged(lifecycle.seen, None, 1.0, 100.0).state]
    assert states[:2] == [State.IDLE, State.WORKING]
    assert (State.BLOCKED in states) is (name in ASKING)
    assert states[-1] in (State.DONE, State.ERROR)


# -- turns --------------------------------------------------------------------------------------------

PROMPT = event(ev.USER_MESSAGE, {"text": "go"})
CALLED = event(ev.TOOL_CALL, {"toolCallId": "c", "name": "Bash"})
RESULT = event(ev.TOOL_RESULT, {"toolCallId": "c", "text": "ok"})


def test_an_answer_with_a_reason_to_stop_ends_the_turn():
    """Not one that calls a tool, nor while a tool runs."""
    asked = [PROMPT, event(ev.ASSISTANT_MESSAGE, {"text": "I look.", "stopReason": "tool_use"}), CALLED]
    assert told(*asked)[1] is State.WORKING
    assert told(*asked, RESULT)[1] is State.WORKING
    lines, state = told(*asked, RESULT, event(ev.ASSISTANT_MESSAGE, {"text": "Done.", "stopReason": "end_turn"}))
    assert state is State.DONE
    assert lines == [
        "agent_start", "message_update", "turn_start", "message_start", "message_end", "tool_execution_start",
        "tool_execution_end", "turn_end", "turn_start", "message_start", "message_end", "turn_end", "agent_end",
    ]  # fmt: skip


def test_what_was_used_ends_an_answer_that_called_nothing():
    """Where an agent records no reason to stop; thinking alone is no answer."""
    usage = event(ev.USAGE, {"scope": "message", "output": 1})
    assert told(PROMPT, event(ev.ASSISTANT_MESSAGE, {"text": "Done."}), usage)[1] is State.DONE
    assert told(PROMPT, event(ev.ASSISTANT_THINKING, {"text": "Hm."}), usage)[1] is State.WORKING
    assert told(PROMPT, event(ev.ASSISTANT_MESSAGE, {"text": "I look."}), CALLED, RESULT, usage)[1] is State.WORKING


def test_where_an_agent_says_when_its_turns_end_nothing_else_does():
    """Neither an answer nor what was used."""
    said = event(ev.ASSISTANT_MESSAGE, {"text": "So far.", "stopReason": "stop"})
    events = [event(ev.TURN_START), PROMPT, said, event(ev.USAGE, {"scope": "message", "output": 1})]
    assert told(*events)[1] is State.WORKING
    lines, state = told(*events, event(ev.TURN_END, {"reason": "done"}))
    assert (lines[-2:], state) == (["turn_end", "agent_end"], State.DONE)


def test_a_step_with_calls_ends_when_the_next_one_begins():
    """The agent is at work in between; the last step is without calls, and ends it."""
    first = [PROMPT, event(ev.TURN_START, {"number": 0}), CALLED, RESULT, event(ev.TURN_END, {"reason": "done"})]
    lines, state = told(*first)
    assert (lines[-1], state) == ("tool_execution_end", State.WORKING)
    lines, state = told(*first, event(ev.TURN_START, {"number": 1}))
    assert (lines[-2:], state) == (["turn_end", "turn_start"], State.WORKING)
    last = [event(ev.TURN_START, {"number": 1}), event(ev.TURN_END, {"reason": "done"})]
    assert told(*first, *last)[0][-1] == "agent_end"
    assert told(*first, event(ev.TURN_END, {"reason": "aborted"}))[0][-2:] == ["turn_end", "agent_end"]


def test_an_interrupt_ends_all_that_was_open():
    """Calls, too: a result that comes later ends nothing again."""
    lifecycle = Lifecycle()
    lines, state = told(PROMPT, CALLED, event(ev.TURN_END, {"reason": "aborted"}), lifecycle=lifecycle)
    assert (lines[-3:], state) == (["tool_execution_end", "turn_end", "agent_end"], State.DONE)
    assert told(RESULT, lifecycle=lifecycle) == ([], State.DONE)


def test_a_message_that_is_written_meanwhile_ends_nothing():
    """While a tool runs; between turns, the next prompt ends what went before."""
    assert told(PROMPT, CALLED, PROMPT)[0][-1] == "message_update"
    lines, _ = told(PROMPT, event(ev.ASSISTANT_MESSAGE, {"text": "Done."}), PROMPT)
    assert lines[-4:] == ["turn_end", "agent_end", "agent_start", "message_update"]


def test_an_answer_to_a_prompt_ends_the_calls_before_it():
    """A model that answers has the results of its calls: if they are not recorded, the client was killed meanwhile."""
    first, second = (event(ev.USER_MESSAGE, {"text": "Look."}, offset=offset) for offset in (1, 2))
    said = {"text": "Done."}
    lines, _ = told(first, CALLED, second, event(ev.ASSISTANT_MESSAGE, said))
    begun = lines.index("tool_execution_start")
    assert lines[begun:] == [
        "tool_execution_start", "message_update", "tool_execution_end", "turn_end", "turn_start", "message_start",
        "message_end",
    ]  # fmt: skip
    call = CALLED._replace(source={"messageId": "m"})
    lines, _ = told(first, call, second, event(ev.ASSISTANT_MESSAGE, said, messageId="m"))
    assert "tool_execution_end" not in lines  # the same answer goes on


def test_a_failure_is_an_error_unless_it_is_tried_again():
    """It ends the turn, and lasts until something else happens."""
    lines, state = told(PROMPT, event(ev.ERROR, {"message": "overloaded", "retry": {"attempt": 1, "max": 10}}))
    assert (lines, state) == (["agent_start", "message_update"], State.WORKING)
    for last in ({}, {"retry": {"attempt": 10, "max": 10}}):
        lines, state = told(
            PROMPT, event(ev.ERROR, {"message": "limit"} | last), event(ev.TURN_END, {"reason": "done"})
        )
        assert (lines[-2:], state) == (["agent_end", "error"], State.ERROR)


def test_what_a_person_runs_or_is_told_begins_nothing():
    """Shell commands and slash commands; the client's own words."""
    given = [
        event(ev.USER_MESSAGE, {"text": "! ls", "subtype": kind}) for kind in ("shell", "slash-command", "context")
    ]
    assert told(*given, event(ev.SYSTEM_MESSAGE, {"text": "hi"})) == ([], State.IDLE)


def test_a_command_to_katod_is_a_prompt():
    """The model answers it as well; with the words around it, it is one message."""
    command = event(ev.USER_COMMAND, {"line": "::start"}, offset=7)._replace(time="2026-02-10T22:36:40Z")
    words = command._replace(kind=ev.USER_MESSAGE, payload={"text": "go"})
    assert told(command) == (["agent_start", "message_update"], State.WORKING)
    assert told(command, words) == told(command)
    assert told(command, words._replace(time="2026-02-10T22:36:41Z"))[0].count("message_update") == 2


def test_what_was_used_may_be_recorded_before_the_calls_of_an_answer():
    """It ends nothing then: of some agents it comes with the first part of an answer."""
    usage = event(ev.USAGE, {"scope": "message", "output": 1})
    said = [PROMPT, event(ev.ASSISTANT_MESSAGE, {"text": "I look."}), usage]
    early = Lifecycle(usage_ends=False)
    assert told(*said, lifecycle=early)[1] is State.WORKING
    assert early.seen.may_be_over
    assert told(CALLED, lifecycle=early)[1] is State.WORKING
    assert not early.seen.may_be_over


def _claude(kind, content, n, **message):
    """Return a record of Claude Code without a reason to stop, as older versions write it."""
    common = {"uuid": f"u{n}", "timestamp": f"2026-02-10T22:36:{n:02}.000Z", "sessionId": "s", "cwd": "/home/me/app"}
    return common | {"type": kind, "message": {"role": kind, "content": content} | message}


def _gemini(n, **fields):
    return {"id": f"m{n}", "timestamp": f"2026-02-10T22:36:{n:02}.000Z"} | fields


_ANSWER = {"id": "msg_1", "model": "claude-opus-4-6", "stop_reason": None, "usage": {"output_tokens": 5}}
_SAID = _gemini(2, type="gemini", content="I look.", tokens={"input": 9, "output": 5}, model="gemini-2.5-pro")
SPLIT = {
    "claude": [
        _claude("user", "Look.", 1),
        _claude("assistant", [{"type": "text", "text": "I look."}], 2, **_ANSWER),
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "timestamp": "2026-02-10T22:36:03.000Z"},
        _claude("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}], 4, **_ANSWER),
    ],
    "gemini": [
        {"sessionId": "s", "projectHash": "0", "startTime": "2026-02-10T22:36:00.000Z", "kind": "main"},
        _gemini(1, type="user", content=[{"text": "Look."}]),
        _SAID,
        _SAID | {"toolCalls": [{"id": "t1", "name": "run_shell_command", "args": {}, "status": "success"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("agent", SPLIT)
def test_an_answer_whose_calls_are_recorded_later_is_not_done(agent):
    """Whatever comes between its text and its calls: the usage of Claude Code's, and Gemini's first writing of it."""
    lifecycle, states = AGENTS[agent].lifecycle(), set()
    for one in translated(agent, *SPLIT[agent]):
        lifecycle.take(one)
        states.add(lifecycle.state)
    assert State.DONE not in states
    assert lifecycle.state is State.WORKING


def test_a_compaction_is_work():
    """That of a client beside the conversation; within a turn, it is a part of that."""
    began = event(ev.PROVIDER_INFO, {"text": "", "subtype": "compaction-started", "data": {}})
    assert told(began) == (["agent_start"], State.WORKING)
    lines, state = told(began, event(ev.COMPACTION))
    assert (lines[1:], state) == (["auto_compaction_start", "auto_compaction_end", "agent_end"], State.DONE)
    assert told(began, event(ev.ERROR, {"message": "no"}))[1] is State.ERROR
    assert told(PROMPT, CALLED, began, event(ev.COMPACTION))[1] is State.WORKING
    assert told(began, PROMPT, event(ev.ASSISTANT_MESSAGE, {"text": "Done.", "stopReason": "stop"}))[1] is State.DONE


def test_the_words_of_a_sub_agent_are_not_the_sessions():
    """Unless it is the sub-agent that is followed."""
    said = event(ev.ASSISTANT_MESSAGE, {"text": "Found."}, subagent="a")
    assert told(said) == ([], State.IDLE)
    assert told(said, lifecycle=Lifecycle("a"))[1] is State.WORKING


# -- blocked --------------------------------------------------------------------------------------------

ASKED = event(ev.DECISION_PROMPT, {"decisionId": "c:0", "decisionKey": "k", "prompt": "Which?"})
ANSWERED = event(ev.DECISION_RESPONSE, {"decisionId": "c:0", "selections": ["a"]})


def permission(what, call="c", **more):
    """Return the event of a permission."""
    data = {"requestId": "r", "toolCallId": call}
    return event(ev.PROVIDER_INFO, {"text": "", "subtype": f"permission-{what}", "data": data}, **more)


@pytest.mark.parametrize("answer", [ANSWERED, RESULT])
def test_an_open_question_blocks_until_it_is_answered(answer):
    """By its answer, or by the result of its call."""
    lifecycle = Lifecycle()
    lines, state = told(PROMPT, CALLED, ASKED, lifecycle=lifecycle)
    assert (lines[-1], state) == ("queue_update", State.BLOCKED)
    assert lifecycle.need == Need("question", "Bash")
    assert told(PROMPT, CALLED, ASKED, answer)[1] is State.WORKING


def test_a_question_of_no_open_call_blocks_nothing():
    """A plan that ends a turn, for example."""
    assert told(PROMPT, ASKED)[1] is State.WORKING


@pytest.mark.parametrize("subagent", ["", "a"])
def test_a_permission_blocks_until_it_is_given(subagent):
    """Also one that a sub-agent asks for: its call is a part of one of the session."""
    call = "c" if not subagent else "of-the-sub-agent"
    asked = [PROMPT, CALLED, permission("requested", call, subagent=subagent)]
    lifecycle = Lifecycle()
    assert told(*asked, lifecycle=lifecycle)[1] is State.BLOCKED
    assert lifecycle.need == Need("permission", "" if subagent else "Bash")
    lines, state = told(*asked, permission("completed", call, subagent=subagent))
    assert (lines[-1], state) == ("tool_execution_update", State.WORKING)


def test_what_happens_meanwhile_does_not_unblock():
    """The result of another call; but an interrupt does, and a prompt."""
    other = [
        event(ev.TOOL_CALL, {"toolCallId": "d", "name": "Read"}),
        event(ev.TOOL_RESULT, {"toolCallId": "d", "text": ""}),
    ]
    asked = [PROMPT, CALLED, other[0], permission("requested")]
    lines, state = told(*asked, other[1])
    assert (lines[-2:], state) == (["tool_execution_end", "queue_update"], State.BLOCKED)
    assert told(*asked, event(ev.TURN_END, {"reason": "aborted"}))[1] is State.DONE
    assert told(*asked, PROMPT)[1] is State.WORKING


# -- states -----------------------------------------------------------------------------------------------


def test_states_follow_the_table():
    """A type that is unknown changes nothing."""
    table = {
        "session": "idle", "agent_start": "working", "turn_start": "working", "message_start": "working",
        "message_update": "working", "tool_execution_start": "working", "tool_execution_update": "working",
        "tool_execution_end": "working", "queue_update": "blocked", "turn_end": "done", "agent_end": "done",
        "error": "error",
    }  # fmt: skip
    for state in State:
        assert {line: str(after(state, line)) for line in table} == table
        assert all(
            after(state, line) is state for line in ("message_end", "model_changed", "auto_compaction_end", "new")
        )
