"""The verifiable agent record."""

import json

import pytest
from hypothesis import given

from katod import events as ev
from katod.events import Event, SessionRef
from katod.model import Identity, Options, SessionKey
from tests.examples import examples
from tests.formats.schemas import schema
from tests.looping import each
from tests.support.anyevents import conversations
from tests.support.rendering import rendered
from tests.support.translated import payloads, translated

SESSION = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
TIME = "2026-02-10T22:36:18.000Z"


def event(number, kind, payload, *, model="", time=TIME, subagent="", part="0", **source):
    source = {"providerEventType": "x", "providerEventId": f"u{number}"} | source
    ref = SessionRef("claude", SESSION, subagent)
    return Event(f"claude:{SESSION}:u{number}:{part}", kind, ref, payload, source, time, "recorded", model=model)


def user(number, text="hello", **more):
    return event(number, ev.USER_MESSAGE, {"text": text}, **more)


def says(number, text="hi", **more):
    return event(number, ev.ASSISTANT_MESSAGE, {"text": text}, **{"model": "claude-opus-4-6", "messageId": "m1"} | more)


def call(number, **more):
    payload = {"toolCallId": "t1", "name": "Bash", "family": "execute", "input": {"command": "ls"}}
    return event(number, ev.TOOL_CALL, payload, **{"messageId": "m1"} | more)


def usage(number, message="m1", **counts):
    payload = {"scope": "message", "output": 7} | counts
    return event(number, ev.USAGE, payload, model="claude-opus-4-6", part="usage", messageId=message)


def record(*events, **options):
    return json.loads(rendered("agent-record", events, Options(**options)))


def entries(*events, **options):
    return record(*events, **options)["session"]["entries"]


@pytest.mark.slow
@examples(3, 1000)
@given(conversations())
def test_any_conversation_gives_a_valid_record_in_the_form_that_is_signed(events):
    """Valid by the schema, ids unique, and the bytes are those of the draft's canonical form."""
    text = rendered("agent-record", events)
    made = json.loads(text)
    assert [error.message for error in schema("agent-record").iter_errors(made)] == []
    assert json.dumps(made, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == text
    ids = [entry["id"] for entry in made["session"]["entries"]]
    assert len(ids) == len(set(ids))
    alone = sum("token-usage" in entry and "usage" not in entry["x-katod"] for entry in made["session"]["entries"])
    joined = sum("usage" in entry["x-katod"] for entry in made["session"]["entries"])
    used = sum(one.kind == ev.USAGE and one.payload["scope"] == "message" for one in events)
    assert (len(ids) + joined, alone + joined) == (len(events), used), "every event is said once"


def test_the_head_says_who_talked_where_and_who_recorded():
    """The agent's program, its models and their provider, the directory and its branch, and katod."""
    start = {"cwd": "/home/me/app", "branch": "main", "commit": "abc", "repository": "https://x/y", "cliVersion": "2.1"}
    first = event(0, ev.SESSION_START, start, part="start")
    made = record(first, user(1), says(2), says(3, model="claude-haiku-4-5"), recorder="katod 1.2.3")
    assert made["recording-agent"] == {"name": "katod", "version": "1.2.3"}
    assert made["session"]["agent-meta"] == {
        "model-id": "claude-opus-4-6", "models": ["claude-opus-4-6", "claude-haiku-4-5"],
        "model-provider": "anthropic", "cli-name": "claude-code", "cli-version": "2.1",
    }  # fmt: skip
    vcs = {"type": "git", "branch": "main", "revision": "abc", "repository": "https://x/y"}
    assert (made["vcs"], made["session"]["environment"]) == (vcs, {"working-dir": "/home/me/app", "vcs": vcs})
    assert (made["session"]["session-id"], made["session"]["session-start"]) == (SESSION, TIME)
    assert made["x-katod"] == {
        "agent": "claude", "session": SESSION, "events": 4, "last": f"claude:{SESSION}:u3:0", "redacted": True
    }  # fmt: skip


def test_what_no_agent_says_is_unknown_or_absent():
    """The draft requires model and provider; there is no end without evidence of one, and no directory."""
    made = record(user(1, time=""))
    assert made["session"]["agent-meta"] == {
        "model-id": "unknown", "model-provider": "unknown", "cli-name": "claude-code"
    }  # fmt: skip
    assert set(made["session"]) == {"agent-meta", "entries", "session-id"}
    ended = record(user(1), event(2, ev.SESSION_END, {}, time="2026-02-10T23:00:00Z"))
    assert ended["session"]["session-end"] == "2026-02-10T23:00:00Z"


def test_the_provider_is_the_one_that_the_agent_names():
    """At the start, or where it answers first. Only without it, the name of the model tells."""
    start = event(0, ev.SESSION_START, {"modelProvider": "bedrock"}, part="start")
    assert record(start, says(1))["session"]["agent-meta"]["model-provider"] == "bedrock"
    changes = [event(n, ev.CONFIG_CHANGE, {"what": "modelProvider", "after": name}) for n, name in ((1, "a"), (3, "b"))]
    made = record(user(0), changes[0], says(2), changes[1])
    assert made["session"]["agent-meta"]["model-provider"] == "a"


def test_what_an_agent_says_only_later_completes_the_start():
    """A setting without one before it was not known until then; a change is no such thing, nor a sub-agent's."""
    named = event(2, ev.CONFIG_CHANGE, {"what": "modelProvider", "after": "bedrock"})
    branch = event(3, ev.CONFIG_CHANGE, {"what": "branch", "before": "main", "after": "next"})
    other = event(4, ev.CONFIG_CHANGE, {"what": "commit", "after": "abc"}, subagent="a1")
    made = record(event(0, ev.SESSION_START, {"branch": "main"}, part="start"), user(1), named, branch, other)
    assert made["session"]["agent-meta"]["model-provider"] == "bedrock"
    assert made["vcs"] == {"type": "git", "branch": "main"}


def test_lines_are_attributed_to_the_model_that_wrote_them():
    """To the one that speaks then, in the session or in its sub-agent: not to the latest one that is new."""

    def edits(number, path, **more):
        file = {"path": path, "change": "update", "ranges": [[1, 2]]}
        return event(number, ev.TOOL_RESULT, {"toolCallId": "t", "text": "", "structured": {"files": [file]}}, **more)

    made = record(
        says(1, model="a"), says(2, model="b"), says(3, model="a"), edits(4, "a.py"),
        says(5, model="c", subagent="s"), edits(6, "b.py", subagent="s"), edits(7, "c.py"),
    )  # fmt: skip
    found = [
        (file["path"], file["conversations"][0]["contributor"]["model-id"])
        for file in made["file-attribution"]["files"]
    ]
    assert found == [("a.py", "a"), ("b.py", "c"), ("c.py", "a")]


def test_usage_is_never_that_of_another_speaker():
    """A sub-agent's in the same file is its own, and so is that of an answer after a turn ended."""
    [said, used] = entries(says(1), usage(2)._replace(session=SessionRef("claude", SESSION, "s")))
    assert ("token-usage" in said, "token-usage" in used) == (False, True)
    rows = entries(says(1, messageId=""), event(2, ev.TURN_END, {"reason": "aborted"}), usage(3, message=""))
    assert [("token-usage" in row) for row in rows] == [False, False, True]


def test_a_session_that_goes_on_has_no_end():
    """Whatever was noted before."""
    ended = event(2, ev.SESSION_END, {}, time="2026-02-10T23:00:00Z")
    assert "session-end" not in record(user(1), ended, user(3))["session"]


def test_ids_are_unique_even_if_one_is_called_like_another():
    """A native id may look like the derived id of another event."""
    odd = user(9)._replace(id=f"claude:{SESSION}:u1:0", source={"providerEventType": "x"})
    rows = entries(odd, user(8, providerEventId="u1:0")._replace(id=f"claude:{SESSION}:u1:0:0"))
    assert len({row["id"] for row in rows}) == 2


def test_many_models_cost_no_more_than_few():
    """A hundred are listed."""
    made = record(*(says(number, model=f"m{number}") for number in range(300)))
    assert len(made["session"]["agent-meta"]["models"]) == 100


def test_a_sub_agent_is_a_session_of_its_own():
    """Its id is the record's; the session that it belongs to is named beside it."""
    made = record(user(1, subagent="a1"), says(2, subagent="a1"))
    assert (made["session"]["session-id"], made["session"]["format"]) == ("a1", "autonomous")
    assert (made["x-katod"]["session"], made["x-katod"]["subagent"]) == (SESSION, "a1")


@pytest.mark.parametrize("between", [[], [call(3)]])
def test_usage_is_on_the_answer_that_it_is_of(between):
    """Even if calls and results of the same answer come first, and once only."""
    counts = {"input": 3, "cacheRead": 20, "cacheWrite": 5, "reasoning": 2, "total": 37, "costUsd": 0.123456789}
    rows = entries(user(1), says(2), *between, usage(4, **counts), user(5))
    assert [row["type"] for row in rows] == ["user", "assistant", *("tool-call" for _ in between), "user"]
    assert rows[1]["token-usage"] == {
        "input": 3, "output": 7, "cached": 20, "cache-write": 5, "reasoning": 2, "total": 37, "cost": 0.123457
    }  # fmt: skip
    assert rows[1]["x-katod"]["usage"] == f"claude:{SESSION}:u4:usage"


def test_usage_of_an_answer_without_words_is_an_entry_of_its_own():
    """Of the assistant, without content, after the entries of the answer before."""
    rows = entries(says(1), call(2, messageId="m2"), usage(3, message="m2"))
    assert [(row["type"], "content" in row, "token-usage" in row) for row in rows] == [
        ("assistant", True, False), ("tool-call", False, False), ("assistant", False, True)
    ]  # fmt: skip


def test_usage_that_comes_before_the_words_of_its_answer_is_with_them():
    """As where thinking is a record of its own; not if a call is between, nor with the words of another answer."""
    words = entries(usage(1), says(2), user(3))
    assert [(row["type"], row.get("content"), "token-usage" in row) for row in words[:1]] == [("assistant", "hi", True)]
    assert len(words) == 2
    assert len(entries(usage(1), call(2), says(3))) == 3
    assert len(entries(usage(1), says(2, messageId="m2"))) == 2


def test_where_messages_have_no_names_usage_is_of_the_answer_before_it():
    """Codex names the parts of an answer, not the answer."""
    codex = SessionRef("codex", "s")
    said = [
        one._replace(session=codex)
        for one in (says(1), call(2), usage(3, message="r1"), says(4), usage(5, message="r2"))
    ]
    rows = entries(*said)
    assert [(row["type"], "token-usage" in row) for row in rows] == [
        ("assistant", True), ("tool-call", False), ("assistant", True)
    ]  # fmt: skip


def test_an_answer_is_not_held_for_ever():
    """Usage that comes after very many entries is one of its own."""
    rows = entries(says(1), *(call(number) for number in range(2, 400)), usage(400))
    assert "token-usage" not in rows[0]
    assert rows[-1]["token-usage"] == {"output": 7}


def test_usage_of_a_turn_or_session_is_an_event():
    """It is no answer's."""
    rows = entries(says(1), event(2, ev.USAGE, {"scope": "session", "output": 9}))
    assert rows[1]["event-type"] == "usage"
    assert rows[1]["data"] == {"scope": "session", "output": 9}


def test_ids_are_the_agents_own():
    """The first part of a record has its id, the others theirs; a parent is named if it has an entry."""
    start = event(1, ev.SESSION_START, {}, part="start")
    second = user(1, "two")._replace(id=f"claude:{SESSION}:u1:1")
    rows = entries(start, user(1), second, says(2, parentId="u1"), says(3, parentId="gone"))
    assert [row["id"] for row in rows] == ["u1:start", "u1", "u1:1", "u2", "u3"]
    assert [row.get("parent-id") for row in rows] == [None, None, None, "u1", None]


def test_a_parent_that_is_a_message_is_named_by_its_first_entry():
    """Some agents' messages have parts with ids of their own, and parents that are messages."""
    rows = entries(user(1, messageId="p1"), user(2, messageId="p1"), says(3, parentId="p1", messageId="a1"))
    assert [row.get("parent-id") for row in rows] == [None, None, "u1"]


def test_secrets_are_redacted():
    """As in every other format, and the record says whether they are."""
    token = "ghp_" + "x9Yz" * 9
    assert token not in json.dumps(record(user(1, token)))
    shown = record(user(1, token), redact=False)
    assert token in json.dumps(shown)
    assert shown["x-katod"]["redacted"] is False


def test_what_is_nested_too_deep_is_left_out():
    """The record can be read by every parser."""
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]
    [row] = entries(event(1, ev.PROVIDER_RAW, {"rawType": "x", "raw": deep}))
    assert row["data"]["raw"].startswith("nested too deep")


# -- parents, models, and the session ------------------------------------------------------------------


def test_the_parent_of_an_entry_is_its_nearest_ancestor():
    """The agent's own parent may be a record of which there is no event; what is above that is known beside it."""
    rows = entries(user(1), says(2, parentId="ignored", ancestorId="u1"), call(3, parentId="u2", ancestorId="u1"))
    assert [row.get("parent-id") for row in rows] == [None, "u1", "u2"]


def test_a_record_has_an_entry_even_if_none_is_called_like_it():
    """A setting, or only usage: what is below it is below its first entry, or the answer that has the usage."""
    change = event(1, ev.CONFIG_CHANGE, {"what": "title", "after": "x"}, part="title")
    assert entries(change, user(2, parentId="u1"))[1]["parent-id"] == "u1:title"
    rows = entries(
        says(1), event(2, ev.USAGE, {"scope": "message", "output": 1}, part="u", messageId="m1"), user(3, parentId="u2")
    )
    assert [(row["id"], row.get("parent-id")) for row in rows] == [("u1", None), ("u3", "u1")]
    used = event(2, ev.USAGE, {"scope": "message", "output": 1}, part="u", messageId="m1", parentId="u1")
    rows = entries(user(1), used, says(3, parentId="u2"), user(4, parentId="u2"))
    assert [(row["id"], row.get("parent-id")) for row in rows] == [("u1", None), ("u3", "u1"), ("u4", "u3")]


def test_answers_thoughts_and_calls_name_their_model():
    """What a model made, and nothing else."""
    thought = event(1, ev.ASSISTANT_THINKING, {"text": "hm"}, model="m")
    rows = entries(thought, says(2, model="m"), call(3, model="m"), event(4, ev.ERROR, {"message": "x"}, model="m"))
    assert [row.get("model-id") for row in rows] == ["m", "m", "m", None]


def test_a_renamed_file_is_the_record_of_its_session():
    """The session says itself which one it is; katod's own names stay those of the file."""
    made = record(event(0, ev.SESSION_START, {"id": "0198-own"}, part="start"), user(1))
    assert (made["session"]["session-id"], made["x-katod"]["session"]) == ("0198-own", SESSION)


@each("name, record", [
    ("claude", {"type": "user", "uuid": "u", "cwd": "/p", "sessionId": "own", "message": {"content": "go"}}),
    ("codex", {"type": "session_meta", "payload": {"id": "own", "cwd": "/p"}}),
    ("copilot", {"type": "session.start", "id": "1", "data": {"sessionId": "own"}}),
    ("pi", {"type": "session", "id": "own", "cwd": "/p"}), ("zot", {"type": "meta", "meta": {"id": "own", "cwd": "/p"}}),
])  # fmt: skip
def test_each_agent_says_which_session_a_renamed_file_is(name, record):
    """Only if the name of the file is no id of its own: else it may be a copy, or a part of several."""
    identities = [Identity(SessionKey(name, one)) for one in ("my-talk", SESSION)]
    starts = [payloads(translated(name, record, identity=one), ev.SESSION_START) for one in identities]
    assert [start[0].get("id") for start in starts] == ["own", None]
