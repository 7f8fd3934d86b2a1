"""Copilot CLI: questions, sub-agents, exit codes, and what the client notes between messages."""

from itertools import count
from typing import Any

import pytest

from katod import events as ev
from katod.agents.copilot import questions
from katod.agents.copilot.adapter import CopilotAdapter
from katod.agents.copilot.questions import remembered
from katod.agents.fields import safe_repr
from katod.agents.tooltable import is_silent
from katod.formatspec import open_format
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from tests.looping import each
from tests.support.records import Copilot, calls, result, says, user
from tests.support.rendering import rendered
from tests.support.translated import Row, kinds, payloads, translated
from tests.support.world import World

_NUMBERS = count(1)
SCHEMA = {"store": {"type": "string", "title": "Store", "enum": ["SQLite", "PostgreSQL"]}}


def row(kind: str, agent: str = "", **data: Any) -> Row:
    """Return a record, of a sub-agent if one is given."""
    envelope = {"type": kind, "data": data, "id": f"x{next(_NUMBERS)}", "timestamp": "2026-11-22T00:00:00.000Z"}
    return envelope | {"parentId": None} | ({"agentId": agent} if agent else {})


def call(name: str, **given: Any) -> Row:
    return row("tool.execution_start", toolCallId="c1", toolName=name, arguments=given)


def done(text: str, **data: Any) -> Row:
    return row("tool.execution_complete", **({"toolCallId": "c1", "success": True, "result": {"content": text}} | data))


# -- questions ---------------------------------------------------------------------------------------


def test_a_form_is_a_question_and_its_values_are_the_answer() -> None:
    """`ask_user` with a schema asks one question; the recorded response is its answer, given once."""
    asked = call("ask_user", message="Which store?", requestedSchema={"type": "object", "properties": SCHEMA})
    response = {"responseKind": "ask_user", "content": {"store": "SQLite"}, "message": "Which store?"}
    answered = row("human_response.recorded", toolCallId="c1", response=response)
    events = translated("copilot", asked, answered, done("User responded: SQLite"))
    assert kinds(events) == [ev.TOOL_CALL, ev.DECISION_PROMPT, ev.DECISION_RESPONSE, ev.TOOL_RESULT]
    assert payloads(events, ev.DECISION_PROMPT) == [
        {
            "decisionId": "c1:store",
            "decisionKey": "Store",
            "prompt": "Which store?",
            "options": [{"label": "SQLite"}, {"label": "PostgreSQL"}],
        }
    ]
    assert payloads(events, ev.DECISION_RESPONSE) == [{"decisionId": "c1:store", "selections": ["SQLite"]}]


@each(
    ("text", "answer"),
    [
        ("User selected: Yes", {"selections": ["Yes"]}),
        ("User responded: Yes", {"selections": ["Yes"]}),
        ("User responded: only the first", {"selections": [], "freeText": "only the first"}),
    ],
)
def test_choices_are_a_question_and_the_result_is_the_answer(text: str, answer: Row) -> None:
    """Before 1.0.102 a question has a list of choices, and only the call's result says which one was taken."""
    events = translated("copilot", call("ask_user", question="Remove it?", choices=["Yes", "No"]), done(text))
    [asked] = payloads(events, ev.DECISION_PROMPT)
    assert (asked["prompt"], asked["options"]) == ("Remove it?", [{"label": "Yes"}, {"label": "No"}])
    assert payloads(events, ev.DECISION_RESPONSE) == [{"decisionId": "c1:0"} | answer]


def test_a_form_with_several_fields_asks_several_questions() -> None:
    """Each field of a form is a question of its own, with its choices; several may be taken from an array."""
    fields = SCHEMA | {
        "parts": {"type": "array", "title": "Parts", "items": {"oneOf": [{"const": "a", "title": "Cart"}]}},
        "name": {"type": "string", "description": "What is it called?"},
    }
    asked = call("ask_user", message="Tell me.", requestedSchema={"properties": fields})
    response = {"content": {"store": "MySQL", "parts": ["Cart"], "name": "Shop"}}
    events = translated("copilot", asked, row("human_response.recorded", toolCallId="c1", response=response))
    prompts = payloads(events, ev.DECISION_PROMPT)
    assert [prompt["prompt"] for prompt in prompts] == [
        "Tell me.\n\nStore",
        "Tell me.\n\nParts",
        "Tell me.\n\nWhat is it called?",
    ]
    assert [prompt.get("multiSelect", False) for prompt in prompts] == [False, True, False]
    assert payloads(events, ev.DECISION_RESPONSE) == [
        {"decisionId": "c1:store", "selections": [], "freeText": "MySQL"},
        {"decisionId": "c1:parts", "selections": ["Cart"]},
        {"decisionId": "c1:name", "selections": [], "freeText": "Shop"},
    ]


def test_a_response_to_no_question_is_kept() -> None:
    """A response whose question is unknown is kept as it is."""
    response = row("human_response.recorded", toolCallId="c9", response={"content": {"x": 1}})
    assert kinds(translated("copilot", response)) == [ev.PROVIDER_RAW]


# -- results -----------------------------------------------------------------------------------------


@each(
    ("text", "data", "outcome"),
    [
        ("boom", {"shellExecution": {"exitCode": 3}}, {"exitCode": 3, "isError": True}),
        ("fine", {"shellExecution": {"exitCode": 0}}, {"exitCode": 0}),
        ("boom\n<shellId: 1 completed with exit code 3>", {}, {"exitCode": 3, "isError": True}),
        ("<shellId: 1 completed with exit code 3>\nmore", {}, {}),
        ("<shellId: a b completed with exit code 0>\n", {}, {"exitCode": 0}),
    ],
)
def test_a_command_that_failed_is_a_failure(text: str, data: Row, outcome: Row) -> None:
    """The exit code decides, although the client calls every command that ran a success."""
    events = translated("copilot", call("bash", command="x"), done(text, **data))
    assert payloads(events, ev.TOOL_RESULT) == [{"toolCallId": "c1", "text": text} | outcome]


def test_a_line_about_an_exit_code_in_a_file_is_text() -> None:
    """Only commands have an exit code, not a file that ends like the output of one."""
    events = translated("copilot", call("view", path="log"), done("<shellId: 1 completed with exit code 3>"))
    assert "exitCode" not in payloads(events, ev.TOOL_RESULT)[0]


def test_an_edit_names_its_files() -> None:
    """The diff beside the result of an edit gives the file and its numbers of lines."""
    diff = "\ndiff --git a/p/a.py b/p/a.py\n--- a/p/a.py\n+++ b/p/a.py\n@@ -1,1 +1,2 @@\n-a\n+b\n+c\n"
    ended = done("Updated.", result={"content": "Updated.", "detailedContent": diff})
    events = translated("copilot", call("edit", path="/p/a.py", old_str="a", new_str="b\nc"), ended)
    [result] = payloads(events, ev.TOOL_RESULT)
    changed = {"path": "/p/a.py", "change": "update", "added": 2, "removed": 1, "ranges": [[1, 2]]}
    assert result["structured"] == {"files": [changed]}


def test_a_command_that_the_person_ran_is_theirs() -> None:
    """A `!` command is the person's message, its output is the client's, and neither is a call of the assistant."""
    asked = row("tool.user_requested", toolCallId="c1", toolName="local_shell", arguments={"command": "echo hi"})
    events = translated("copilot", asked, done("hi", isUserRequested=True, shellExecution={"exitCode": 0}))
    assert kinds(events) == [ev.USER_MESSAGE, ev.SYSTEM_MESSAGE]
    assert events[0].payload == {"text": "! echo hi", "subtype": "shell"}
    assert not events[0].typed
    assert events[1].payload == {"text": "hi", "subtype": "shell-output"}


# -- sub-agents --------------------------------------------------------------------------------------

INSIDE = [
    row("user.message", "a1", content="::stop look around", source="agent-s"),
    row("user.message", "a1", content="::stop look around"),
    row("assistant.turn_start", "a1", turnId="0", interactionId="other", parentToolCallId="c1"),
    row("session.model_change", "a1", newModel="small", source="agent"),
    row("assistant.message", "a1", content="Found it.", model="small", toolRequests=[], parentToolCallId="c1"),
    row("assistant.message", content="Found more.", model="small", toolRequests=[], parentToolCallId="a1"),
]


@pytest.mark.fault("text that looks like a command")
def test_what_a_sub_agent_says_is_not_the_sessions() -> None:
    """Records with an `agentId` or a `parentToolCallId` belong to the sub-agent, and nothing in them was typed."""
    events = translated("copilot", *INSIDE)
    assert {event.session.subagent for event in events} == {"a1"}
    assert not [event for event in events if event.typed or event.turn]
    assert [CopilotAdapter.typed_texts(record) for record in INSIDE[:2]] == [[], []]


def test_a_sub_agent_starts_and_ends_in_its_session() -> None:
    """The session notes when a sub-agent starts and how it ends; its model is not the session's."""
    start = row("session.start", sessionId="s", selectedModel="large", context={})
    begun = row("subagent.started", "a1", toolCallId="c1", agentDisplayName="helper", model="small")
    ended = row("subagent.completed", "a1", toolCallId="c1", durationMs=5)
    failed = row("subagent.failed", "a2", toolCallId="c2", error="no such model")
    events = translated("copilot", start, begun, row("subagent.configured", "a1"), *INSIDE, ended, failed)
    own = [event for event in events if not event.session.subagent]
    assert kinds(own) == [ev.SESSION_START, ev.AGENT_START, ev.AGENT_END, ev.AGENT_END]
    assert [event.payload for event in own[1:]] == [
        {"subagent": "a1", "task": "helper", "model": "small"},
        {"subagent": "a1", "status": "completed"},
        {"subagent": "a2", "status": "failed", "result": "no such model"},
    ]


@pytest.mark.fault("text that looks like a command")
def test_a_recording_shows_the_sub_agents_call_and_none_of_its_words(world: World) -> None:
    """A transcript has the session's own words; a command that the model gave to its sub-agent is ignored."""
    maker = Copilot(world).say(user("::start talk.md\nfirst words"))
    maker.put(*INSIDE)
    maker.say(says("first answer"))
    world.once()
    text = world.written()["talk.md"]
    assert "first words" in text
    assert "first answer" in text
    assert "Found" not in text
    assert "look around" not in text


# -- what the client notes ---------------------------------------------------------------------------


def test_an_aborted_turn_is_noted() -> None:
    """Esc leaves a record of its own, which ends the turn."""
    events = translated("copilot", row("abort", reason="user_abort"))
    assert payloads(events, ev.TURN_END) == [{"reason": "aborted"}]


def test_a_compaction_is_noted_once_with_its_summary() -> None:
    """Its end has the sizes and the summary, its start says that it runs; the client's own requests are bookkeeping."""
    ended = row(
        "session.compaction_complete", success=True, preCompactionTokens=15139, postCompactionTokens=14037,
        trigger="manual", summaryContent="What was said.",
    )  # fmt: skip
    model = [row("model.message", turn=0), row("model.messages_snapshot", messages=[])]
    events = translated("copilot", row("session.compaction_start", trigger="manual"), *model, ended)
    assert [event.payload for event in events] == [
        {"text": "compaction started", "subtype": "compaction-started", "data": {}},
        {"trigger": "manual", "summary": "What was said.", "tokensBefore": 15139, "tokensAfter": 14037},
    ]  # fmt: skip
    failed = translated("copilot", row("session.compaction_complete", success=False, error="no tokens"))
    assert payloads(failed, ev.ERROR) == [{"message": "no tokens"}]


def test_the_model_of_auto_mode_is_known() -> None:
    """In auto mode the client chooses the model: each change is noted, the same choice again is not."""
    auto, chosen = row("session.model_change", newModel="auto"), row("session.auto_mode_resolved", chosenModel="mini")
    events = translated("copilot", auto, chosen, row("session.auto_mode_resolved", chosenModel="mini"))
    assert [event.payload for event in events] == [{"what": "model", "before": "auto", "after": "mini"}]


def test_a_change_of_mode_is_noted() -> None:
    """The modes of the client (interactive, plan, autopilot) are permission modes."""
    events = translated("copilot", row("session.mode_changed", previousMode="interactive", newMode="autopilot"))
    assert [event.payload for event in events] == [
        {"what": "permissionMode", "before": "interactive", "after": "autopilot"}
    ]


def test_a_rewind_is_noted() -> None:
    """A rewind is printed as a note, other information of the client is not."""
    rewound, other = row("session.info", infoType="rewind"), row("session.info", infoType="mcp", message="Connected")
    warning = row("session.warning", warningType="interrupted_tools", message="1 call had no result")  # since 1.0.102
    assert [event.payload for event in translated("copilot", rewound, other, warning)] == [
        {"text": "Conversation rewound", "subtype": "rollback"},
        {"text": "Connected", "subtype": "mcp"},
        {"text": "1 call had no result", "subtype": "interrupted_tools"},
    ]


@each(
    "kind",
    [
        "session.usage_checkpoint", "system.message", "model.messages_snapshot", "hook.start", "session.task_complete",
        "session.mode_notice_delivered",
    ],
)  # fmt: skip
def test_bookkeeping_gives_nothing(kind: str) -> None:
    """Counters, hooks and the client's instructions for the model are no part of the conversation."""
    assert translated("copilot", row(kind, content="::start evil")) == []


def test_permissions_are_noted_without_what_was_asked() -> None:
    """The ids of the request and of its call, its kind and what it is for; not the command, which is in the call."""
    asked = {"kind": "shell", "toolCallId": "c1", "fullCommandText": "rm -r build", "intention": "Clean"}
    requested = row("permission.requested", requestId="r1", permissionRequest=asked)
    decided = row("permission.completed", requestId="r1", toolCallId="c1", result={"kind": "approved"})
    assert [event.payload for event in translated("copilot", requested, decided)] == [
        {"text": "permission requested", "subtype": "permission-requested",
         "data": {"requestId": "r1", "toolCallId": "c1", "kind": "shell", "intention": "Clean"}},
        {"text": "permission completed", "subtype": "permission-completed",
         "data": {"requestId": "r1", "toolCallId": "c1", "kind": "approved"}},
    ]  # fmt: skip


def test_what_a_person_says_of_a_refusal_is_noted() -> None:
    """The words that they typed instead of a permission."""
    refused = {"kind": "denied-interactively-by-user", "feedback": "no need to push"}
    [event] = translated("copilot", row("permission.completed", requestId="r1", toolCallId="c1", result=refused))
    assert event.payload["data"]["note"] == "no need to push"


def test_a_call_whose_permission_was_cancelled_is_declined_once() -> None:
    """A prompt that the person left declines the call. Its end, should it be recorded all the same, is no news."""
    left = row("permission.completed", toolCallId="c1", result={"kind": "cancelled", "reason": "Session aborted"})
    events = translated("copilot", call("create", path="a.py", file_text="x"), left, left, done("Created."))
    assert payloads(events, ev.TOOL_RESULT) == [
        {"toolCallId": "c1", "text": "Session aborted", "isError": True, "denied": True}
    ]
    assert payloads(translated("copilot", left), ev.TOOL_RESULT) == [], "of a call that is not known"


def test_no_link_leads_to_a_sub_agent_without_a_file() -> None:
    """A transcript with sub-agents links to none of Copilot's: what they say is in the session's own file."""
    [ended] = translated("copilot", row("subagent.completed", "a1", toolCallId="c1"))
    printer = open_format("markdown", Options(subagents=True, subagents_folder="x.agents"))
    assert printer.event(ended, SessionMetadata(SessionKey("copilot", "s"))) == ""


# -- what the session is and costs -------------------------------------------------------------------

PLACE = {
    "cwd": "/p", "branch": "main", "headCommit": "abc1", "hostType": "github", "repositoryHost": "github.com",
    "repository": "me/shop",
}  # fmt: skip
REQUEST = {
    "apiCallId": "r1", "inputTokens": 110, "outputTokens": 20, "cacheReadTokens": 40, "cacheWriteTokens": 0,
    "reasoningTokens": 5, "finishReason": "stop", "modelProvider": "other", "cost": 0.0,
}  # fmt: skip
SPENT = {"input": 110, "output": 20, "cacheRead": 40, "cacheWrite": 0, "reasoning": 5}


def settings(*records: Row) -> list[tuple[Any, ...]]:
    """Return what changed in these records, from what to what."""
    rows = payloads(translated("copilot", *records), ev.CONFIG_CHANGE)
    return [(change["what"], change.get("before"), change["after"]) for change in rows]


@each(
    ("context", "repository"),
    [
        (PLACE, {"repository": "https://github.com/me/shop"}),
        (PLACE | {"hostType": "other"}, {}),  # how it addresses repositories is not known
        (PLACE | {"repository": ["me/shop"]}, {}),
        (
            PLACE | {"repositoryHost": "me:secret@github.com", "repository": "me/shop?x"},
            {"repository": "https://github.com/me/shop"},
        ),
    ],
)
def test_a_session_begins_with_its_repository_and_effort(context: Row, repository: Row) -> None:
    """The client writes the repository as a name at a host."""
    record = row("session.start", context=context, copilotVersion="1.0.102", reasoningEffort="medium")
    place = {"cwd": "/p", "branch": "main", "commit": "abc1"}
    [start] = payloads(translated("copilot", record), ev.SESSION_START)
    assert start == place | repository | {"cliVersion": "1.0.102", "effort": "medium"}


def test_a_resumed_session_may_be_at_another_commit() -> None:
    """A resume says where the session is now: what differs is a change."""
    began = row("session.start", context=PLACE, reasoningEffort="medium")
    same, other = (row("session.resume", context=PLACE | {"headCommit": at}) for at in ("abc1", "abc2"))
    assert settings(began, same, other, other) == [("commit", "abc1", "abc2")]
    assert settings(began, row("session.resume", context=["x"])) == []


def test_an_effort_that_is_first_known_later_is_a_change() -> None:
    """The person may choose it with a model."""
    began = row("session.start", context=PLACE)
    assert settings(began, row("session.model_change", newModel="a", reasoningEffort="high")) == [
        ("effort", None, "high")
    ]


def test_the_usage_of_a_request_is_that_of_the_message_it_gave() -> None:
    """The record of a request is before its message, which says neither its tokens nor why it ended."""
    said = row("assistant.message", apiCallId="r1", messageId="m1", content="hi", model="a")
    events = translated("copilot", row("session.usage_record", usage=REQUEST), said, said | {"id": "again"})
    assert kinds(events) == [ev.CONFIG_CHANGE, ev.ASSISTANT_MESSAGE, ev.USAGE, ev.ASSISTANT_MESSAGE]
    assert payloads(events, ev.CONFIG_CHANGE) == [{"what": "modelProvider", "after": "other"}]
    assert payloads(events, ev.ASSISTANT_MESSAGE) == [{"text": "hi", "stopReason": "stop"}, {"text": "hi"}]
    assert payloads(events, ev.USAGE) == [{"scope": "message"} | SPENT]
    assert events[2].source["messageId"] == "m1"


def test_the_requests_of_a_sub_agent_may_be_in_between() -> None:
    """Usage goes to the message of its own request; the provider of a sub-agent is no setting of the session."""
    other = {"apiCallId": "r2", "outputTokens": 7, "modelProvider": "another"}
    first = row("session.usage_record", "a1", usage=REQUEST | other)
    second = row("session.usage_record", usage=REQUEST)
    said = [
        row("assistant.message", apiCallId="r1", content="x"),
        row("assistant.message", "a1", apiCallId="r2", content="y"),
    ]
    events = translated("copilot", first, second, *said)
    used = [event for event in events if event.kind == ev.USAGE]
    assert [(event.session.subagent, event.payload["output"]) for event in used] == [("", 20), ("a1", 7)]
    assert payloads(events, ev.CONFIG_CHANGE) == [{"what": "modelProvider", "after": "other"}]


@each("usage", [None, ["x"], {"apiCallId": ["r1"]}, {"apiCallId": "r1", "outputTokens": "20", "modelProvider": 7}])
def test_a_request_of_another_shape_is_no_usage(usage: Any) -> None:
    """Values of other types read as absent; older clients note the output with the message."""
    said = row("assistant.message", apiCallId="r1", content="hi", outputTokens=9)
    events = translated("copilot", row("session.usage_record", usage=usage), said)
    assert payloads(events, ev.USAGE) == [{"scope": "message", "output": 9}]
    assert payloads(events, ev.CONFIG_CHANGE) == []


def test_the_usage_of_the_session_is_the_sum_over_its_models() -> None:
    """The client sums it up whenever it ends."""
    models = {name: {"usage": REQUEST, "requests": {"cost": 1}} for name in ("a", "b")}
    events = translated("copilot", row("session.shutdown", modelMetrics=models))
    assert payloads(events, ev.USAGE) == [{"scope": "session"} | {name: 2 * count for name, count in SPENT.items()}]
    for other in (None, [], {"a": 7}, {"a": {"usage": 7}}, {"a": {"usage": {"inputTokens": "x"}}}):
        assert translated("copilot", row("session.shutdown", modelMetrics=other)) == []


def test_encrypted_thinking_is_noted() -> None:
    """Thinking that is only there encrypted is an event without text."""
    for data, thought in (
        ({"reasoningOpaque": "EuUG"}, [{"text": "", "encrypted": "EuUG"}]),
        ({"encryptedContent": "EuUG", "reasoningText": " Hm. "}, [{"text": "Hm.", "encrypted": "EuUG"}]),
        ({"reasoningText": "Hm."}, [{"text": "Hm."}]),
        ({"reasoningText": ["x"], "encryptedContent": ""}, []),
    ):
        assert payloads(translated("copilot", row("assistant.message", **data)), ev.ASSISTANT_THINKING) == thought


def test_a_message_names_its_request() -> None:
    """The id of a request for the person's permission is another thing."""
    said = row("assistant.message", messageId="m1", requestId="478D:1", content="hi")
    [event] = translated("copilot", said)
    assert (event.source["messageId"], event.source["requestId"]) == ("m1", "478D:1")
    [event] = translated("copilot", row("human_response.recorded", requestId="x", toolCallId="c1"))
    assert "requestId" not in event.source


def test_what_agents_tell_each_other_is_no_message_of_the_person() -> None:
    """Words to a sub-agent are its task; in the session itself, they are those of another agent."""
    rows = [row("user.message", agent, content="Look.", source="agent-s1") for agent in ("helper", "")]
    events = translated("copilot", *rows, row("user.message", "helper", content="Again."))
    assert [(event.kind, event.payload["subtype"]) for event in events] == [
        (ev.SYSTEM_MESSAGE, "task"), (ev.SYSTEM_MESSAGE, "agent-message"), (ev.USER_MESSAGE, "task"),
    ]  # fmt: skip
    assert not any(event.typed for event in events)


# -- plans, refusals and rewinds ---------------------------------------------------------------------

PLAN = "# The plan\n\n1. Do it\n2. Test it"
REFUSED = "Plan not approved. User feedback:\n\n{}\n\nPlease update the plan based on this feedback and try again."


def plan(**response: Any) -> list[Row]:
    """Return a plan and what the person responded."""
    said = {"responseKind": "exit_plan_mode", "summary": PLAN, "actions": ["autopilot", "interactive"]} | response
    return [call("exit_plan_mode", summary=PLAN), row("human_response.recorded", toolCallId="c1", response=said)]


def test_a_plan_and_the_choice_are_shown_as_those_of_other_agents() -> None:
    """The whole plan is a question, the choice its answer; the call of the client's tool has no line."""
    approved = plan(approved=True, selectedAction="interactive")
    events = translated("copilot", *approved, done("Plan approved! Exited plan mode."))
    assert payloads(events, ev.DECISION_PROMPT) == [
        {"decisionId": "c1:plan", "decisionKey": "plan", "prompt": PLAN, "options": []}
    ]
    assert payloads(events, ev.DECISION_RESPONSE) == [
        {"decisionId": "c1:plan", "selections": ["approved", "interactive"]}
    ]
    shown = rendered("markdown", events)
    assert "**plan**" in shown
    assert "2. Test it" in shown
    assert "**You:** approved, interactive" in shown
    assert "exit" not in shown


@each(
    ("feedback", "words"),
    [
        ("use migrations", {"freeText": "use migrations"}),
        ("User requested changes but did not provide specific feedback.", {}),
    ],
)
def test_a_refused_plan_has_the_persons_reason(feedback: str, words: Row) -> None:
    """Only the result of the call has it; the client's own words are no reason."""
    error = {"message": REFUSED.format(feedback), "code": "rejected"}
    refused = row("tool.execution_complete", toolCallId="c1", success=False, error=error)
    events = translated("copilot", *plan(approved=False), refused)
    assert payloads(events, ev.DECISION_RESPONSE) == [{"decisionId": "c1:plan", "selections": ["rejected"]} | words]
    assert payloads(events, ev.TOOL_RESULT)[0]["denied"]
    assert f"**You:** {' · '.join(['rejected', *words.values()])}" in rendered("markdown", events)


def test_a_plan_that_nobody_was_asked_about_has_no_answer() -> None:
    """In other modes the client goes on by itself."""
    events = translated("copilot", call("exit_plan_mode", summary=PLAN), done("This tool is not applicable."))
    assert kinds(events) == [ev.TOOL_CALL, ev.DECISION_PROMPT, ev.TOOL_RESULT]


def test_the_tool_of_that_name_of_another_client_has_its_line() -> None:
    """Gemini CLI names the file of the plan in its call, and asks nothing that is recorded."""
    assert [is_silent("exit_plan_mode", agent) for agent in ("copilot", "gemini")] == [True, False]


@each(
    ("kind", "is_declined"),
    [("denied-interactively-by-user", True), ("denied-by-rules", False), ("", True)],
)
def test_only_a_call_that_the_person_refused_is_declined(kind: str, is_declined: bool) -> None:
    """A rule that denies a call is no person; older versions record no decision."""
    decided = [row("permission.completed", requestId="r", toolCallId="c1", result={"kind": kind})] if kind else []
    error = {"message": "The user rejected this tool call.", "code": "denied"}
    ended = row("tool.execution_complete", toolCallId="c1", success=False, error=error)
    [result] = payloads(translated("copilot", call("bash", command="x"), *decided, ended), ev.TOOL_RESULT)
    assert (result["isError"], result.get("denied", False)) == (True, is_declined)


@pytest.mark.slow
def test_a_rewind_that_rewrites_the_file_is_noted_and_no_loss(world: World) -> None:
    """The client drops the records that `/undo` takes back: they stay in the transcript, and `verify` finds no fault."""
    maker = Copilot(world).say(user("::start talk.md\nfirst words"), calls("c0", "make"), result("c0", "ok"))
    maker.say(calls("c1", "make all"), result("c1", "ok"), says("first answer"), user("second words"))
    world.once()
    kept = len(maker.items) - 1
    maker.say(calls("c2", "make test"), result("c2", "ok"))
    other = maker.records(says("second answer"))
    other[0]["data"]["model"] = "gpt-5"
    maker.put(*other)
    world.once()
    maker.rewrite(lambda n, _: n < kept)
    maker.put(maker.envelope("session.info", {"infoType": "rewind", "message": "Rewound the conversation."}))
    world.once()
    third = maker.records(says("third answer"))
    third[0]["data"]["model"] = "gpt-5"
    maker.say(user("third words"))
    maker.put(*third)
    world.once()
    text = world.written()["talk.md"]
    said = ("first answer", "second answer", "*Rewound the conversation.*", "third words", "third answer")
    assert [text.count(words) for words in said] == [1] * 5
    assert text.index("*2 tools") < text.index("second words") < text.index("*1 tool*") < text.index("*Rewound")
    assert "missing" not in world.cli("verify", "--strict")


@each(("spare", "is_kept"), [(1, True), (0, True), (-1, False)])
def test_the_answers_that_are_remembered_are_not_too_many(spare: int, is_kept: bool) -> None:
    """Without those that were offered, an answer is in the person's own words."""
    asked = [{"decisionId": "c1:0", "options": [{"label": ""}]}, {"decisionId": "c1:1", "options": []}]
    asked[0]["options"] = [{"label": "x" * (questions._MOST_REMEMBERED - len(safe_repr(asked)) - spare)}]
    assert remembered(asked) == {"asked": asked if is_kept else [{"decisionId": "c1:0", "options": []}]}


def test_a_turn_has_its_number_if_that_is_one() -> None:
    """One of fifteen digits at most, which is exact in any JSON."""
    for number, expected in (("7", {"number": 7}), ("9" * 15, {"number": 10**15 - 1}), ("9" * 16, {}), ("x", {})):
        assert payloads(translated("copilot", row("assistant.turn_start", turnId=number)), ev.TURN_START) == [expected]
