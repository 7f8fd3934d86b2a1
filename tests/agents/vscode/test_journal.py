"""The journal of a VS Code chat: its changes, what of its state is no part of the chat, and damaged lines."""

import json
from pathlib import Path
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from katod.agents.vscode.journal import WITHDRAWN, name_of, open_chat
from katod.model import Cursor
from tests.examples import examples
from tests.looping import each

Row = dict[str, Any]
HEAD: Row = {"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": [], "inputState": {"inputText": "::stop"}}}


def request(name: str, **fields: Any) -> Row:
    return {"requestId": name, "message": {"text": name}, "response": []} | fields


def state(folder: Path, *lines: Row | bytes, name: str = "s.jsonl") -> Row:
    """Return what a journal with these lines is read as, empty if it is not read."""
    rows = [line if isinstance(line, bytes) else orjson.dumps(line) + b"\n" for line in lines]
    (folder / name).write_bytes(b"".join(rows))
    with open_chat(str(folder / name)) as file:
        read = file.read(Cursor(), 1 << 20).lines
    return dict(orjson.loads(read[0].data)) if read else {}


def names(chat: Row) -> list[str]:
    return [row["requestId"] for row in chat["requests"]]


def test_changes_lead_to_a_state(tmp_path: Path) -> None:
    """Set, append, append after a cut, delete; a whole state begins anew."""
    chat = state(
        tmp_path,
        HEAD,
        {"kind": 2, "k": ["requests"], "v": [request("a"), request("b")]},
        {"kind": 1, "k": ["requests", 1, "modelState"], "v": {"value": 1}},
        {"kind": 2, "k": ["requests", 1, "response"], "v": [{"value": "one"}, {"value": "two"}]},
        {"kind": 2, "k": ["requests", 1, "response"], "v": [{"value": "three"}], "i": 1},
        {"kind": 3, "k": ["requests", 1, "message"]},
        {"kind": 1, "k": ["customTitle"], "v": "A title"},
    )
    assert names(chat) == ["a", "b"]
    assert chat["requests"][1] == {
        "requestId": "b",
        "response": [{"value": "one"}, {"value": "three"}],
        "modelState": {"value": 1},
    }
    assert "customTitle" not in chat
    again = {"kind": 0, "v": HEAD["v"] | {"requests": [request("c")]}}
    assert names(state(tmp_path, HEAD, {"kind": 2, "k": ["requests"], "v": [request("a")]}, again)) == ["c"]


def test_drafts_and_queued_prompts_are_no_part_of_a_chat(tmp_path: Path) -> None:
    """They were not sent."""
    queued = {"kind": 1, "k": ["pendingRequests"], "v": [{"request": request("queued")}]}
    assert "::stop" not in json.dumps(state(tmp_path, HEAD))
    assert "queued" not in json.dumps(state(tmp_path, HEAD, queued))


def test_what_is_taken_back_is_named_once(tmp_path: Path) -> None:
    """A cut says which request is gone, unless the same change puts it back."""
    added = {"kind": 2, "k": ["requests"], "v": [request("a"), request("b"), request("c")]}
    cut = {"kind": 2, "k": ["requests"], "v": [], "i": 1}
    replaced = {"kind": 2, "k": ["requests"], "v": [request("b"), request("c")], "i": 1}
    assert state(tmp_path, HEAD, added, cut)[WITHDRAWN] == [{"requestId": "b", "after": "a"}]
    assert WITHDRAWN not in state(tmp_path, HEAD, added, replaced)
    assert state(tmp_path, HEAD, added, cut | {"i": 0})[WITHDRAWN] == [{"requestId": "a", "after": ""}]
    assert WITHDRAWN not in state(tmp_path, HEAD, added, cut | {"i": 3})


@each(
    "line",
    [
        b"{broken\n",
        b"[]\n",
        b"\xff\xfe\n",
        {"kind": 1, "k": ["nothing", "there"], "v": 1},
        {"kind": 1, "k": ["requests", 9, "x"], "v": 1},
        {"kind": 1, "k": ["version", "x"], "v": 1},
        {"kind": 2, "k": ["version"], "v": [1]},
        {"kind": 2, "k": ["requests"], "v": 5},
        {"kind": 2, "k": ["sessionId"], "v": [1], "i": 0},
        {"kind": 3, "k": ["missing"]},
        {"kind": 1, "k": [], "v": 1},
        {"kind": 1, "k": "requests", "v": 1},
        {"kind": 1, "k": [[], {}], "v": 1},
        {"kind": 7, "k": ["requests"], "v": 1},
        {"kind": 0, "v": []},
        b'{"kind":2,"k":["requests"],"v":[{"requestId":"torn"',
    ],
)
def test_a_line_that_does_not_fit_changes_nothing(line: Row | bytes, tmp_path_factory: Any) -> None:
    """Whatever it is, what is around it counts."""
    folder = tmp_path_factory.mktemp("j")
    one, two = ({"kind": 2, "k": ["requests"], "v": [request(name)]} for name in ("a", "b"))
    assert names(state(folder, HEAD, one, line)) == ["a"]
    if not (isinstance(line, bytes) and not line.endswith(b"\n")):
        assert names(state(folder, HEAD, one, line, two)) == ["a", "b"]


@each("value", [5, "abc", {"a": 1}, None])
def test_only_lists_are_appended(value: Any, tmp_path_factory: Any) -> None:
    """Whatever else stands there adds nothing, and a cut before it is one."""
    rows = ({"kind": 2, "k": ["requests"], "v": [request("a")]}, {"kind": 2, "k": ["requests"], "v": value, "i": 0})
    chat = state(tmp_path_factory.mktemp("j"), HEAD, *rows)
    assert (chat["requests"], chat[WITHDRAWN]) == ([], [{"requestId": "a", "after": ""}])


def test_a_request_of_the_client_that_is_cut_off_is_not_missed(tmp_path: Path) -> None:
    """Nobody saw it."""
    rows = ({"kind": 2, "k": ["requests"], "v": [request("a"), request("b", isSystemInitiated=True)]}, {"kind": 2, "k": ["requests"], "v": [], "i": 1})  # fmt: skip
    assert WITHDRAWN not in state(tmp_path, HEAD, *rows)


def test_a_state_that_is_nested_deep_is_read(tmp_path: Path) -> None:
    """Deeper than it can be written as fast; implausibly deep, it is none."""
    deep = b'{"kind":2,"k":["requests"],"v":[{"requestId":"a","response":%s}]}\n'
    assert names(state(tmp_path, HEAD, deep % (b"[" * 400 + b"]" * 400))) == ["a"]
    deepest = state(tmp_path, HEAD, deep % (b"[" * 990 + b"]" * 990), name="t.jsonl")
    assert deepest == {} or names(deepest) == ["a"]  # how deep can be written differs by Python


def test_another_file_is_no_chat(tmp_path: Path) -> None:
    """It is read as nothing."""
    assert state(tmp_path, b"") == {}
    assert state(tmp_path, {"type": "user", "uuid": "a"}) == {}
    assert state(tmp_path, {"kind": 0, "v": {"requests": {}}}) == {}
    assert state(tmp_path, b"{half", name="s.json") == {}


def test_a_chat_without_a_name_has_none(tmp_path: Path) -> None:
    """Nor has one that is gone."""
    path = tmp_path / "chat.json"
    assert name_of(path, "") == ""
    path.write_text('{"version": 3, "requests": []}')
    assert name_of(path, "") == ""
    path.write_text('{"version": 3, "requests": [], "customTitle": "The cart"}')
    assert name_of(path, "") == "The cart"


def test_before_1_109_a_chat_is_one_document(tmp_path: Path) -> None:
    """It has the same state, over many lines."""
    text = json.dumps(HEAD["v"] | {"requests": [request("a")]}, indent=2).encode()
    assert names(state(tmp_path, text, name="s.json")) == ["a"]


@given(st.lists(st.integers(1, 4), max_size=6), st.lists(st.integers(0, 5), max_size=6))
@examples(20, 200)
def test_the_last_state_does_not_depend_on_how_it_was_reached(
    tmp_path_factory: Any, adds: list[int], cuts: list[int]
) -> None:
    """Appends and cuts, and the journal that is rewritten as one line, give the same requests."""
    lines: list[Row] = [HEAD]
    wanted: list[str] = []
    for n, (add, cut) in enumerate(zip(adds, [*cuts, *[9] * 6], strict=False)):
        new = [f"r{n}.{k}" for k in range(add)]
        lines.append({"kind": 2, "k": ["requests"], "v": list(map(request, new)), "i": cut})
        wanted = [*wanted[:cut], *new]
    folder = tmp_path_factory.mktemp("j")
    assert names(state(folder, *lines)) == wanted
    assert names(state(folder, {"kind": 0, "v": HEAD["v"] | {"requests": list(map(request, wanted))}})) == wanted
