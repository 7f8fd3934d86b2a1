"""zot: the provider of the model, and encrypted thinking."""

from pathlib import Path
from typing import Any

from katod import events as ev
from katod.agents import AGENTS
from tests.looping import each
from tests.support.translated import Row, payloads, translated


def meta(**fields: Any) -> Row:
    return {"type": "meta", "meta": {"id": "s", "cwd": "/p", "model": "glm-5", "version": "0.2"} | fields}


def said(**block: Any) -> Row:
    return {"type": "message", "message": {"role": "assistant", "content": [block]}}


def test_a_session_begins_with_its_provider_and_may_change_it() -> None:
    """The row of a session is written again when its model is changed; values of other types read as absent."""
    rows = meta(provider="a"), meta(provider="a"), meta(provider="b"), meta(provider=["x"])
    events = translated("zot", *rows)
    assert payloads(events, ev.SESSION_START) == [{"cwd": "/p", "cliVersion": "0.2", "modelProvider": "a"}]
    assert payloads(events, ev.CONFIG_CHANGE) == [{"what": "modelProvider", "before": "a", "after": "b"}]
    [start] = payloads(translated("zot", meta(provider=["x"])), ev.SESSION_START)
    assert "modelProvider" not in start


def test_encrypted_thinking_is_noted() -> None:
    """The summary is shown, and that there is more than it."""
    thoughts = [said(summary="Hm.", encrypted_content="gAAAA"), said(summary="Hm."), said(encrypted_content="gAAAA")]
    assert payloads(translated("zot", meta(), *thoughts), ev.ASSISTANT_THINKING) == [
        {"text": "Hm.", "encrypted": "gAAAA"},
        {"text": "Hm."},
        {"text": "", "encrypted": "gAAAA"},
    ]


def test_a_message_with_another_sender_is_not_the_persons() -> None:
    """A mark names the sender; a mark without a name is of another agent all the same."""
    rows = []
    for mark in ({"source": "swarm"}, {"x": 1}):
        message = {"role": "user", "content": [{"text": "Look."}], "meta": mark}
        rows.append({"type": "message", "message": message})
    said = payloads(translated("zot", meta(), *rows), ev.USER_MESSAGE)
    shared = {"text": "Look.", "subtype": "agent-message"}
    assert said == [shared | {"speaker": "swarm"}, shared]


def call(**fields: Any) -> Row:
    return {"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "make"}} | fields


def test_a_captured_stream_gives_what_a_session_would() -> None:
    """Messages once, although they come in pieces before; a call once, whether or not its own row came."""
    answer = {"type": "assistant_message", "content": [{"text": "Hi."}]}
    rows: list[Row] = [
        {"type": "turn_start", "step": 1},
        {"type": "user_message", "content": [{"text": "Go."}]},
        *({"type": "text_delta", "delta": piece} for piece in ("H", "i.")),
        answer,
        call(),
        {"type": "tool_result", "id": "c1", "content": [{"text": "made"}]},
        {"type": "turn_end", "stop": "error"},
    ]
    said = translated("zot", meta(), *rows)
    kinds = [event.kind for event in said if event.kind not in (ev.SESSION_START, ev.PROVIDER_INFO)]
    assert kinds == [
        ev.TURN_START, ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT, ev.TURN_END,
    ]  # fmt: skip
    assert payloads(said, ev.TURN_START) == [{"number": 1}]
    assert [event.payload["text"] for event in said if event.typed] == ["Go."]
    [made] = payloads(said, ev.TOOL_CALL)
    assert (made["toolCallId"], made["description"], made["input"]) == ("c1", "make", {"command": "make"})
    assert [row["text"] for row in payloads(said, ev.TOOL_RESULT)] == ["made"]


def test_what_a_stream_breaks_off_is_kept() -> None:
    """A text without its message, and a call of which only pieces came."""
    rows: list[Row] = [
        {"type": "text_delta", "delta": "Half a "},
        {"type": "turn_end"},
        {"type": "tool_use_start", "id": "c1", "name": "bash"},
        *({"type": "tool_use_args", "id": "c1", "delta": piece} for piece in ('{"command":', '"make"}')),
        {"type": "tool_result", "id": "c1", "content": [{"text": "made"}], "is_error": True},
        {"type": "error", "message": "gone"},
        {"type": "error"},
    ]
    said = translated("zot", meta(), *rows)
    assert payloads(said, ev.ASSISTANT_MESSAGE) == [{"text": "Half a "}]
    assert [row["input"] for row in payloads(said, ev.TOOL_CALL)] == [{"command": "make"}]
    assert [row.get("isError") for row in payloads(said, ev.TOOL_RESULT)] == [True]
    assert payloads(said, ev.ERROR) == [{"message": "gone"}, {"message": "error"}]


@each("point", [0, 1, 2, 3])
def test_what_a_fork_copied_was_typed_in_the_other_session(point: int) -> None:
    """So many messages, of whoever they are."""
    rows = [{"type": "message", "message": {"role": "user", "content": [{"text": text}]}} for text in "abc"]
    for parent, copied in (("p", point), ("", 0)):
        said = translated("zot", meta(parent=parent, fork_point=point), *rows)
        typed = [event.typed for event in said if event.kind == ev.USER_MESSAGE]
        assert typed == [False] * copied + [True] * (3 - copied)


@each("count", [1, 16, 17, 20])
def test_so_many_calls_may_be_in_progress(count: int) -> None:
    """Of more, what was streamed of the oldest ones is forgotten."""
    names = [f"c{number}" for number in range(count)]
    begun: list[Row] = [{"type": "tool_use_start", "id": name, "name": "bash"} for name in names]
    ended: list[Row] = [{"type": "tool_result", "id": name, "content": []} for name in names]
    told = payloads(translated("zot", meta(), *begun, *ended), ev.TOOL_CALL)
    assert [row["toolCallId"] for row in told] == names[-16:]


@each("kind", ["response", "user_prompt_submit", "user_message", "turn_start", "assistant_start"])
def test_a_captured_stream_may_begin_with_any_of_its_rows(kind: str) -> None:
    """Whoever captures it may have begun late; a row of Codex has what it says in a payload."""
    recognises = AGENTS["zot"].adapter.recognises
    assert recognises(Path("/x/captured.jsonl"), {"type": kind})
    assert not recognises(Path("/x/captured.jsonl"), {"type": kind, "payload": {}})
    assert not recognises(Path("/x/captured.jsonl"), {"type": "never-seen"})


def test_a_call_is_told_once_however_often_it_is_written() -> None:
    """In a stream it is in the message, and has a row of its own."""
    block = {"id": "c1", "name": "bash", "arguments": {"command": "make"}}
    told = payloads(translated("zot", meta(), said(**block), call(), call(id="c2")), ev.TOOL_CALL)
    assert [row["toolCallId"] for row in told] == ["c1", "c2"]


def test_a_streamed_result_that_is_written_twice_makes_no_second_call() -> None:
    """The call is over with the first; pictures are those of the result that has some."""
    picture = {"mime_type": "image/png", "data": "iVBORw0KGgo="}
    rows: list[Row] = [
        {"type": "tool_use_start", "id": "c1", "name": "bash"},
        {"type": "tool_use_args", "id": "c1", "delta": "{}"},
        {"type": "tool_result", "id": "c1", "content": [{"text": "made"}]},
        {"type": "tool_result", "id": "c1", "content": [{"text": "made"}, picture]},
    ]
    said = translated("zot", meta(), *rows)
    assert len(payloads(said, ev.TOOL_CALL)) == 1
    assert [len(row.get("attachments", "-")) for row in payloads(said, ev.TOOL_RESULT)] == [1, 1]
    assert ["attachments" in row for row in payloads(said, ev.TOOL_RESULT)] == [False, True]
