"""States of sessions as the newest clients write them: what was seen when a person refused, interrupted or was asked.

The records are those of Pi 0.87.1, OpenCode 1.18.33, Copilot CLI 1.0.102 and Codex 0.135, reduced to what they say of
the state.
"""

import json
from pathlib import Path

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.lifecycle import after
from katod.model import Identity, Record, SessionKey
from katod.states import QUIET_AFTER, Need, State, judged

NOW = 1_770_763_000.0
TIME = "2026-02-10T22:36:40.000Z"


class Session:
    """One session as its records are read."""

    def __init__(self, agent):
        self.key = SessionKey(agent, "s")
        self.adapter = AGENTS[agent].adapter(Origin(Identity(self.key), Path("/nowhere/s.jsonl")))
        self.lifecycle = AGENTS[self.key.agent].lifecycle(self.key.subagent)
        self.offset, self.events, self.passed = 0, [], []

    def take(self, *records):
        """Read records; return the state after them."""
        for record in records:
            self.offset += 1
            for event in self.adapter.feed(Record(self.offset, record)):
                self.events.append(event)
                self._follow(event)
        return self.lifecycle.state

    def _follow(self, event):
        state = self.lifecycle.state
        for line in self.lifecycle.take(event):
            state = after(state, line["type"])
            self.passed.append(state)

    def now(self, quiet=0.0):
        """Return what is shown of it, so long after the last record."""
        return judged(self.lifecycle.seen, None, NOW, NOW + quiet)

    def payloads(self, kind):
        """Return the payloads of all events of a kind."""
        return [event.payload for event in self.events if event.kind == kind]


# -- Pi ----------------------------------------------------------------------------------------------


def entry(number, **message):
    return {"type": "message", "id": f"{number:08x}", "parentId": None, "timestamp": TIME, "message": message}


PI_CALL = [
    entry(1, role="user", content="nap"),
    entry(2, role="assistant", stopReason="toolUse", content=[{"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}]),
]  # fmt: skip


def test_a_call_of_pi_that_its_person_interrupts_is_no_failure():
    """It calls its own answer to that an error."""
    session = Session("pi")
    aborted = entry(
        3, role="toolResult", toolCallId="c", isError=True, content=[{"type": "text", "text": "Command aborted"}]
    )
    stopped = entry(4, role="assistant", stopReason="error", errorMessage="This operation was aborted", content=[])
    assert session.take(*PI_CALL, aborted, stopped) is State.DONE
    assert session.payloads(ev.ERROR) == []
    assert session.payloads(ev.TURN_END) == [{"reason": "aborted"}]
    assert session.payloads(ev.TOOL_RESULT) == [{"toolCallId": "c", "text": "Command aborted", "status": "interrupted"}]


def test_a_failure_of_pi_is_one():
    """Whatever else the model answers with."""
    session = Session("pi")
    failed = entry(4, role="assistant", stopReason="error", errorMessage="529 overloaded", content=[])
    result = entry(
        3, role="toolResult", toolCallId="c", isError=True, content=[{"type": "text", "text": "not aborted"}]
    )
    assert session.take(*PI_CALL, result, failed) is State.ERROR
    assert session.payloads(ev.TOOL_RESULT) == [{"toolCallId": "c", "text": "not aborted", "isError": True}]


# -- OpenCode ----------------------------------------------------------------------------------------


def opencode(error):
    """Return a document whose only call ended with an error, after which the answer is complete."""
    state = {"status": "error", "error": error, "input": {"command": "x"}, "time": {"start": 2, "end": 3}}
    answer = {
        "id": "msg_2",
        "role": "assistant",
        "parentID": "msg_1",
        "finish": "tool-calls",
        "time": {"created": 2, "completed": 4},
    }
    return {
        "info": {"id": "s", "directory": "/home/me/app", "time": {"created": 1}},
        "messages": [
            {"info": {"id": "msg_1", "role": "user", "time": {"created": 1}}, "parts": [{"id": "prt_1", "type": "text", "text": "go"}]},
            {"info": answer, "parts": [{"id": "prt_2", "type": "tool", "tool": "bash", "callID": "c", "state": state}]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    "error", ["The user rejected permission to use this specific tool call.", "The user dismissed this question"]
)
def test_a_refusal_ends_the_turn_of_opencode(error):
    """Its answer ends as if the result were sent to the model, which it is not."""
    session = Session("opencode")
    assert session.take(opencode(error)) is State.DONE
    assert session.payloads(ev.TURN_END) == [{"reason": "aborted"}]


@pytest.mark.parametrize(
    "error",
    [
        "The user rejected permission to use this specific tool call with the following feedback: use make",
        "The user has specified a rule which prevents you from using this specific tool call.",
        "no such file",
    ],
)
def test_what_the_model_hears_of_is_no_end(error):
    """What else to do, a rule, or a failure: OpenCode goes on."""
    assert Session("opencode").take(opencode(error)) is State.WORKING


# -- Codex -------------------------------------------------------------------------------------------


def codex(kind, **payload):
    return {"timestamp": TIME, "type": "event_msg", "payload": {"type": kind} | payload}


def test_a_plan_of_codex_waits_for_its_person():
    """Once the turn has ended, until they say what to do with it."""
    session = Session("codex")
    meta = {"timestamp": TIME, "type": "session_meta", "payload": {"id": "s", "cwd": "/", "history_mode": "paginated"}}
    plan = codex("item_completed", item={"type": "Plan", "id": "p", "text": "# Plan"})
    assert session.take(meta, codex("task_started"), plan) is State.WORKING
    assert session.take(codex("task_complete")) is State.BLOCKED
    assert session.now(3600).need == Need("question")
    assert (
        session.lifecycle.kept()
        == AGENTS[session.key.agent].lifecycle(kept=json.loads(json.dumps(session.lifecycle.kept()))).kept()
    )
    assert session.take(codex("task_started")) is State.WORKING
    assert session.take(codex("task_complete")) is State.DONE


def test_a_plan_that_was_interrupted_does_not_wait():
    """Nobody is asked about it."""
    session = Session("codex")
    plan = codex("item_completed", item={"type": "Plan", "id": "p", "text": "# Plan"})
    assert session.take(codex("task_started"), plan, codex("turn_aborted")) is State.DONE


# -- Copilot -----------------------------------------------------------------------------------------


class Copilot(Session):
    """A session of Copilot CLI."""

    def __init__(self):
        super().__init__("copilot")

    def say(self, kind, **data):
        """Read one record; return the state after it."""
        number = self.offset + 1
        return self.take({"type": kind, "data": data, "id": f"e{number}", "timestamp": TIME, "parentId": None})

    def answer(self, *requests):
        """Read an answer, with calls or without, and the end of its step."""
        self.say("assistant.turn_start", turnId="0")
        self.say("assistant.message", messageId=f"m{self.offset}", content="I did a part.", toolRequests=list(requests))
        for request in requests:
            self.say(
                "tool.execution_complete", toolCallId=request["toolCallId"], success=True, result={"content": "ok"}
            )
        if any(request["name"] == "task_complete" for request in requests):
            self.say("session.task_complete", summary="all", success=True)
        return self.say("assistant.turn_end", turnId="0")


def call(name, **arguments):
    return {"toolCallId": "c1", "name": name, "arguments": arguments}


def test_a_plan_of_copilot_waits_for_its_person():
    """Until they accept it, or not; that answers the question."""
    session = Copilot()
    session.say("user.message", content="Plan it.", agentMode="plan")
    session.say("assistant.turn_start", turnId="0")
    planned = call("exit_plan_mode", summary="- all of it", actions=["interactive", "exit_only"])
    assert session.say("assistant.message", messageId="m", content="", toolRequests=[planned]) is State.BLOCKED
    assert session.now(3600).need == Need("question", "exit_plan_mode")
    chosen = {"responseKind": "exit_plan_mode", "approved": True, "selectedAction": "interactive"}
    assert session.say("human_response.recorded", toolCallId="c1", response=chosen) is State.WORKING
    (asked,), (answered,) = session.payloads(ev.DECISION_PROMPT), session.payloads(ev.DECISION_RESPONSE)
    assert (asked["decisionKey"], asked["prompt"]) == ("plan", "- all of it")
    assert answered == {"decisionId": asked["decisionId"], "selections": ["approved", "interactive"]}


def test_the_autopilot_of_copilot_works_until_it_is_quiet():
    """It sends itself the next prompt within a second, with or without words, and is never done in between."""
    session = Copilot()
    session.say("user.message", content="Do it all.", agentMode="autopilot")
    for more in ({"isAutopilotContinuation": True}, {"isAutopilotContinuation": True, "source": "autopilot"}):
        assert session.answer() is State.WORKING
        session.say("user.message", content="", agentMode="autopilot", **more)
    assert session.answer() is State.WORKING
    assert session.now(QUIET_AFTER - 1).state is State.WORKING
    assert session.now(QUIET_AFTER).word == "done?"


def test_the_autopilot_of_copilot_is_done_when_it_says_so():
    """Though its last step was a call; and nothing of it is left for the next prompt."""
    session = Copilot()
    session.say("user.message", content="Do it all.", agentMode="autopilot")
    assert session.answer(call("task_complete", summary="all")) is State.DONE
    session.say("user.message", content="Look.")
    assert session.answer(call("bash") | {"toolCallId": "c2"}) is State.WORKING
    assert session.answer() is State.DONE


# -- Gemini ------------------------------------------------------------------------------------------


def test_an_answer_of_gemini_is_done_after_ten_seconds():
    """Its calls, if there are any, come later, under its id."""
    session = Session("gemini")
    answer = {"id": "2", "timestamp": TIME, "type": "gemini", "content": "I look.", "tokens": {"output": 1}}
    session.take(
        {"sessionId": "s", "projectHash": "p", "startTime": TIME, "kind": "main"},
        {"id": "1", "timestamp": TIME, "type": "user", "content": [{"text": "Look."}]},
        answer,
    )
    assert [session.now(quiet).word for quiet in (0, 9.9, 10)] == ["working", "working", "done?"]
    called = {"id": "c", "name": "glob", "args": {}, "status": "success", "timestamp": TIME, "result": []}
    session.take(answer | {"toolCalls": [called]})
    assert session.now(10).word == "working"


def test_a_call_of_gemini_that_its_person_interrupts_is_over():
    """It is recorded after the note that says so."""
    session = Session("gemini")
    call = {"id": "c", "name": "run_shell_command", "args": {}, "status": "cancelled", "timestamp": TIME, "result": []}
    state = session.take(
        {"sessionId": "s", "projectHash": "p", "startTime": TIME, "kind": "main"},
        {"id": "1", "timestamp": TIME, "type": "user", "content": [{"text": "nap"}]},
        {"id": "2", "timestamp": TIME, "type": "gemini", "content": "I nap.", "tokens": {"output": 1}},
        {"id": "3", "timestamp": TIME, "type": "info", "content": "Request cancelled."},
        {"id": "4", "timestamp": TIME, "type": "gemini", "content": "", "toolCalls": [call]},
    )
    assert state is State.DONE
    prompt = {"id": "5", "timestamp": TIME.replace("40", "50"), "type": "user", "content": [{"text": "Go on."}]}
    assert session.take(prompt) is State.WORKING
