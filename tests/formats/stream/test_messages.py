"""Which messages an event gives."""

from katod import events as ev
from katod.formats.stream.bridge import UNDATED
from katod.model import Options
from tests.formats.records.test_agentrecord import SESSION, TIME, call, event, says, usage, user
from tests.formats.stream.bridging import said, sent, wrong_in
from tests.looping import each

LATER = "2026-02-10T22:40:00+01:00"


def result(number, text="ok", **more):
    return event(number, ev.TOOL_RESULT, {"toolCallId": "t1", "text": text, **more})


def change(number, what, after, **more):
    return event(number, ev.CONFIG_CHANGE, {"what": what, "after": after, **more})


def only(*events, **more):
    """Return the only message, apart from states."""
    [message] = said(*events, **more)
    return message


def test_what_is_said_is_whole_text():
    """Without `delta`, and without the alias of thinking."""
    assert only(user(1, "hello")) == {"type": "user", "content": "hello"}
    assert only(says(1, "hi")) == {"type": "assistant", "content": "hi"}
    thinking = event(1, ev.ASSISTANT_THINKING, {"text": "I look.", "subject": "Look"})
    assert only(thinking) == {"type": "thinking", "content": "Look\n\nI look."}
    assert said(event(1, ev.ASSISTANT_THINKING, {"text": "", "encrypted": "gAAA"}), says(2, ""), user(3, "")) == []


def test_attachments_are_notes_below_the_text():
    """By their names, or their types."""
    rows = [{"type": "image", "name": "a.png", "mediaType": "image/png"}, {"type": "document", "mediaType": "text/csv"}]
    message = event(1, ev.USER_MESSAGE, {"text": "look", "attachments": [*rows, {"type": "image"}]})
    assert only(message)["content"] == "look\n[image: a.png]\n[document: text/csv]\n[image]"


def test_what_is_in_the_persons_name_only_is_a_line_that_viewers_hide():
    """The client, or another agent, wrote it."""
    context = event(1, ev.USER_MESSAGE, {"text": "<env>", "subtype": "context"})
    assert only(context) == {"type": "system", "content": "<env>", "subtype": "progress"}


@each("given, shown", [
    ({"command": "ls"}, {"command": "ls"}), ({"a": None}, {"a": None}), (None, {}), ("*** Begin Patch", {"input": "*** Begin Patch"}),
    ([1, "a"], {"input": '[1,"a"]'}), (7, {"input": "7"}),
])  # fmt: skip
def test_the_input_of_a_call_is_an_object(given, shown):
    """Whatever the agent wrote."""
    message = only(event(1, ev.TOOL_CALL, {"toolCallId": "t1", "name": "Bash", "family": "execute", "input": given}))
    assert message == {"type": "tool_use", "id": "t1", "name": "Bash", "input": shown}


def test_a_call_says_what_it_is_about():
    """As one line, if that is known."""
    payload = {"toolCallId": "t1", "name": "Bash", "family": "execute", "input": {}, "description": "ls"}
    assert only(event(1, ev.TOOL_CALL, payload))["inputDescription"] == "ls"


@each("outcome, success, is_error", [
    ({}, True, False), ({"isError": True}, False, True), ({"denied": True}, False, False),
    ({"status": "interrupted"}, False, False), ({"exitCode": 1}, True, False),
])  # fmt: skip
def test_a_result_names_its_tool_and_whether_it_succeeded(outcome, success, is_error):
    """A call that was declined or interrupted did not; there is an error only if the agent says so."""
    message = said(call(1), result(2, **outcome))[1]
    assert message == {"type": "tool_result", "id": "t1", "tool": "Bash", "output": "ok", "success": success} | (
        {"isError": True} if is_error else {}
    )


def test_a_result_without_its_call_and_one_without_id_are_valid():
    """The tool has no name then; what has no id is called like its event."""
    assert only(result(1))["tool"] == "tool"
    nameless = event(1, ev.TOOL_CALL, {"toolCallId": "", "name": "", "input": {}})
    messages = sent(nameless, event(2, ev.TOOL_RESULT, {"toolCallId": "", "text": ""}))
    assert wrong_in(messages) == []
    assert messages[0]["message"]["id"] == messages[0]["id"]


def test_a_question_is_a_text_and_its_answer_a_message_of_yours():
    """Never a `question`, which would ask the viewer."""
    options = [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]
    asked = {"decisionId": "t1:0", "decisionKey": "Store", "prompt": "Which store?", "options": options}
    answer = {"decisionId": "t1:0", "selections": ["SQLite"], "freeText": "and small"}
    assert said(event(1, ev.DECISION_PROMPT, asked), event(2, ev.DECISION_RESPONSE, answer)) == [
        {"type": "system", "content": "Which store?\n\n- SQLite: one file\n- PostgreSQL"},
        {"type": "user", "content": "SQLite, and small"},
    ]


@each("kind, payload, content, hidden", [
    (ev.SYSTEM_MESSAGE, {"text": "Rewound", "subtype": "rollback"}, "Rewound", False),
    (ev.SYSTEM_MESSAGE, {"text": "<env>", "subtype": "context"}, "<env>", True),
    (ev.PROVIDER_INFO, {"text": "1 file cited"}, "1 file cited", True),
    (ev.ERROR, {"message": "overloaded"}, "Error: overloaded", False),
    (ev.ERROR, {"message": "overloaded", "retry": {"attempt": 1, "max": 10}}, "Error: overloaded", True),
    (ev.COMPACTION, {"tokensBefore": 1200, "tokensAfter": 90, "summary": "All."},
     "Context compacted: 1,200 → 90 tokens\n\nAll.", False),
    (ev.CONFIG_CHANGE, {"what": "branch", "before": "main", "after": "login"}, "branch: main → login", True),
    (ev.CONFIG_CHANGE, {"what": "title", "after": "Login"}, "title: Login", True),
])  # fmt: skip
def test_what_else_happened_is_a_line_of_the_system(kind, payload, content, hidden):
    """With the subtype that viewers hide, if a transcript does not show it."""
    message = {"type": "system", "content": content} | ({"subtype": "progress"} if hidden else {})
    assert only(event(1, kind, payload)) == message


@each("mode, known", [("default", True), ("acceptEdits", True), ("bypassPermissions", True), ("plan", False)])
def test_a_mode_that_viewers_do_not_know_is_the_default_and_named(mode, known):
    """Where a session begins, and where the mode changes."""
    named = [] if known else [{"type": "system", "content": f"Permission mode: {mode}"}]
    expected = [{"type": "permission_mode_changed", "mode": mode if known else "default"}, *named]
    assert said(change(1, "permissionMode", mode)) == expected
    assert said(event(1, ev.SESSION_START, {"permissionMode": mode})) == expected


def test_another_model_is_said_before_it_answers():
    """Once, with the one before, which has to be known."""
    first, second = says(1, model="m1"), says(3, model="m2")
    changed = {"type": "model_changed", "model": "m2", "previousModel": "m1"}
    assert said(first, second)[1] == changed
    assert said(first, change(2, "model", "m2"), second)[1:] == [changed, {"type": "assistant", "content": "hi"}]
    assert said(change(1, "model", "m2")) == []
    assert said(change(1, "model", "m2", before="m1")) == [changed]


def test_a_session_that_begins_is_created():
    """With what is known of it; not one that begins in the middle, nor one of which nobody knows the directory."""
    start = event(1, ev.SESSION_START, {"cwd": "/home/me/app"}, model="m1")
    about = {
        "id": SESSION, "projectPath": "/home/me/app", "source": "user", "lastActivityAt": TIME, "messageCount": 0,
        "createdAt": TIME, "model": "m1",
    }  # fmt: skip
    assert sent(start) == [
        {
            "type": "session_event",
            "action": "created",
            "projectPath": "/home/me/app",
            "sessionId": SESSION,
            "metadata": about,
        }
    ]
    assert [row["type"] for row in said(user(0), start)] == ["user"]
    assert said(event(1, ev.SESSION_START, {})) == []


@each("kind, payload, message", [
    (ev.TURN_END, {"reason": "aborted"}, {"type": "interrupted"}),
    (ev.TURN_END, {"reason": "error"}, {"type": "stopped", "reason": "error"}),
    (ev.SESSION_END, {}, {"type": "stopped", "reason": "complete"}),
    (ev.AGENT_START, {"subagent": "a1", "task": "Look"}, {"type": "subagent_start", "id": "a1", "description": "Look"}),
    (ev.AGENT_START, {"subagent": "a1"}, {"type": "subagent_start", "id": "a1", "description": "sub-agent a1"}),
])  # fmt: skip
def test_ends_and_sub_agents_are_said_as_they_are_recorded(kind, payload, message):
    """Of a turn that is done, only the state says so."""
    assert only(event(1, kind, payload)) == message


STARTED = event(1, ev.AGENT_START, {"subagent": "a1"})


@each("payload, more", [
    ({"status": "completed"}, {}), ({"status": "failed"}, {"summary": "failed"}), ({"result": "Nil."}, {"summary": "Nil."}),
])  # fmt: skip
def test_the_end_of_a_sub_agent_says_what_came_of_it(payload, more):
    """Its report, or that it failed."""
    assert said(STARTED, event(2, ev.AGENT_END, {"subagent": "a1"} | payload))[1:] == [
        {"type": "subagent_complete", "id": "a1"} | more
    ]


def test_no_sub_agent_ends_before_it_starts():
    """Some agents note the end only, and a recording may begin in between: then the start is said with the end."""
    ended = [event(number, ev.AGENT_END, {"subagent": "a1", "status": "completed"}) for number in (2, 3)]
    start, end = (
        {"type": "subagent_start", "id": "a1", "description": "sub-agent a1"},
        {"type": "subagent_complete", "id": "a1"},
    )
    assert said(STARTED, ended[0]) == [start, end]
    assert said(ended[0]) == [start, end]
    assert said(STARTED, *ended) == [start, end, start, end]
    ids = [message["id"] for message in sent(*ended)]
    assert len(ids) == len(set(ids))


def test_a_turn_that_is_done_is_only_a_state():
    """Nobody stopped it."""
    assert said(event(1, ev.TURN_END, {"reason": "done"})) == []


# -- tokens -----------------------------------------------------------------------------------------


def test_input_is_what_did_not_come_from_the_cache():
    """Whatever the agent counts where; the context had all of it."""
    claude = usage(1, input=10, cacheRead=100, cacheWrite=5, contextLimit=200_000)
    expected = {
        "type": "usage", "inputTokens": 10, "outputTokens": 7, "cacheReadTokens": 100, "cacheCreateTokens": 5,
        "contextUsed": 115, "contextLimit": 200_000,
    }  # fmt: skip
    assert only(claude) == expected
    codex = usage(1, input=110, cacheRead=100)
    codex = codex._replace(session=codex.session._replace(agent="codex"))
    assert (only(codex)["inputTokens"], only(codex)["contextUsed"]) == (10, 110)


def test_usage_without_input_is_not_told():
    """It may not be absent, and katod invents nothing."""
    assert said(usage(1)) == []


def test_of_a_sum_over_the_session_only_what_is_new_is_told():
    """So that all usage of a stream adds up to it."""
    total = {"scope": "session", "input": 30, "output": 20, "costUsd": 0.3}
    messages = said(
        usage(1, input=10), event(2, ev.USAGE, total), event(3, ev.USAGE, total), event(4, ev.USAGE, total | {"output": 21})
    )  # fmt: skip
    assert [(row["inputTokens"], row["outputTokens"], row.get("totalCost")) for row in messages] == [
        (10, 7, None), (20, 13, 0.3), (0, 1, 0),
    ]  # fmt: skip


# -- envelopes --------------------------------------------------------------------------------------


def test_a_message_has_the_time_of_its_event_or_of_the_one_before():
    """Before any that is known, it is 1970."""
    rows = sent(user(1, time=""), says(2, time=LATER), says(3, time=""), says(4, time="yesterday"))
    assert [row["timestamp"] for row in rows if row["message"]["type"] != "state"] == [UNDATED, LATER, LATER, LATER]


def test_ids_are_those_of_the_events():
    """The same in each stream that has the event, however it begins; a state beside a message has its own."""
    whole, later = sent(user(1), call(2)), sent(call(2))
    assert [row["id"] for row in whole if row["message"]["type"] == "tool_use"] == [later[0]["id"]]
    assert [row["id"] for row in whole][-1] == later[-1]["id"] != later[0]["id"]


def test_secrets_are_redacted_in_what_is_taken_from_before():
    """The directory of the session."""
    secret = "gh" + "p_" + "a1B2c3D4e5" * 4
    start = event(1, ev.SESSION_START, {"cwd": f"/home/{secret}"})
    assert secret not in str(sent(start))
    assert secret in str(sent(start, options=Options(redact=False)))
