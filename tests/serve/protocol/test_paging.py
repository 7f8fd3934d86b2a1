"""Pages of a conversation."""

import pytest

from katod.formats.stream.bridge import event_uuid
from katod.serve.protocol.outline import Stub
from katod.serve.protocol.paging import WrongQuery, asked, page, stored
from tests.looping import each

CALLS = {4: 6, 7: 20}  # results by call: at which number each comes


def ident(number):
    return event_uuid(str(number))


def message(number):
    if number in CALLS:
        return {"type": "tool_use", "id": f"call-{number}", "name": "Bash", "input": {}}
    for call, at in CALLS.items():
        if number == at:
            return {"type": "tool_result", "id": f"call-{call}", "tool": "Bash", "output": "o", "success": True}
    return {"type": "thinking" if number % 5 == 0 else "user", "content": str(number)}


def conversation(count):
    for number in range(count):
        yield {"type": "stream", "id": ident(number), "timestamp": "2026-02-10T10:00:00Z", "message": message(number)}


class Listed:
    """A conversation that is not read from files."""

    def __init__(self, count):
        self._all = list(conversation(count))

    def stubs(self):
        return map(Stub.of, self._all)

    def fetch(self, numbers):
        return ((number, self._all[number]) for number in numbers)


def paged(count=25, **query):
    steps = page(Listed(count), asked({name: str(value) for name, value in query.items()}))
    return next(body for body in steps if body is not None)


def numbers(body):
    known = {ident(number): number for number in range(100)}
    return [known[row["id"]] for row in body["messages"]]


@each(
    "query, found, has_more",
    [
        ({"limit": 3}, [24, 23, 22], True),
        ({"limit": 3, "offset": 23}, [1, 0], False),
        ({"limit": 3, "offset": 99}, [], False),
        ({"limit": 3, "order": "asc"}, [0, 1, 2], True),
        ({"limit": 3, "order": "asc", "offset": 23}, [23, 24], False),
        ({"limit": 3, "before": ident(2)}, [1, 0], False),
        ({"limit": 3, "before": ident(10).upper()}, [9, 8, 7], True),
        ({"limit": 3, "before": ident(10), "order": "asc"}, [7, 8, 9], True),
        ({"limit": 3, "after": ident(10)}, [13, 12, 11], True),
        ({"limit": 3, "after": ident(22), "order": "asc"}, [23, 24], False),
        ({"limit": 3, "after": "call-4"}, [7, 6, 5], True),
        ({"limit": 3, "types": "thinking"}, [15, 10, 5], True),
        ({"limit": 9, "types": "thinking,tool_use"}, [15, 10, 7, 5, 4, 0], False),
        ({"limit": 3, "before": ident(10), "types": "thinking"}, [5, 0], False),
        ({"limit": 500}, [*range(24, -1, -1)], False),
    ],
)
def test_a_page_has_what_was_asked_for(query, found, has_more):
    """In either order, from either end, from an id or from that of a call, of some types."""
    body = paged(**{"denormalize": "false"} | query)
    assert numbers(body) == found
    assert body["pagination"]["hasMore"] is has_more


@each(("order", "offset"), [("asc", 23), ("desc", 23), ("asc", 4), ("desc", 4)])
def test_a_page_says_where_it_begins(order, offset):
    """Counted in the order in which it was asked for, also if it was found by an id."""
    assert paged(limit=2, order=order, offset=offset, denormalize="false")["pagination"]["offset"] == offset
    way = {"before": ident(10), "order": "desc", "limit": 3, "denormalize": "false"}
    assert paged(**way)["pagination"]["offset"] == 25 - 10


@each("order", ["asc", "desc"])
def test_pages_lead_to_each_other(order):
    """Following the cursor gives every message once."""
    found, way = [], {}
    for _ in range(9):
        body = paged(limit=4, order=order, denormalize="false", **way)
        found += numbers(body)
        way = {"after" if order == "asc" else "before": body["pagination"].get("nextCursor")}
        if not body["pagination"]["hasMore"]:
            break
    assert found == sorted(range(25), reverse=order == "desc")


def test_results_become_a_part_of_their_calls():
    """Also of those that come after the page; what was no message any more is not counted."""
    body = paged(limit=2, before=ident(8))
    assert numbers(body) == [7, 5]
    assert body["messages"][0]["message"]["result"] == {"output": "o", "success": True}
    assert body["pagination"]["total"] == 23
    assert "result" not in paged(count=8, limit=1)["messages"][0]["message"]
    plain = paged(limit=2, before=ident(8), denormalize="false")
    assert numbers(plain) == [7, 6]
    assert "result" not in plain["messages"][0]["message"]
    assert plain["pagination"]["total"] == 25


def test_blocks_are_added_on_wish():
    """As a client of the agent's own interface knows them."""
    rows = paged(limit=1, before=ident(8), includeRawContent="true")["messages"]
    assert [block["type"] for block in rows[0]["rawContent"]] == ["tool_use", "tool_result"]
    assert "rawContent" not in paged(limit=1)["messages"][0]


@pytest.mark.parametrize(
    ("kind", "types"),
    [("user", ["text"]), ("assistant", ["text"]), ("system", ["text"]), ("thinking", ["thinking"]), ("error", [])],
)
def test_a_message_is_blocks_by_its_kind(kind, types):
    """What is not of the conversation has none."""
    sent = {"id": "1", "timestamp": "t", "message": {"type": kind, "content": "words"}}
    row = stored(sent, raw=True)
    assert [block["type"] for block in row.get("rawContent", [])] == types
    assert all(block[block["type"]] == "words" for block in row.get("rawContent", []))


def test_an_unknown_cursor_is_said_to_be_one():
    """In the answer, which has no messages."""
    body = paged(after="nobody")
    assert body["error"] == {"code": "CURSOR_NOT_FOUND", "cursorId": "nobody"}
    assert body["messages"] == []


def test_others_have_their_turn_while_a_cursor_is_looked_for():
    """None is yielded now and then, and the answer at last."""
    steps = list(page(Listed(9), asked({"after": "nobody"})))
    assert (steps[0], len(steps[-1]["messages"])) == (None, 0)


@each(
    "query",
    [
        {"limit": "0"}, {"limit": "-1"}, {"limit": "x"}, {"limit": "1" * 30}, {"offset": "-1"}, {"offset": "²"},
        {"order": "up"}, {"denormalize": "maybe"}, {"before": "a", "after": "b"}, {"before": "a", "offset": "3"},
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(query):
    """Each with what it may be."""
    with pytest.raises(WrongQuery):
        asked(query)
