"""VS Code: who sent a request, answers, calls and results, the folder, and where chats are."""

import json
from pathlib import Path
from typing import Any

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.vscode.adapter import ChatAdapter
from katod.events import Event
from katod.model import Identity, SessionKey, TypedText
from tests.looping import each
from tests.support.records import VSCode, says, user
from tests.support.translated import Row, kinds, payloads, translated
from tests.support.world import World


def request(text: str = "go", **fields: Any) -> Row:
    head = {"requestId": f"request_{text}", "timestamp": 1770763000000, "modelId": "copilot/gpt-5"}
    return head | {"message": {"text": text}, "response": [], "modelState": {"value": 1}} | fields


def chat(*requests: Row, **fields: Any) -> Row:
    return {"version": 3, "sessionId": "s", "creationDate": 1770763000000, "requests": list(requests)} | fields


def told(*requests: Row, **fields: Any) -> list[Event]:
    return translated("vscode", chat(*requests, **fields))[1:]


def test_what_the_client_sends_itself_is_not_typed() -> None:
    """A terminal command that ended is a request, too."""
    own, client = request("::start mine"), request("::start evil", isSystemInitiated=True)
    assert ChatAdapter.typed_texts(chat(own, client)) == [TypedText("::start mine")]
    said = [event for event in told(own, client) if event.kind in (ev.USER_MESSAGE, ev.SYSTEM_MESSAGE)]
    assert [(event.kind, event.typed) for event in said] == [(ev.USER_MESSAGE, True), (ev.SYSTEM_MESSAGE, False)]


@each("value", [0, 4])
def test_an_answer_waits_for_its_end(value: int) -> None:
    """Until then, the editor shows parts of it, with artefacts of edits."""
    running = request(modelState={"value": value}, response=[{"value": "half"}, {"value": "\n```\n"}])
    assert kinds(told(running)) == [ev.USER_MESSAGE]
    assert ev.ASSISTANT_MESSAGE in kinds(told(running | {"modelState": {"value": 1}}))


@each(("value", "reason"), [(1, "done"), (2, "aborted"), (3, "error"), (9, "error"), ("x", "error")])
def test_how_a_turn_ended(value: Any, reason: str) -> None:
    """The state of a request in katod's words."""
    assert payloads(told(request(modelState={"value": value})), ev.TURN_END) == [{"reason": reason}]


def test_before_there_were_states_the_result_says_that_it_is_over() -> None:
    """Or the request after it."""
    old = {name: value for name, value in request("a", response=[{"value": "hi"}]).items() if name != "modelState"}
    assert kinds(told(old)) == [ev.USER_MESSAGE]
    assert ev.ASSISTANT_MESSAGE in kinds(told(old | {"result": {}}))
    assert ev.ASSISTANT_MESSAGE in kinds(told(old, request("b", modelState={"value": 0})))
    assert payloads(told(old | {"result": {}, "isCanceled": True}), ev.TURN_END) == [{"reason": "aborted"}]


def test_rounds_are_the_answer() -> None:
    """Texts, calls and results in their order; the client's time is cut off the id of a call."""
    calls = [{"id": "c1__vscode-17", "name": "read_file", "arguments": '{"filePath":"/p/a"}'}]
    rounds = [{"response": "I look.", "toolCalls": calls}, {"response": "It is fine.", "toolCalls": []}]
    tree = {"node": {"children": [{"text": "one"}, {"text": "two", "lineBreakBefore": True}]}}
    metadata = {
        "toolCallRounds": rounds,
        "toolCallResults": {"c1__vscode-17": {"content": [{"value": tree}]}},
        "promptTokens": 9,
    }
    events = told(request(response=[{"value": "I look.It is fine."}], result={"metadata": metadata}))
    assert kinds(events) == [
        ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT, ev.ASSISTANT_MESSAGE, ev.USAGE, ev.TURN_END
    ]  # fmt: skip
    assert payloads(events, ev.TOOL_CALL)[0]["input"] == {"filePath": "/p/a"}
    assert payloads(events, ev.TOOL_RESULT) == [{"toolCallId": "c1", "text": "one\ntwo"}]
    assert payloads(events, ev.USAGE) == [{"scope": "message", "input": 9}]
    assert {event.model for event in events if event.kind in (ev.ASSISTANT_MESSAGE, ev.TOOL_CALL)} == {"gpt-5"}


def test_a_round_has_its_own_time_or_that_of_the_whole_answer() -> None:
    """Without a state, an answer has the time of its request."""
    rounds = [{"response": "one", "timestamp": 1770763001000}, {"response": "two"}]
    result = {"metadata": {"toolCallRounds": rounds}}
    for more, whole in (({"modelState": {"value": 1, "completedAt": 1770763009000}}, "09"), ({}, "00")):
        events = told(request(result=result, timestamp=1770763000000, **more))
        times = [event.time[17:19] for event in events if event.kind in (ev.ASSISTANT_MESSAGE, ev.TURN_END)]
        assert times == [f"{1770763001 % 60:02}", *[f"{(1770763000 + int(whole)) % 60:02}"] * 2]


@each(
    ("given", "expected"),
    [("{broken", "{broken"), ("", {}), (None, {}), ({"a": 1}, {"a": 1}), ("[1]", [1])],
)
def test_arguments_are_json_text(given: Any, expected: Any) -> None:
    """What is none stays as it is."""
    rounds = [{"toolCalls": [{"id": "c", "name": "x", "arguments": given}]}]
    assert (
        payloads(told(request(result={"metadata": {"toolCallRounds": rounds}})), ev.TOOL_CALL)[0]["input"] == expected
    )


def test_without_rounds_the_parts_are_the_answer() -> None:
    """Names of files are in the text; a part of a kind that nobody knows is kept."""
    parts = [
        {"kind": "thinking", "value": "Hm."},
        {"value": "See "},
        {"kind": "inlineReference", "inlineReference": {"location": {"uri": {"path": "/p/a.py"}}}},
        {"kind": "undoStop"},
        {"value": "."},
        {"kind": "neverSeen", "note": "x"},
    ]
    events = told(request(response=parts))
    assert payloads(events, ev.ASSISTANT_MESSAGE) == [{"text": "See `a.py`."}]
    assert payloads(events, ev.ASSISTANT_THINKING) == [{"text": "Hm."}]
    assert payloads(events, ev.PROVIDER_RAW)[0]["rawType"] == "response/neverSeen"


def test_what_the_person_attached_is_named() -> None:
    """What the editor attaches by itself is not."""
    given = [{"kind": "file", "id": "a", "name": "a.py"}, {"kind": "image", "id": "b", "name": "b.png"}, {"kind": "file", "id": "vscode.implicit.file", "name": "c.py"}, {"kind": "tool", "id": "d", "name": "d"}]  # fmt: skip
    [said] = payloads(told(request(variableData={"variables": given})), ev.USER_MESSAGE)
    assert said["attachments"] == [{"type": "file", "name": "a.py"}, {"type": "image", "name": "b.png"}]


@each(
    ("workspace", "cwd"),
    [
        ({"folder": "file:///home/me/my%20app"}, "/home/me/my app"),
        ({"workspace": "file:///home/me/all.code-workspace"}, "/home/me"),
        ({"folder": "vscode-remote://ssh-remote%2Bhost/home/me"}, ""),
        ({}, ""),
    ],
)
def test_the_folder_is_beside_the_chats(workspace: Row, cwd: str, tmp_path_factory: Any) -> None:
    """A folder on another machine is none here."""
    path = tmp_path_factory.mktemp("w") / "chatSessions" / "s.jsonl"
    (path.parents[1] / "workspace.json").write_text(json.dumps(workspace))
    start = translated("vscode", chat(), path=path)[0]
    assert start.payload.get("cwd", "") == cwd


def test_what_was_taken_back_is_told() -> None:
    """The note is below the request that was left; a title, which has no place in the conversation, is none of it."""
    taken = [{"requestId": "x", "after": "request_a"}]
    events = told(request("a"), request("b"), customTitle="A title", withdrawn=taken)
    assert kinds(events) == [ev.USER_MESSAGE, ev.TURN_END, ev.SYSTEM_MESSAGE, ev.USER_MESSAGE, ev.TURN_END]


def test_chats_are_in_folders_of_their_own(tmp_path: Path) -> None:
    """Nothing else below a workspace is a chat."""
    spec, found = AGENTS["vscode"], Identity(SessionKey("vscode", "s"))
    assert spec.identify(tmp_path / "chatSessions/s.jsonl") == found
    assert spec.identify(tmp_path / "chatSessions/s.json") == found
    assert spec.identify(tmp_path / "emptyWindowChatSessions/s.jsonl") == found
    assert spec.identify(tmp_path / "GitHub.copilot-chat/transcripts/s.jsonl") is None
    assert spec.identify(tmp_path / "state.json") is None


def test_a_draft_never_commands(world: World) -> None:
    """The journal has what is in the input, and keeps it until it is sent."""
    chat = VSCode(world).say(user("hello"), says("hi"))
    chat.append({"kind": 1, "k": ["inputState", "inputText"], "v": "::start draft.md"})
    world.once()
    assert world.written() == {}
    chat.say(user("::start real.md"), says("hi"))
    world.once()
    assert list(world.written()) == ["real.md"]


@each(
    "fields",
    [
        {"response": [{"kind": ["x"]}]},
        {"variableData": {"variables": [{"kind": ["x"]}]}},
        {"timestamp": [1]},
        {"modelState": {"value": [1]}},
    ],
)
def test_a_request_of_any_shape_costs_no_other(fields: Row) -> None:
    """What a person sends afterwards counts."""
    [said] = [
        event
        for event in told(request("a", **fields), request("::start b"))
        if event.payload.get("text") == "::start b"
    ]
    assert said.typed


def test_a_rewind_of_everything_is_told_first() -> None:
    """There is no request below which it could stand."""
    events = told(request("a"), withdrawn=[{"requestId": "x", "after": ""}])
    assert kinds(events)[:2] == [ev.SYSTEM_MESSAGE, ev.USER_MESSAGE]


def test_the_text_of_an_answer_is_told_once() -> None:
    """Whether or not its rounds are there by then."""
    early = request("a", response=[{"value": "Hello."}])
    late = early | {"result": {"metadata": {"toolCallRounds": [{"response": "Hello."}]}}}
    ids = [{event.id for event in told(one) if event.kind == ev.ASSISTANT_MESSAGE} for one in (early, late)]
    assert ids[0] == ids[1] != set()
