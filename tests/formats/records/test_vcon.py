"""vCon, with the record in it."""

import json

from hypothesis import given

from katod import events as ev
from tests.examples import examples
from tests.formats.records.test_agentrecord import call, event, says, user
from tests.formats.schemas import schema
from tests.support.anyevents import conversations
from tests.support.rendering import rendered


def vcon(*events):
    return json.loads(rendered("vcon", events))


@examples(3, 500)
@given(conversations())
def test_any_conversation_gives_a_valid_vcon_with_the_record_byte_for_byte(events):
    """Valid by the schema; the only analysis is the record as it is exported alone."""
    made = vcon(*events)
    assert [error.message for error in schema("vcon").iter_errors(made)] == []
    assert made["analysis"][0]["body"] == rendered("agent-record", events)
    assert made["analysis"][0]["dialog"] == list(range(len(made["dialog"])))
    speakers = {index for turn in made["dialog"] for index in turn["parties"]}
    assert speakers <= set(range(len(made["parties"])))
    assert {row["dialog"] for row in made["attachments"]} <= set(range(len(made["dialog"])))
    agent = made["parties"][1]["meta"]["agent_session"]
    assert (made["analysis"][0]["vendor"], made["analysis"][0]["product"]) == (agent["provider"], agent["model_id"])


def test_the_person_and_the_agent_are_parties_and_their_words_the_dialog():
    """Each turn says who spoke; the subject is the first words of the person."""
    made = vcon(user(1, "Add a login page\nwith tests"), says(2, "Done."), call(3))
    assert made["subject"] == "Add a login page"
    assert made["parties"][0] == {"type": "person"}
    assert made["parties"][1]["meta"]["agent_session"]["model_id"] == "claude-opus-4-6"
    assert [(turn["originator"], turn["parties"], turn["body"]) for turn in made["dialog"]] == [
        (0, [0, 1], "Add a login page\nwith tests"), (1, [1, 0], "Done.")
    ]  # fmt: skip


def test_commands_questions_and_answers_are_in_the_dialog():
    """What the person typed for katod, and chose, is what they said."""
    prompt = {"decisionId": "d", "decisionKey": "k", "prompt": "Which one?", "options": []}
    made = vcon(
        event(1, ev.USER_COMMAND, {"command": "start", "options": {}, "line": "::start"}),
        event(2, ev.DECISION_PROMPT, prompt),
        event(3, ev.DECISION_RESPONSE, {"decisionId": "d", "selections": ["SQLite", "a file"], "freeText": "or none"}),
    )
    assert [(turn["originator"], turn["body"]) for turn in made["dialog"]] == [
        (0, "::start"), (1, "Which one?"), (0, "SQLite, a file, or none")
    ]  # fmt: skip


def test_who_prompts_a_started_session_is_no_person():
    """An agent began it, in a file of its own."""
    made = vcon(event(0, ev.SESSION_START, {"origin": "subagent"}, part="start"), user(1))
    assert made["parties"][0] == {"role": "agent", "type": "bot", "name": "Claude Code"}


def test_a_sub_agent_is_a_party_that_talks_with_the_agent():
    """It names the session that started it."""
    made = vcon(user(1), user(2, "Look around", subagent="a1"), says(3, subagent="a1"))
    assert [(turn["originator"], turn["parties"]) for turn in made["dialog"]] == [(0, [0, 1]), (1, [1, 2]), (2, [2, 1])]
    assert made["parties"][2]["meta"]["agent_session"]["agent_id"] == "a1"


def test_each_party_has_its_own_model_and_there_are_so_many_at_most():
    """Those above the limit are the last one."""
    talk = [user(0), says(1), says(2, subagent="a", model="gpt-5.5")]
    made = vcon(*talk, *(says(number, subagent=f"s{number}") for number in range(3, 203)))
    about = [party["meta"]["agent_session"] for party in made["parties"][1:3]]
    assert [(one["model_id"], one["provider"]) for one in about] == [
        ("claude-opus-4-6", "anthropic"), ("gpt-5.5", "openai")
    ]  # fmt: skip
    assert len(made["parties"]) == 101
    assert max(turn["originator"] for turn in made["dialog"]) == 100


def test_a_time_that_is_not_recorded_says_so():
    """`start` may not be absent: it is that of what came before, or none at all."""
    undated = user(1, time="")
    [turn] = vcon(undated)["dialog"]
    assert (turn["start"], turn["meta"]) == ("1970-01-01T00:00:00Z", {"time_source": "none"})
    first, second = vcon(user(1), says(2, time=""))["dialog"]
    assert "meta" not in first
    assert (second["start"], second["meta"]) == (first["start"], {"time_source": "derived"})


def test_changes_of_files_are_attachments():
    """One for each range of lines, one for a file of which they are not known, none for a failed call."""
    files = [{"path": "a.py", "change": "update", "ranges": [[1, 2], [7, 7]]}, {"path": "b.py", "change": "delete"}]
    result = {"toolCallId": "t", "text": "", "structured": {"files": files}}
    made = vcon(user(1), event(2, ev.TOOL_RESULT, result), event(3, ev.TOOL_RESULT, result | {"isError": True}))
    assert [json.loads(row["body"]) for row in made["attachments"]] == [
        {"path": "a.py", "contributor": "agent", "operation": "update", "line_range": [1, 2]},
        {"path": "a.py", "contributor": "agent", "operation": "update", "line_range": [7, 7]},
        {"path": "b.py", "contributor": "agent", "operation": "delete"},
    ]


def test_a_change_says_where_the_file_is_and_what_it_is_then():
    """Its path is relative to the session's directory; its hash is in the form of vCon, if the agent keeps one."""
    file = {"path": "/home/me/app/src/a.py", "change": "update", "after": "00" * 31 + "ff"}
    result = {"toolCallId": "t", "text": "", "structured": {"files": [file]}}
    start = event(0, ev.SESSION_START, {"cwd": "/home/me/app"}, part="start")
    [row] = vcon(start, user(1), event(2, ev.TOOL_RESULT, result))["attachments"]
    about = {"path": "src/a.py", "content_hash": "sha256-" + "A" * 41 + "P8"}
    assert json.loads(row["body"]).items() >= about.items()


def changes(call):
    files = [{"path": "a.py", "change": "delete"}]
    return event(9, ev.TOOL_RESULT, {"toolCallId": call, "text": "", "structured": {"files": files}})


def test_a_change_belongs_to_the_turn_that_called_for_it():
    """Whatever is said meanwhile; without a call, to the last one, or the first if nothing was said before."""
    meanwhile = vcon(user(1), says(2), call(3), user(4, "and"), changes("t1"))
    assert [row["dialog"] for row in meanwhile["attachments"]] == [1]
    assert [row["dialog"] for row in vcon(user(1), says(2), changes("gone"))["attachments"]] == [1]
    assert [row["dialog"] for row in vcon(changes("gone"), user(1), says(2))["attachments"]] == [0]


def test_without_a_dialog_nothing_is_attached():
    """An attachment has to belong to a turn of it; the record has the change all the same."""
    made = vcon(call(1), changes("t1"))
    assert (made["dialog"], made["attachments"]) == ([], [])
    assert '"change":"delete"' in made["analysis"][0]["body"]


def test_the_analysis_is_of_the_model():
    """Not of katod, which only recorded it; what no agent says is unknown."""
    made = vcon(user(1), says(2), says(3, model="gpt-5.5"))["analysis"][0]
    assert (made["vendor"], made["product"]) == ("anthropic", "claude-opus-4-6")
    made = vcon(user(1))["analysis"][0]
    assert (made["vendor"], made["product"]) == ("unknown", "unknown")


def test_the_same_session_has_the_same_uuid_and_a_longer_one_another():
    """It is derived from the last event, by nothing else."""
    short, long = (user(1),), (user(1), says(2))
    assert vcon(*short)["uuid"] == vcon(*short)["uuid"] != vcon(*long)["uuid"]
