"""Calls and the edits that they make: each waits for its result."""

from katod import events as ev
from katod.events import Event, SessionRef
from katod.tables import callrows
from katod.tables.callrows import CallRows
from katod.tables.schema import CALLS, EDITS

REF = SessionRef("claude", "s")
CWD = "/home/me/app"


def event(kind, name, /, **payload):
    return Event(name, kind, REF, payload, {})


def call(name, tool="Bash", family="execute", **given):
    return event(ev.TOOL_CALL, f"event-{name}", toolCallId=name, name=tool, family=family, input=given)


def result(name, **more):
    return event(ev.TOOL_RESULT, f"result-{name}", toolCallId=name, text="out", **more)


def taken(rows, *events):
    """Return the rows that events complete, and the rest."""
    found = []
    for number, one in enumerate(events):
        found += rows.take(one, {"number": number, "id": one.id, "time": 1000 * number}, CWD)
    return found, list(rows.rest())


def test_a_call_is_a_row_once_its_result_is_there():
    """With what the result says, and both times; nothing is derived from them."""
    found, rest = taken(CallRows(), call("a", command="ls"), result("a", exitCode=2, isError=True, durationMs=12.6))
    [(table, row)] = found
    assert (table, rest) == (CALLS, [])
    assert row == {
        "number": 0, "id": "event-a", "time": 0, "call": "a", "name": "Bash", "family": "execute",
        "input": '{"command":"ls"}', "started": 0, "ended": 1000, "duration_ms": 13, "status": None, "exit_code": 2,
        "is_error": True, "denied": False, "succeeded": False, "result": "out",
    }  # fmt: skip


def test_a_call_without_a_result_is_a_row_in_the_end():
    """Whether it did what it was asked to is not known."""
    found, rest = taken(CallRows(), call("a"), call("b"), result("b"), result("unknown"))
    assert [row["call"] for _, row in found] == ["b"]
    [(table, row)] = rest
    assert table is CALLS
    assert not {"succeeded", "is_error", "denied", "ended"} & row.keys()


def test_not_too_many_calls_wait(monkeypatch):
    """Neither by their number nor by their size: the oldest gets no result."""
    monkeypatch.setattr(callrows, "_MOST_OPEN", 2)
    found, rest = taken(CallRows(), call("a"), call("b"), call("c"))
    assert [row["call"] for _, row in (*found, *rest)] == ["a", "b", "c"]
    assert len(found) == 1
    monkeypatch.setattr(callrows, "_MOST_HELD", 30)
    found, rest = taken(CallRows(), call("a", x="y" * 12), call("b", x="y" * 12))
    assert [row["call"] for _, row in found] == ["a"]
    found, rest = taken(CallRows(), call("a"), call("a"), result("a"))
    assert [row["id"] for _, row in found] == ["event-a", "event-a"]


def test_numbers_that_engines_cannot_read_are_left_out():
    """A hostile file may have any."""
    found, _ = taken(CallRows(), call("a"), result("a", exitCode=2**70, durationMs=float("inf")))
    assert (found[0][1]["exit_code"], found[0][1]["duration_ms"]) == (None, None)


def test_an_edit_names_its_call_what_led_to_it_and_whether_it_went_well():
    """A row for each file, with its whole path."""
    asked = event(ev.USER_MESSAGE, "prompt", text="Please do")
    said = event(ev.ASSISTANT_MESSAGE, "answer", text="I do")
    given = {"file_path": "src/a.py", "old_string": "1", "new_string": "2"}
    for outcome, succeeded in (({}, True), ({"isError": True}, False)):
        made = call("a", tool="Edit", family="edit", **given)
        found, _ = taken(CallRows(), asked, said, made, result("a", **outcome))
        assert [table for table, _ in found] == [CALLS, EDITS]
        assert found[1][1] == {
            "number": 2, "id": "event-a", "time": 2000, "call": "event-a", "path": f"{CWD}/src/a.py", "change": "edit",
            "added": 1, "removed": 1, "succeeded": succeeded, "prompt": "prompt", "answer": "answer",
        }  # fmt: skip
    _, rest = taken(CallRows(), asked, call("a", tool="Edit", family="edit", **given))
    assert "succeeded" not in rest[1][1]
