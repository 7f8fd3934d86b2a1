"""OpenCode: what is specific to its documents."""

from typing import Any

from katod import events as ev
from katod.agents.opencode.adapter import unquoted
from tests.looping import each
from tests.support.translated import Row, payloads, translated


def document(*answers: Row) -> Row:
    """Return a session with one prompt and these answers."""
    asked = {"info": {"id": "msg_1", "role": "user"}, "parts": [{"id": "prt_1", "type": "text", "text": "Do it."}]}
    said = [
        {"info": {"role": "assistant", "parentID": "msg_1", "time": {"completed": 2}} | info, "parts": [part]}
        for info, part in ((row, {"id": f"prt_{row['id']}", "type": "text", "text": "hi"}) for row in answers)
    ]
    return {"info": {"id": "ses_1"}, "messages": [asked, *said]}


def test_events_name_their_message_and_what_it_answers() -> None:
    """Parts have ids of their own; the event of the session belongs to no message."""
    start, asked, said = translated("opencode", document({"id": "msg_2"}))
    ids = ("messageId", "parentId")
    assert [[event.source.get(name) for name in ids] for event in (start, asked, said)] == [
        [None, None],
        ["msg_1", None],
        ["msg_2", "msg_1"],
    ]


def test_that_messages_were_taken_back_is_of_no_message() -> None:
    """It is read behind the last one that is left."""
    taken_back = document({"id": "msg_2"})
    taken_back["info"]["revert"] = {"messageID": "msg_3"}
    *_, said = translated("opencode", taken_back)
    assert said.payload == {"text": "Messages taken back", "subtype": "revert"}
    assert not {"messageId", "parentId"} & said.source.keys()


def test_the_provider_of_the_first_answer_and_each_other_one_are_changes() -> None:
    """The session is written before it is known who answers."""
    answers = [
        {"id": "msg_2", "providerID": "a"},
        {"id": "msg_3", "providerID": "a"},
        {"id": "msg_4", "providerID": "b"},
    ]
    events = translated("opencode", document(*answers, {"id": "msg_5", "providerID": ["x"]}))
    found = [(event.id, event.payload) for event in events if event.kind == ev.CONFIG_CHANGE]
    assert found == [
        ("opencode:ses_1:msg_2:provider", {"what": "modelProvider", "after": "a"}),
        ("opencode:ses_1:msg_4:provider", {"what": "modelProvider", "before": "a", "after": "b"}),
    ]


@each(("total", "more"), [(150, {"total": 150}), (["x"], {}), (None, {})])
def test_usage_has_the_clients_own_total(total: Any, more: Row) -> None:
    """Values of other types read as absent."""
    tokens = {"input": 120, "output": 30, "total": total}
    events = translated("opencode", document({"id": "msg_2", "tokens": tokens}))
    assert payloads(events, ev.USAGE) == [{"scope": "message", "input": 120, "output": 30} | more]


@each(("status", "more"), [(503, {"httpStatus": 503}), ("503", {}), (None, {})])
def test_an_error_has_the_status_that_the_client_kept(status: Any, more: Row) -> None:
    """Values of other types read as absent."""
    problem = {"name": "APIError", "data": {"message": "overloaded", "statusCode": status}}
    events = translated("opencode", document({"id": "msg_2", "error": problem}))
    assert payloads(events, ev.ERROR) == [{"message": "overloaded", "code": "APIError"} | more]


@each(
    ("stored", "typed"),
    [
        ('"a b"', "a b"),
        ('"a b"\n', "a b"),
        ('"::start\nsay \\"two words\\" of C:\\new"', '::start\nsay "two words" of C:\\new'),
        ('"look at C:\\dir \\"', "look at C:\\dir \\"),
        ('"print \\"a \\\\"b\\\\" c\\" now"', 'print "a \\"b\\" c" now'),
        ('"a b" and "c d"', '"a b" and "c d"'),
        ('"word"', '"word"'),
        ("plain words", "plain words"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_the_quotes_of_an_argument_are_taken_off(stored: str, typed: str) -> None:
    """Only the quotes that the client added are removed, and nothing that the user typed."""
    assert unquoted(stored) == typed


@each(
    ("problem", "message"),
    [
        ({"name": "APIError", "data": {"message": "busy"}}, "busy"),
        ({"data": {"message": ["busy"]}}, "error"),
        ({"data": "busy"}, "error"),
        ({"message": "busy"}, "error"),
        ("busy", "error"),
        (None, "error"),
    ],
)
def test_a_retry_says_why(problem: Any, message: str) -> None:
    """Values of other types read as absent."""
    row = document({"id": "msg_2"})
    row["messages"][1]["parts"].insert(0, {"id": "prt_0", "type": "retry", "attempt": 1, "error": problem})
    assert payloads(translated("opencode", row), ev.ERROR) == [{"message": message, "retry": {}}]
